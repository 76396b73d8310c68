"""Import of trials that another harness ran, into a run folder that is scored as one of ours.

Official output folders, `{id}/agent_response.json` and `{id}/network.har`, are scored by the evaluator, as its own
command line scores them. BrowserGym's result trees have no recording: their reported scores are kept and marked.
Nothing is ever unpickled, links are not followed, and files above a limit are not read.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt

from bench_core.errors import EvaluationError, InputError, RefusedFileError
from bench_core.files import open_inside, read_inside
from bench_core.records import (
    AgentEnding,
    ErrorInfo,
    Record,
    Status,
    Task,
    TrialKey,
    TrialResult,
)
from bench_core.records.codec import decode_json
from bench_core.records.vocabulary import FailureMode
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    REPORTED_ONLY,
    BrowserGymExperiment,
    RunFolder,
    browsergym_experiments,
    describe_artifacts,
    describe_run,
)
from bench_core.trial import rescore_trial
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluation import ANSWER_FILE, CONFIG_FILE, HAR_FILE, write_config
from webarena_runner.tasks import BENCHMARK

_RESULT_FILE = "eval_result.json"
_MOST_HAR = 256 * 1024 * 1024
_MOST_TASKS = 20_000
_PIECE = 1 << 20
_FOLDERS = frozenset({"webarena", "webarena_verified"})


class Reported(Record):
    """A trial whose recorded score differs from the folder's own `eval_result.json`."""

    task_id: str
    score: float | None
    reported: float


class ImportedFolder(Record):
    """The outcome of an import.

    Attributes:
        layout: `official` or `browsergym`.
        scored: Trials that the evaluator has scored.
        reported_only: Trials with the score that the other harness reports.
        without_score: Trials with neither, and why, by task.
        unknown: Folders of no known task.
        compared: Trials for which the folder has an `eval_result.json`.
        differences: Those of them with another score.
    """

    folder: str
    layout: str
    scored: NonNegativeInt
    reported_only: NonNegativeInt
    succeeded: NonNegativeInt
    without_score: dict[str, str]
    unknown: tuple[str, ...] = ()
    compared: NonNegativeInt = 0
    differences: tuple[Reported, ...] = ()

    @property
    def text(self) -> str:
        """The outcome as text."""
        lines = [f"{self.layout} -> {self.folder}"]
        lines.append(f"{self.scored} trials scored by the evaluator, {self.succeeded} succeeded")
        if self.reported_only:
            lines.append(f"{self.reported_only} trials with a reported score only")
        lines += [f"no score: {name}: {why}" for name, why in self.without_score.items()]
        if self.compared:
            same = self.compared - len(self.differences)
            lines.append(f"{same} of {self.compared} scores are those of {_RESULT_FILE}")
        lines += [
            f"  {each.task_id}: {each.score} here, {each.reported} there"
            for each in self.differences
        ]
        if self.unknown:
            lines.append(f"of no known task: {', '.join(self.unknown[:5])}")
        return "\n".join(lines)


def is_official(folder: Path) -> bool:
    """Return whether a folder is one of webarena-verified's outputs: numbered folders with a response."""
    return not (folder / "run.json").exists() and next(_numbered(folder), None) is not None


def import_results(
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    config: EnvironmentConfig | None = None,
    agent: str = "imported",
    model: str | None = None,
) -> ImportedFolder:
    """Read the results of another harness into the new run folder `out`.

    Args:
        results: An official output folder, or a tree of BrowserGym's experiments.
        out: The run folder to make.
        tasks: The known tasks; folders of other tasks are listed as unknown.
        config: The sites' URLs during the run; None reads them from each folder's `run_config.json`.
        agent: Name of the agent.
        model: Name of its model.

    Raises:
        InputError: There is nothing to import, or no sites are known.
        RunFolderError: `out` exists.
    """
    known = {task.task_id: task for task in tasks}
    redactor = Redactor.from_environment()
    if is_official(results):
        places = list(_numbered(results))
        chosen = [known[each] for each in places if each in known]
        _refuse_none(results, chosen)
        info = _info(chosen, agent, model, "official")
        with RunFolder.create(out, info, chosen, redactor=redactor) as run:
            for task in chosen:
                run.append(_official(results, task, run, config, agent, model))
            run.finish("finished")
            return _summary(out, "official", run, results, [e for e in places if e not in known])
    experiments = list(browsergym_experiments(results))
    found = [(task_id, each) for each in experiments if (task_id := _task_id(each)) in known]
    chosen = list({task_id: known[task_id] for task_id, _ in found}.values())
    _refuse_none(results, chosen)
    strange = [each.name for each in experiments if _task_id(each) not in known]
    taken: Counter[str] = Counter()
    keys = []
    for task_id, _ in found:
        taken[task_id] += 1
        keys.append(TrialKey(task_id=task_id, trial=taken[task_id]))
    info = _info(chosen, agent, model, "browsergym", trials=max(taken.values()))
    with RunFolder.create(out, info, chosen, redactor=redactor) as run:
        for key, (_, each) in zip(keys, found, strict=True):
            run.new_attempt(key)
            run.append(each.result(BENCHMARK, key, agent, model))
        run.finish("finished")
        return _summary(out, "browsergym", run, None, strange)


def _refuse_none(results: Path, chosen: Sequence[Task]) -> None:
    if not chosen:
        raise InputError(
            f"{results} has no results of a known task: neither TASK_ID/{ANSWER_FILE} nor "
            f"*_on_webarena.TASK_ID_SEED/summary_info.json"
        )


def _info(
    tasks: Sequence[Task], agent: str, model: str | None, layout: str, *, trials: int = 1
) -> Any:
    return describe_run(
        benchmark=BENCHMARK,
        agent=agent,
        model=model,
        tasks=tasks,
        trials=trials,
        config={"imported_from": layout},
        packages=("webarena-verified",),
    )


def _numbered(folder: Path) -> Iterator[str]:
    """Yield the names of the folders of tasks, in order; links do not count."""
    try:
        with os.scandir(folder) as entries:
            names = [
                e.name for e in entries if e.name.isdecimal() and e.is_dir(follow_symlinks=False)
            ]
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror or error}") from error
    if len(names) > _MOST_TASKS:
        raise InputError(f"{folder} has more than {_MOST_TASKS} folders of tasks")
    for name in sorted(names, key=int):
        if any((folder / name / each).exists() for each in (ANSWER_FILE, HAR_FILE)):
            yield name


def _official(
    results: Path,
    task: Task,
    run: RunFolder,
    config: EnvironmentConfig | None,
    agent: str,
    model: str | None,
) -> TrialResult:
    """Copy a trial's evidence, and score it like a rescored trial of ours."""
    key = TrialKey(task_id=task.task_id, trial=1)
    folder = run.new_attempt(key)
    first = _unscored(key, agent, model, "nothing has scored it yet")
    try:
        _copy(results, task.task_id, ANSWER_FILE, folder)
        _copy(results, task.task_id, HAR_FILE, folder)
        if config is not None:
            write_config(folder, config)
        else:
            _copy(results, task.task_id, CONFIG_FILE, folder)
    except RefusedFileError as error:
        return _unscored(key, agent, model, str(error))
    except FileNotFoundError as error:
        missing = os.path.basename(str(error.filename or error))  # noqa: PTH119  # a name, not a path
        return _unscored(key, agent, model, f"{missing} is missing")
    try:
        scored = asyncio.run(rescore_trial(WebArenaBenchmark(), task, first, folder))
    except EvaluationError as error:
        return _unscored(key, agent, model, str(error))
    return scored.model_copy(update={"artifacts": describe_artifacts(folder)})


def _copy(results: Path, task_id: str, name: str, folder: Path) -> None:
    left = _MOST_HAR
    with open_inside(results, f"{task_id}/{name}") as source, (folder / name).open("xb") as target:
        while piece := source.read(_PIECE):
            left -= len(piece)
            if left < 0:
                raise RefusedFileError(
                    results / task_id / name, f"holds more than {_MOST_HAR >> 20} MB"
                )
            target.write(piece)


def _unscored(key: TrialKey, agent: str, model: str | None, why: str) -> TrialResult:
    return TrialResult(
        benchmark=BENCHMARK,
        task_id=key.task_id,
        trial=key.trial,
        agent=agent,
        model=model,
        status=Status.EVALUATION_ERROR,
        score=None,
        failure_mode=FailureMode.EVALUATION_ERROR,
        flags=("imported",),
        error=ErrorInfo(kind="Imported", message=why, phase="evaluation"),
        # The other harness does not report limits: its end state is scored as it is.
        ending=AgentEnding(status=Status.COMPLETED, flags=("imported",)),
    )


def _task_id(experiment: BrowserGymExperiment) -> str:
    family, _, number = experiment.task.partition(".")
    return number.partition(".")[0] if family in _FOLDERS else ""


def _summary(
    out: Path, layout: str, run: RunFolder, results: Path | None, unknown: Sequence[str]
) -> ImportedFolder:
    every = list(run.results().values())
    reported = {}
    for each in every:
        if results is None:
            break
        # the score that the official command line left next to the recording
        with suppress(OSError, ValueError, KeyError, TypeError, RefusedFileError):
            left = decode_json(read_inside(results, f"{each.task_id}/{_RESULT_FILE}"))
            if math.isfinite(score := float(left["score"])):
                reported[each.task_id] = score
    by_task = {each.task_id: each.score for each in every}
    own = [each for each in every if REPORTED_ONLY not in each.flags and each.score is not None]
    return ImportedFolder(
        folder=str(out),
        layout=layout,
        scored=len(own),
        reported_only=sum(REPORTED_ONLY in each.flags and each.score is not None for each in every),
        succeeded=sum(bool(each.success) for each in own),
        without_score={
            each.task_id: each.error.message if each.error else each.status.value
            for each in every
            if each.score is None
        },
        unknown=tuple(unknown),
        compared=len(reported),
        differences=tuple(
            Reported(task_id=name, score=by_task[name], reported=score)
            for name, score in reported.items()
            if by_task[name] != score
        ),
    )
