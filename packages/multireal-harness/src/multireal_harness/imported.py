"""Import of agisdk's results: a folder for each experiment, scored again from its `finish_state.json`.

Trials without a readable end state keep the score that agisdk reports, marked as such. No pickle is opened.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import NonNegativeInt

from bench_core.errors import EvaluationError, InputError, RefusedFileError
from bench_core.files import read_inside
from bench_core.records import AgentEnding, ErrorInfo, Record, Status, Task, TrialKey, TrialResult
from bench_core.records.codec import decode_json
from bench_core.records.vocabulary import FailureMode
from bench_core.redaction import Redactor
from bench_core.run_folder import (
    REPORTED_ONLY,
    BrowserGymExperiment,
    RunFolder,
    TrialArtifacts,
    browsergym_experiments,
    describe_artifacts,
    describe_run,
)
from bench_core.trial import rescore_trial
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.evaluation import EvaluationRules
from multireal_harness.tasks import BENCHMARK

_STATE = "finish_state.json"
_MOST_STATE = 256 * 1024 * 1024


class ImportedResults(Record):
    """The outcome of an import.

    Attributes:
        scored: Trials scored from their end state.
        reported_only: Trials with the score that agisdk reports.
        without_score: Why the others have none, by experiment.
        unknown: Experiments of no known task.
        differences: Trials whose score here differs from agisdk's: task, here, there.
    """

    folder: str
    scored: NonNegativeInt
    succeeded: NonNegativeInt
    reported_only: NonNegativeInt
    without_score: dict[str, str]
    unknown: tuple[str, ...] = ()
    differences: tuple[tuple[str, float | None, float], ...] = ()

    @property
    def text(self) -> str:
        """The outcome as text."""
        lines = [
            self.folder,
            f"{self.scored} trials scored from their end states, {self.succeeded} succeeded",
        ]
        if self.reported_only:
            lines.append(f"{self.reported_only} trials with a reported score only")
        lines += [f"no score: {name}: {why}" for name, why in self.without_score.items()]
        lines += [
            f"another score: {task}: {here} here, {there} there"
            for task, here, there in self.differences
        ]
        if self.unknown:
            lines.append(f"of no known task: {', '.join(self.unknown[:5])}")
        return "\n".join(lines)


def import_results(
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    rules: EvaluationRules | None = None,
    agent: str = "imported",
    model: str | None = None,
) -> ImportedResults:
    """Read agisdk's results into the new run folder `out`.

    Args:
        results: The tree: folders with `summary_info.json`, each with `finish_state.json`.
        out: The run folder to make.
        tasks: The known tasks.
        rules: Rules for scoring end states.
        agent: Name of the agent.
        model: Name of its model.

    Raises:
        InputError: The tree has nothing to import, or a summary cannot be read.
        RunFolderError: `out` exists.
    """
    known = {_short(task.task_id): task for task in tasks}
    every = list(browsergym_experiments(results))
    found = [(task, each) for each in every if (task := known.get(_short(each.task))) is not None]
    if not found:
        raise InputError(
            f"{results} has no results of a known task: no folder with summary_info.json that names one"
        )
    chosen = list({task.task_id: task for task, _ in found}.values())
    counts: Counter[str] = Counter()
    keys = []
    for task, _ in found:
        counts[task.task_id] += 1
        keys.append(TrialKey(task_id=task.task_id, trial=counts[task.task_id]))
    benchmark = MultiRealBenchmark(list(chosen), rules=rules)
    info = describe_run(
        benchmark=BENCHMARK,
        agent=agent,
        model=model,
        tasks=chosen,
        trials=max(counts.values()),
        profile=benchmark.rules.profile,
        config={"imported_from": "agisdk"},
    )
    reasons: dict[str, str] = {}
    with RunFolder.create(out, info, chosen, redactor=Redactor.from_environment()) as run:
        for key, (task, each) in zip(keys, found, strict=True):
            result = _result(benchmark, results, each, task, key, run, agent, model)
            run.append(result)
            if result.score is None:
                reasons[each.name] = result.error.message if result.error else result.status.value
        run.finish("finished")
        recorded = run.results()
    scored = [each for each in recorded.values() if each.score is not None]
    own = [each for each in scored if REPORTED_ONLY not in each.flags]
    there = {key: _reported(each) for key, (_, each) in zip(keys, found, strict=True)}
    return ImportedResults(
        folder=str(out),
        scored=len(own),
        succeeded=sum(bool(each.success) for each in own),
        reported_only=len(scored) - len(own),
        without_score=reasons,
        unknown=tuple(each.name for each in every if _short(each.task) not in known),
        differences=tuple(
            (key.task_id, recorded[key].score, reported)
            for key, reported in there.items()
            if reported is not None
            and REPORTED_ONLY not in recorded[key].flags
            and recorded[key].score != reported
        ),
    )


def _short(task_id: str) -> str:
    return task_id.removeprefix("browsergym/").removeprefix("multi.")


def _result(
    benchmark: MultiRealBenchmark,
    results: Path,
    experiment: BrowserGymExperiment,
    task: Task,
    key: TrialKey,
    run: RunFolder,
    agent: str,
    model: str | None,
) -> TrialResult:
    folder = run.new_attempt(key)
    try:
        file = f"{experiment.name}/{_STATE}"
        states = decode_json(read_inside(results, file, most=_MOST_STATE))
    except (OSError, ValueError, RefusedFileError):
        states = None
    if not isinstance(states, dict):
        return experiment.result(BENCHMARK, key, agent, model)
    TrialArtifacts(folder).write_state(states)
    first = _unscored(experiment, key, agent, model, "nothing has scored it yet")
    try:
        scored = asyncio.run(rescore_trial(benchmark, task, first, folder))
    except EvaluationError as error:
        return _unscored(experiment, key, agent, model, str(error))
    return scored.model_copy(update={"artifacts": describe_artifacts(folder)})


def _unscored(
    experiment: BrowserGymExperiment, key: TrialKey, agent: str, model: str | None, why: str
) -> TrialResult:
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
        steps=experiment.steps,
        error=ErrorInfo(kind="Imported", message=why, phase="evaluation"),
        # Whatever stopped the agent there, the end state is final.
        ending=AgentEnding(
            status=Status.STEP_LIMIT if experiment.truncated else Status.COMPLETED,
            flags=("imported",),
        ),
        details={"agisdk": {"experiment": experiment.name, "summary": experiment.summary}},
    )


def _reported(experiment: BrowserGymExperiment) -> float | None:
    found = experiment.summary.get("eval_results")
    score = found.get("score") if isinstance(found, dict) else None
    if isinstance(score, bool) or not isinstance(score, int | float):
        return experiment.reward if experiment.error is None else None
    return float(score)
