"""Scores the state after each step of a run's trials from the stored files: `rescore --each-step`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import NonNegativeInt

from bench_core.errors import BenchError, EvaluationError, InputError, RefusedFileError
from bench_core.files.inside import refuse_unusual
from bench_core.records import Record, Step, Task, TrialKey, TrialResult
from bench_core.redaction import Redactor
from bench_core.run_folder.artifacts import TRAJECTORY
from bench_core.run_folder.folder import RunView, read_run
from bench_core.run_folder.jsonl import read_lines
from bench_core.run_folder.step_scores import StepScores, read_step_scores, write_step_scores
from bench_core.run_folder.stored import trial_files
from bench_core.runs.rescore import refuse_changed
from bench_core.trial import Benchmark, close_benchmark

_AT_ONCE = 50
"""Scores are written after this many trials."""


@runtime_checkable
class StepScorer(Protocol):
    """The extra methods of a benchmark whose recordings show the state after each step.

    Attributes:
        step_rules: Name and version of the rules; scores under another name are computed again.
        step_files: The files of a trial that it reads.
    """

    step_rules: str
    step_files: frozenset[str]

    def passed_after(
        self, task: Task, result: TrialResult, folder: Path, steps: Sequence[Step]
    ) -> Sequence[bool | None]:
        """Return for each step whether the state after it passes; None if unknown.

        Raises:
            EvaluationError: A file is missing or cannot be read.
        """
        ...


class EachStepOutcome(Record):
    """The outcome of scoring each step.

    Attributes:
        file: The file it is written to.
        trials: Trials with steps for which it is known whether the state after them passes.
        unknown: Trials without such a step, and `why_unknown` the first reason.
        evaluated: Trials that were scored now and not before.
        passed: Trials with a state that passes.
        undone: Those of them whose last state does not.
        steps_after: Steps after the first passing one, in all.
    """

    file: str
    trials: NonNegativeInt
    unknown: NonNegativeInt
    evaluated: NonNegativeInt
    passed: NonNegativeInt
    undone: NonNegativeInt
    steps_after: NonNegativeInt
    why_unknown: str | None = None


def score_each_step(
    benchmark: Benchmark, run_folder: Path, *, redactor: Redactor | None = None
) -> EachStepOutcome:
    """Score the state after each step of a run's finished trials and write `step_scores.jsonl` in its folder.

    No result and no score changes. A trial that was scored before, by the same rules and for the same result,
    is not scored again.

    Raises:
        InputError: The run is of another benchmark, or this one's recordings do not show the state after
            each step.
    """
    if not isinstance(benchmark, StepScorer):
        raise InputError(
            f"what trials of {benchmark.name!r} leave does not show the state after each step"
        )
    run = read_run(run_folder)
    if run.info.benchmark != benchmark.name:
        raise InputError(f"{run_folder} is a run of {run.info.benchmark!r}, not {benchmark.name!r}")
    redactor = redactor or Redactor.from_environment()
    tasks = {task.task_id: task for task in run.tasks}
    before, evaluated = read_step_scores(run_folder), 0
    found: dict[TrialKey, StepScores] = {}
    for key, result in run.results.items():
        if not result.status.done:
            continue
        known = before.get(key)
        if known is None or (known.result, known.rules) != (result.checksum, benchmark.step_rules):
            known = _scored(benchmark, run, tasks[key.task_id], result)
            evaluated += 1
            if evaluated % _AT_ONCE == 0:
                write_step_scores(run_folder, {**before, **found}.values(), redactor)
        found[key] = known
    if evaluated or set(found) != set(before):
        write_step_scores(run_folder, found.values(), redactor)
    asyncio.run(close_benchmark(benchmark))
    known_of = [each for each in found.values() if any(p is not None for p in each.passed)]
    passed = [each for each in known_of if each.first is not None]
    return EachStepOutcome(
        file=str(run_folder / "step_scores.jsonl"),
        trials=len(known_of),
        unknown=len(found) - len(known_of),
        evaluated=evaluated,
        passed=len(passed),
        undone=sum(each.undone for each in passed),
        steps_after=sum(len(each.steps) - 1 - (each.first or 0) for each in passed),
        why_unknown=next((e.why_unknown for e in found.values() if e.why_unknown), None),
    )


def _scored(scorer: StepScorer, run: RunView, task: Task, result: TrialResult) -> StepScores:
    scores = StepScores(
        task_id=task.task_id,
        trial=result.trial,
        result=result.checksum,
        rules=scorer.step_rules,
    )
    wanted = {TRAJECTORY, *scorer.step_files}
    try:
        with trial_files(run, result, lambda each: each.path in wanted) as folder:
            refuse_unusual(folder, below=True)
            refuse_changed((each for each in result.artifacts if each.path in wanted), folder)
            steps = read_lines(folder / TRAJECTORY, Step).records
            if not steps:
                raise EvaluationError("the trial has no steps")  # noqa: TRY301  # reported in one way
            passed = tuple(scorer.passed_after(task, result, folder, steps))
    except (EvaluationError, RefusedFileError) as error:
        return scores.model_copy(update={"why_unknown": str(error)})
    except BenchError:
        raise
    except Exception as error:  # noqa: BLE001  # foreign evaluators run here: their faults say nothing of a state
        return scores.model_copy(update={"why_unknown": f"{type(error).__name__}: {error}"})
    used = (None if each.usage is None else each.usage.total_tokens for each in steps)
    return scores.model_copy(
        update={
            "steps": tuple(each.step for each in steps),
            "passed": passed,
            "tokens": tuple(used),
        }
    )
