"""Arms of a study that are not run: comparable earlier runs stand in for them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_core.errors import BenchError
from bench_core.files.checksums import file_sha256
from bench_core.files.inside import plain_files
from bench_core.records import ErrorInfo, Record, RunInfo, Status, Task, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder.baselines import COMPARABLE, StoredRun, read_baseline
from bench_core.run_folder.folder import RunFolder
from bench_core.run_folder.maintenance import check_run
from bench_core.run_folder.same_run import other_settings
from bench_core.run_folder.view import read_run
from bench_core.runs.prepare import Purpose, prepare_installed
from bench_core.studies.order import RunName
from bench_core.studies.study_file import Study, StudyArm, keys_of_run

__all__ = ["ReusedArm", "comparable_source", "reused_names", "source_of", "take"]

_ALIKE: Mapping[str, Callable[[RunInfo], str]] = {
    **COMPARABLE,
    "trials": lambda info: str(info.trials),
    "seed": lambda info: str(info.seed),
    "timing": lambda info: info.timing or "",
}


_IMPORTED = "imported_from"


class ReusedArm(Record):
    """An arm on a benchmark that was not run: an earlier run stands in for it.

    Attributes:
        source: The place it was taken from.
        sha256: Of the `run.json` that was taken, which has the digests of the files next to it.
        started: When that run began.
        finished: When it ended.
        imported_from: Another harness, whose settings are not known.
    """

    benchmark: str
    arm: str
    source: str
    sha256: str
    started: datetime
    finished: datetime | None = None
    imported_from: str | None = None

    @property
    def warning(self) -> str:
        """A warning for anyone who compares it."""
        ended = f" to {self.finished:%Y-%m-%d %H:%M}" if self.finished else ""
        unknown = f". It was imported from {self.imported_from}, with settings that no file says"
        return (
            f"{self.arm} on {self.benchmark} was not run in turns with the other arms: it is taken from {self.source}, "
            f"which ran from {self.started:%Y-%m-%d %H:%M}{ended} UTC. A model, site or machine that changed since "
            f"then looks like a difference between the arms (drift){unknown if self.imported_from else ''}"
        )


def reused_names(study: Study) -> list[RunName]:
    """Return the arms that are taken from earlier runs, on each benchmark."""
    return [
        RunName(benchmark.name, arm.name)
        for benchmark in study.benchmarks
        for arm in study.arms
        if arm.reuse is not None
    ]


def source_of(study: Study, name: RunName) -> str:
    """Return the source of an arm as the file writes it."""
    given = study.arm(name.arm).reuse
    return given[name.benchmark] if isinstance(given, dict) else str(given)


def comparable_source(study: Study, name: RunName, other: RunInfo, tasks: Sequence[Task]) -> Path:
    """Return the run folder or baseline file that an arm is taken from.

    Args:
        study: Its file.
        name: The arm and the benchmark.
        other: The `run.json` of another arm on the benchmark, present or future.
        tasks: Those of the other.

    Raises:
        StudyFileError: It is not there, not whole, or not comparable with the other.
    """
    place = ("arms", name.arm, "reuse", name.benchmark)
    path = study.path.parent / Path(source_of(study, name)).expanduser()
    if (path / "runs").is_dir():
        path = path / "runs" / name.benchmark / name.arm
    try:
        info, unfinished = _read(path, tasks)
        settings = [] if _IMPORTED in info.config else _other_settings(study, name, info, path)
    except (BenchError, OSError) as error:
        raise study.error(place, f"{name} cannot be taken from {path}: {error}") from error
    differing = [
        f"its {what} is {read(info)}, that of the arms beside it {read(other)}"
        for what, read in _ALIKE.items()
        if read(info) and read(other) and read(info) != read(other)
    ]
    if problems := [*differing, *settings, *unfinished]:
        raise study.error(
            place,
            f"{name} cannot be compared with what was taken from {path}: {'; '.join(problems)}; run "
            "the arm anew, or name a run that is comparable",
        )
    return path


def _other_settings(study: Study, name: RunName, info: RunInfo, out: Path) -> list[str]:
    """Return the recorded settings in which a run differs from the study's own for the arm."""
    limits: Any = info.config.get("limits") or {}
    arm = StudyArm(
        name=name.arm,
        max_steps=limits.get("max_steps"),
        time_limit=limits.get("time_limit_s"),
        **keys_of_run(info),
    )
    benchmark = study.benchmark(name.benchmark)
    options = study.run_options(benchmark, arm, out)
    with prepare_installed(benchmark.plugin)(options, Purpose.TASKS) as ready:
        return [*other_settings(info.config, ready.spec.settings(), Redactor.from_environment())]


def _read(path: Path, tasks: Sequence[Task]) -> tuple[RunInfo, list[str]]:
    """Return `run.json` of the run that stands in for an arm, and the reason if it is incomplete."""
    if path.is_file():
        stored = read_baseline(path, StoredRun)
        lacking = [t for t in tasks if len(stored.scores.get(t.task_id, ())) < stored.info.trials]
        return stored.info, [f"{len(lacking)} of its tasks lack trials"] if lacking else []
    view = read_run(path)
    problems = list(check_run(path).problems[:1])
    if left := len(view.standings.remaining()):
        problems.append(f"{left} of its trials have no lasting result")
    return view.info, problems


def take(path: Path, source: str, name: RunName, tasks: Sequence[Task], into: Path) -> ReusedArm:
    """Copy the run that stands in for an arm into the folder `into`.

    Args:
        path: A run folder or a baseline file.
        source: Its name in the study's file.
        name: The arm and the benchmark.
        tasks: The benchmark's.
        into: Replaced if it is there.
    """
    shutil.rmtree(into, ignore_errors=True)
    if path.is_file():
        stored = read_baseline(path, StoredRun)
        info = stored.info
        _write_run(stored, tasks, into)
    else:
        info = read_run(path).info
        for each in plain_files(path):  # a stranger's links may lead anywhere on this machine
            if each != ".lock":
                (into / each).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path / each, into / each)
    return ReusedArm(
        benchmark=name.benchmark,
        arm=name.arm,
        source=source,
        sha256=file_sha256(into / "run.json"),
        started=info.started,
        finished=info.finished,
        imported_from=str(origin) if (origin := info.config.get(_IMPORTED)) else None,
    )


def _write_run(stored: StoredRun, tasks: Sequence[Task], path: Path) -> None:
    """Make a run folder of a baseline file; its trials have only their scores."""
    info = stored.info.model_copy(update={"sessions": ()})
    with RunFolder.create(path, info, tasks) as folder:
        for task in tasks:
            for trial, score in enumerate(stored.scores[task.task_id][: info.trials], start=1):
                status = Status.EVALUATION_ERROR if score is None else Status.COMPLETED
                error = (
                    ErrorInfo(kind="unscored", message="the baseline file has no score")
                    if score is None
                    else None
                )
                folder.append(
                    TrialResult(
                        benchmark=info.benchmark, task_id=task.task_id, trial=trial, agent=info.agent,
                        model=info.model, world=info.world, profile=info.profile, timing=info.timing,
                        status=status, score=score, error=error, flags=("imported",),
                    )
                )  # fmt: skip
