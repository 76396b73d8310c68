"""Comparison of a run with a baseline, task by task, with criteria for a match.

The statistics are bench-core's; bench-report writes the document.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bench_core.cli import render_table
from bench_core.discovery import load_plugin
from bench_core.errors import InputError, NotEstimableError
from bench_core.records import Record, TrialResult
from bench_core.run_folder import RunView, read_run
from bench_core.statistics import (
    Accuracy,
    Comparison,
    Interval,
    accuracy,
    compare,
    difference_limits,
    success_rate_interval,
    units_needed,
)
from waa_client.vanilla import VanillaAverages, averages


class Published(Record):
    """A success rate that others published, shown with a comparison but not part of it."""

    name: str
    rate: float
    source: str


PUBLISHED = (
    Published(
        name="Navi, the benchmark's own agent", rate=0.195, source="arXiv 2409.08264, abstract"
    ),
    Published(name="unassisted human", rate=0.745, source="arXiv 2409.08264, abstract"),
)
"""Published success rates on all of upstream's tasks."""
_ALL_TASKS = 154  # in upstream's own task set


class ComparedRun(Record):
    """One of the two runs.

    Attributes:
        rate: Share of successes over scored trials, with its interval; None if too few tasks are
            scored.
        no_score: Number of trials without a score: crashes of VM, harness or evaluator.
        real_evaluator: Whether every score names the evaluator that gave it.
    """

    run: str
    agent: str
    model: str | None
    profile: str
    timing: str | None
    tasks: int
    rate: Interval | None
    averages: VanillaAverages
    no_score: int
    agent_errors: int
    mean_steps: float | None
    real_evaluator: bool


class PairedTask(Record):
    """One task in both runs: its mean success in each, None if it was never scored."""

    task_id: str
    baseline: float | None
    new: float | None
    steps_baseline: float | None = None
    steps_new: float | None = None

    @property
    def agree(self) -> bool | None:
        """Whether both have the same success; None if one has no score."""
        if self.baseline is None or self.new is None:
            return None
        return self.baseline == self.new


class BaselineCriterion(Record):
    """One criterion for a match and whether it is met; None if that is unknown."""

    name: str
    holds: bool | None
    found: str


class BaselineComparison(Record):
    """Two runs, paired by task.

    Attributes:
        agreement: Confusion table of task successes, with the baseline as the truth.
        difference: The paired comparison of success rates; None without a task scored in both.
        limits: Limits of the difference on these tasks, each with 95% confidence; None likewise.
        step_ratio: Geometric mean of new steps by baseline steps over tasks scored in both.
        verdict: `matches` when every criterion holds, `differs` when one does not.
        published: Published rates; only for runs of all tasks, on which they were measured.
    """

    schema_version: Literal[1] = 1
    baseline: ComparedRun
    new: ComparedRun
    tasks: tuple[PairedTask, ...]
    agreement: Accuracy | None
    difference: Comparison | None
    limits: Interval | None = None
    step_ratio: float | None
    criteria: tuple[BaselineCriterion, ...]
    verdict: Literal["matches", "differs", "undecided"]
    published: tuple[Published, ...] = ()


def compare_runs(baseline: Path, new: Path, *, tolerance: float = 0.10) -> BaselineComparison:
    """Compare the run folder `new` with `baseline`.

    Args:
        baseline: A run folder, e.g. of `waa-client import-vanilla`.
        new: The run folder to compare with it.
        tolerance: Largest difference of success rates on these tasks for a match; the data must rule out
            a larger one.

    Raises:
        RunFolderError: One of them is not a run folder.
        InputError: They are of different benchmarks, or have no task in common.
    """
    runs = read_run(baseline), read_run(new)
    for each in runs:
        each.tell_damage()
    if runs[0].info.benchmark != runs[1].info.benchmark:
        raise InputError(
            f"{baseline} is a run of {runs[0].info.benchmark!r}, {new} of {runs[1].info.benchmark!r}"
        )
    sides = _side(runs[0], baseline), _side(runs[1], new)
    tasks = _paired(*runs)
    scored_in_both = [task for task in tasks if task.agree is not None]
    agreement = None
    if scored_in_both:
        half = 0.5  # the majority of a task's trials
        agreement = accuracy(
            {task.task_id: (task.new or 0.0) > half for task in scored_in_both},
            {task.task_id: (task.baseline or 0.0) > half for task in scored_in_both},
        )
    difference = _difference(*runs)
    step_logs = [
        math.log(task.steps_new / task.steps_baseline)
        for task in scored_in_both
        if task.steps_new and task.steps_baseline
    ]
    # the geometric mean
    ratio = math.exp(math.fsum(step_logs) / len(step_logs)) if step_logs else None
    limits = _limits(*runs)
    criteria = _criteria(sides, limits, ratio, tolerance)
    return BaselineComparison(
        baseline=sides[0],
        new=sides[1],
        tasks=tasks,
        agreement=agreement,
        difference=difference,
        limits=limits,
        step_ratio=ratio,
        criteria=criteria,
        verdict=_verdict(criteria),
        published=PUBLISHED if len(tasks) >= _ALL_TASKS else (),
    )


def write_report(runs: Sequence[Path], out: Path) -> Sequence[Path]:
    """Write bench-report's baseline document on the runs, of which the baseline is first.

    Raises:
        UnknownPluginError: bench-report is not installed.
    """
    reporter = load_plugin("reporter", "waa-baseline")
    made = reporter() if isinstance(reporter, type) else reporter
    written: Sequence[Path] = made.report(list(runs), out)
    return written


def comparison_text(found: BaselineComparison) -> str:
    """Return a comparison as text: both runs, agreement, criteria, published rates."""
    sides = (found.baseline, found.new)
    rows: list[tuple[object, ...]] = [
        ("run", *(side.run for side in sides)),
        ("agent", *(f"{side.agent} {side.model or ''}".strip() for side in sides)),
        ("profile", *(side.profile for side in sides)),
        ("timing", *(side.timing or "-" for side in sides)),
        ("success rate", *(_rate(side.rate) for side in sides)),
        (
            "average, upstream's denominator",
            *(_average(side.averages, "upstream") for side in sides),
        ),
        ("average, V2's denominator", *(_average(side.averages, "v2") for side in sides)),
        ("average over all planned", *(_average(side.averages, "planned") for side in sides)),
        ("trials without a score", *(str(side.no_score) for side in sides)),
        (
            "mean steps",
            *("-" if side.mean_steps is None else f"{side.mean_steps:.1f}" for side in sides),
        ),
    ]
    counts: dict[tuple[str, str], int] = {}
    for task in found.tasks:
        key = _outcome(task.baseline), _outcome(task.new)
        counts[key] = counts.get(key, 0) + 1
    outcomes = ("succeeds", "fails", "has no score")
    parts = [
        render_table(("", "baseline", "new"), rows),
        render_table(
            ("agreement", "new succeeds", "new fails", "new has no score"),
            [
                (f"baseline {row}", *(counts.get((row, column), 0) for column in outcomes))
                for row in outcomes
            ],
        ),
        render_table(("criterion", "holds", "found"), [_criterion_row(c) for c in found.criteria]),
    ]
    if found.published:
        rows = [(p.name, f"{p.rate:.1%}", p.source) for p in found.published]
        parts.append(render_table((f"published (all {_ALL_TASKS} tasks)", "rate", "source"), rows))
    parts.append(f"Verdict: {found.verdict}")
    return "\n\n".join(parts)


def _side(run: RunView, folder: Path) -> ComparedRun:
    results = list(run.results.values())
    scores = _scores(run)
    steps = [each.steps for each in results if each.score is not None and each.steps]
    scored = [each for each in results if each.score is not None]
    return ComparedRun(
        run=folder.resolve().name,
        agent=run.info.agent,
        model=run.info.model,
        profile=run.info.profile,
        timing=run.info.timing,
        tasks=len(run.tasks),
        rate=_interval(scores),
        averages=averages(results, len(run.tasks) * run.info.trials),
        no_score=len(results) - len(scored),
        agent_errors=sum(each.status.value == "agent_error" for each in results),
        mean_steps=math.fsum(steps) / len(steps) if steps else None,
        real_evaluator=bool(scored) and all(each.method for each in scored),
    )


def _interval(scores: dict[str, list[float]]) -> Interval | None:
    try:
        return success_rate_interval(scores)
    except NotEstimableError:
        return None


def _scores(run: RunView) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {}
    for result in run.results.values():
        if result.success is not None:
            scores.setdefault(result.task_id, []).append(float(result.success))
    return scores


def _paired(baseline: RunView, new: RunView) -> tuple[PairedTask, ...]:
    known = {task.task_id for task in new.tasks}
    shared = [task.task_id for task in baseline.tasks if task.task_id in known]
    if not shared:
        raise InputError("the two runs have no task in common")
    sides = [_by_task(run) for run in (baseline, new)]
    return tuple(
        PairedTask(
            task_id=task_id,
            baseline=_mean(
                [float(r.success) for r in sides[0].get(task_id, ()) if r.success is not None]
            ),
            new=_mean(
                [float(r.success) for r in sides[1].get(task_id, ()) if r.success is not None]
            ),
            steps_baseline=_mean([r.steps for r in sides[0].get(task_id, ()) if r.steps]),
            steps_new=_mean([r.steps for r in sides[1].get(task_id, ()) if r.steps]),
        )
        for task_id in shared
    )


def _by_task(run: RunView) -> dict[str, list[TrialResult]]:
    found: dict[str, list[TrialResult]] = {}
    for result in run.results.values():
        found.setdefault(result.task_id, []).append(result)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _difference(baseline: RunView, new: RunView) -> Comparison | None:
    try:
        return compare(_scores(new), _scores(baseline))
    except NotEstimableError:
        return None


def _limits(baseline: RunView, new: RunView) -> Interval | None:
    try:
        return difference_limits(_scores(new), _scores(baseline))
    except NotEstimableError:
        return None


def _criteria(
    sides: tuple[ComparedRun, ComparedRun],
    limits: Interval | None,
    ratio: float | None,
    tolerance: float,
) -> tuple[BaselineCriterion, ...]:
    baseline, new = sides
    return (
        BaselineCriterion(
            name=f"success rates within {100 * tolerance:g} pp on the tasks scored in both",
            holds=None if limits is None else limits.within(tolerance),
            found="no task is scored in both" if limits is None else _points(limits, tolerance),
        ),
        BaselineCriterion(
            name="every task completes without a crash",
            holds=new.no_score == 0,
            found=f"{new.no_score} trials without a score (baseline: {baseline.no_score})",
        ),
        BaselineCriterion(
            name="all scores come from a real evaluator",
            holds=new.real_evaluator,
            found="every score names its method" if new.real_evaluator else "some scores do not",
        ),
        BaselineCriterion(
            name=f"steps within {100 * tolerance:g}% of the baseline's",
            holds=None if ratio is None else abs(ratio - 1.0) <= tolerance,
            found="no steps are known" if ratio is None else f"{ratio:.2f} times as many",
        ),
    )


def _points(limits: Interval, tolerance: float) -> str:
    """Return difference and limits as text, with the number of pairs needed if there are too few."""
    ends = f"[{100 * limits.low:+.1f}, {100 * limits.high:+.1f}]"
    found = f"{100 * limits.estimate:+.1f} pp {ends}, 95% at each end"
    # 10 points take at least 29 pairs of trials, even if none of them differs
    if tolerance and limits.n < (needed := units_needed(tolerance)):
        found += f"; takes {needed} pairs of trials or more, there are {limits.n}"
    return found


def _verdict(criteria: Sequence[BaselineCriterion]) -> Literal["matches", "differs", "undecided"]:
    holds = [each.holds for each in criteria]
    if False in holds:
        return "differs"
    return "undecided" if None in holds else "matches"


def _rate(rate: Interval | None) -> str:
    return (
        "-"
        if rate is None
        else f"{rate.estimate:.1%} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    )


def _average(found: VanillaAverages, name: str) -> str:
    value = getattr(found, name)
    over = {"upstream": found.with_result, "v2": found.with_trajectory, "planned": found.tasks}[
        name
    ]
    return "-" if value is None else f"{value:.2%} of {over}"


def _outcome(value: float | None) -> str:
    if value is None:
        return "has no score"
    return "succeeds" if value > 0.5 else "fails"  # the majority of trials


def _criterion_row(criterion: BaselineCriterion) -> tuple[object, ...]:
    holds = {True: "yes", False: "no", None: "?"}[criterion.holds]
    return criterion.name, holds, criterion.found
