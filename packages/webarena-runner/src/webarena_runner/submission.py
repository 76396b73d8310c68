"""Submission packages of runs, made with webarena-verified's own packager."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench_core.errors import InputError
from bench_core.files import file_inside
from bench_core.records import Record
from bench_core.run_folder import read_run, trial_files
from webarena_runner.evaluation import ANSWER_FILE, HAR_FILE
from webarena_runner.evaluator_loader import evaluator_module, quiet
from webarena_runner.tasks import BENCHMARK

_PACKAGED = (ANSWER_FILE, HAR_FILE)


class Package(Record):
    """The result of the packager.

    Attributes:
        path: The tar.gz or folder.
        packaged: Ids of the tasks in it.
        unusable: Ids of tasks whose answer or recording is missing or invalid.
        missing: Ids of tasks of the data set that are not in the run.
        summary: The packager's own report.
    """

    path: str
    packaged: tuple[int, ...]
    unusable: tuple[int, ...]
    missing: tuple[int, ...]
    summary: str | None = None

    @property
    def incomplete(self) -> bool:
        """Whether a task of the data set is not in the package."""
        return bool(self.unusable or self.missing)

    @property
    def text(self) -> str:
        """The result as text."""
        lines = [f"{self.path}: {len(self.packaged)} tasks"]
        if self.unusable:
            lines.append(f"left out, answer or recording unusable: {_some(self.unusable)}")
        if self.missing:
            lines.append(f"not in the run: {_some(self.missing)}")
        return "\n".join([*lines, f"summary: {self.summary}"])


def package_run(
    run_folder: Path,
    *,
    trial: int = 1,
    out: Path = Path("submissions"),
    name: str | None = None,
    as_folder: bool = False,
    even_built_in: bool = False,
) -> Package:
    """Package one trial of each task of a run into `out` with webarena-verified's packager.

    Raises:
        InputError: The run is of another benchmark, of the built-in world, has no such trial, or
            a package of that name exists.
        RunFolderError: The folder is not a run folder.
    """
    run = read_run(run_folder)
    run.tell_damage()
    info = run.info
    if info.benchmark != BENCHMARK:
        raise InputError(f"{run_folder} is a run of {info.benchmark!r}, not {BENCHMARK!r}")
    if info.world != "real" and not even_built_in:
        raise InputError(f"{run_folder} ran on stand-in sites: its results must not be submitted")
    # the packager finds tasks in folders named by their numbers alone, so each trial has its own root
    trials = run_folder / "trials" / str(trial)
    if not trials.is_dir():
        raise InputError(f"{run_folder} has no trial {trial}")
    results = [each for each in run.latest if each.trial == trial]
    if all(each.stored is None for each in results):
        return _package(trials, out, name, as_folder=as_folder)
    with TemporaryDirectory() as place:  # of an object store
        for each in results:
            with trial_files(run, each, lambda file: file.path in _PACKAGED) as folder:
                to = Path(place) / each.task_id
                to.mkdir()
                for file in filter(partial(file_inside, folder), _PACKAGED):
                    shutil.copyfile(folder / file, to / file)
        return _package(Path(place), out, name, as_folder=as_folder)


def _package(trials: Path, out: Path, name: str | None, *, as_folder: bool) -> Package:
    out.mkdir(parents=True, exist_ok=True)
    try:
        with quiet():
            made: Any = (
                evaluator_module("api")
                .WebArenaVerified()
                .create_submission(
                    output_dirs=[trials], output_root=out, no_tar=as_folder, custom_name=name
                )
            )
    except (FileExistsError, ValueError) as error:
        raise InputError(str(error)) from error
    unusable = {
        *made.missing_agent_response, *made.missing_network_har, *made.missing_both_files,
        *made.invalid_har_files, *made.empty_agent_response,
    }  # fmt: skip
    return Package(
        path=str(made.output_path),
        packaged=tuple(made.tasks_packaged),
        unusable=tuple(sorted(unusable)),
        missing=tuple(made.missing_task_ids),
        summary=made.summary_file,
    )


def _some(ids: tuple[int, ...], shown: int = 10) -> str:
    more = f" and {len(ids) - shown} more" if len(ids) > shown else ""
    return f"{', '.join(map(str, ids[:shown]))}{more}"
