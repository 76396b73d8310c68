"""Copies of the files that a page shows of a trial in an object store, and of nothing more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from bench_core.errors import EnvironmentFaultError, RefusedFileError
from bench_core.files import file_inside
from bench_core.records import ArtifactFile, TrialResult
from bench_core.run_folder import trial_files, trial_path
from bench_report.run_data.artifacts import CALLS_FILES, IMAGE_TYPES, TrialFolder
from bench_report.run_data.sources import Source

_MOST_BYTES = {
    "trajectory.jsonl": 64 << 20,
    "observations.jsonl": 32 << 20,
    **dict.fromkeys(CALLS_FILES, 32 << 20),
    "network.har": 32 << 20,
    "network.har.gz": 32 << 20,
    "finish_state.json": 32 << 20,
    "finish_state.json.gz": 32 << 20,
}
"""Of the files that a page is made from, how large they may be to be copied."""
_MOST_PICTURE = 8 << 20


@contextlib.contextmanager
def stored_trial(
    run: Source, result: TrialResult, base: str, *, pictures: bool
) -> Iterator[TrialFolder]:
    """Provide the files that a page is made from; the copy exists while the block runs.

    A store that could not be read is not asked again for the run's other trials.

    Args:
        run: The run.
        result: A trial of it with `stored`.
        base: The page's link to the run folder.
        pictures: Whether the page contains pictures.
    """

    def is_shown(file: ArtifactFile) -> bool:
        most = _MOST_BYTES.get(file.path, 0)
        if pictures and f".{file.path.rpartition('.')[2].lower()}" in IMAGE_TYPES:
            most = _MOST_PICTURE
        return (file.size or 0) <= most

    local = trial_path(run.view.path, result.key)
    href = f"{base}/{local.relative_to(run.view.path).as_posix()}"
    if all(file_inside(local, each) for each in result.artifact_paths):  # copied there
        yield TrialFolder(local, href)
        return
    place = "" if result.stored is None else f"Its files are in {result.stored.url}."
    linked = frozenset(result.artifact_paths if run.address is not None else ())
    with contextlib.ExitStack() as stack:
        path, problem = local, run.store_problem
        if problem is None:
            try:
                path = stack.enter_context(trial_files(run.view, result, is_shown))
            except EnvironmentFaultError as error:
                problem = run.store_problem = str(error)
            except RefusedFileError as refused:
                problem = str(refused)
        yield TrialFolder(path, href, linked, " ".join(filter(None, (place, problem))))
