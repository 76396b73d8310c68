"""The words and table cells that all formats share."""

from __future__ import annotations

from collections.abc import Iterator

from bench_core.faults import FAULTS
from bench_core.records import Status
from bench_core.statistics import Interval, RankSet
from bench_report.model import (
    Difference,
    JudgeAudit,
    Ranking,
    Report,
    RunComparison,
    RunReport,
    SliceDifference,
    WhenPassed,
)
from bench_report.text import numbers

LOOK_COLUMNS = (
    "Look", "Tasks", "Difference", "Repeated interval", "t", "Critical", "Power left", "Result",
)  # fmt: skip
LOOKS_NOTE = (
    "Differences from {baseline} at complete random batches of tasks, drawn and stored with the boundaries "
    "(O'Brien and Fleming's spending) before the first trial. The repeated interval holds at whatever look a "
    "run stops; an estimate at an early stop lies beyond the truth by about a point in the mean."
)

KIND_COLUMNS = (
    "Judge's verdict", "Passed", "Failed", "Undecided", "Wrong passes", "Refused right ones", "Truth known",
)  # fmt: skip
"""Heads of `kind_rows`."""
_LEAST_DRIFT = 20
"""Of so many trials a tenth has two."""
DIFFERENCE_COLUMNS = (
    "Difference", "95% interval, alone", "p, alone", "95% interval, together", "p, together",
    "p, same agent here", "Detectable", "Shared tasks",
)  # fmt: skip
"""Heads of `difference_cells`."""
DIFFERENCES_NOTE = (
    "Intervals and p-values are about new tasks of this kind, and agree: an interval leaves out zero exactly if the "
    "p-value beside it is below 5%. Alone: each row errs in 5% of cases, so that of many rows some do. "
    "Together: all rows are right with 95% confidence (Bonferroni); quote these where you looked at several. "
    "Slices count together with all slices of their run. Detectable: the smallest true difference that four "
    "of five such comparisons find. Same agent here: about these very tasks."
)
SAME_TASKS_NOTE = (
    "95% at each end: were the true difference on these tasks below the lower end, results like these would "
    "come in at most 5% of runs, and so were it above the upper end; both ends together hold with 90%."
)

RANKS_NOTE = (
    "Ranks that all paired comparisons together leave open, with {confidence} confidence for "
    "all runs. A run is called worse and dearer only where both are clear."
)
NOISE_NOTE = (
    "Shares of the variance of the rate on new tasks. ICC: how alike trials of one task are. Where tasks "
    "make most of it, more tasks help and more trials hardly do; a comparison on the same tasks gains from both."
)


def headline_interval(report: Report) -> Interval | None:
    """Return the first run's headline interval for new tasks that there is: all have its level and method."""
    rates = (run.summary.success.new_tasks for run in report.runs)
    return next(filter(None, rates), None)


def headline_counts(report: Report, run: RunReport) -> tuple[str, ...]:
    """Write the counts behind a run's headline: trials, tasks and clusters, and the trials left out."""
    rate, coverage = run.summary.success, run.summary.coverage
    left_out = 0 if report.count_errors_as_failures else coverage.results - coverage.scored
    return tuple(map(numbers.count, (rate.trials, rate.tasks, rate.clusters, left_out)))


def difference_cells(value: float | None, found: Difference | SliceDifference) -> tuple[str, ...]:
    """Write a difference by `DIFFERENCE_COLUMNS`."""
    return (
        numbers.points(value),
        numbers.points_interval(found.low, found.high),
        numbers.p_value(found.p_value),
        numbers.points_interval(found.joint_low, found.joint_high),
        numbers.p_value(found.adjusted_p_value),
        numbers.p_value(getattr(found, "p_same_tasks", None)),
        numbers.points(getattr(found, "detectable", None)).lstrip("+"),
        numbers.count(found.shared_tasks),
    )


def difference_remarks(comparison: RunComparison) -> list[str]:
    """Write the facts about differences on these very tasks, the meaning of their limits, and exclusions."""
    lines = []
    for each in comparison.differences:
        if each.same_tasks:
            chance = f"p = {numbers.p_value(each.p_same_tasks)}".replace("= <", "< ")
            lines.append(
                f"{each.run}, on these tasks: {numbers.points_interval(each.same_tasks.low, each.same_tasks.high)} "
                f"(95% at each end), {chance} that it is the same agent as {each.baseline}."
            )
        if each.left_out:
            number = numbers.counted(each.left_out, "task")
            lines.append(f"{each.run}: without {number} that only one of the two runs scored.")
        if each.timing:
            lines.append(f"{each.timing}.")
    known = any(each.same_tasks for each in comparison.differences)
    return [*lines, *[SAME_TASKS_NOTE] * known]


COST_COLUMNS = ("Run", "Mean over tasks", "95% interval, new tasks", "Price known of")


def price_known(known: int, trials: int) -> str:
    """Write of how many trials a price is known: `36 of 80 trials (45%)`, `all 80 trials`."""
    if known == trials:
        return "its only trial" if trials == 1 else f"all {numbers.count(trials)} trials"
    share = numbers.percent(known / trials if trials else None)
    return f"{numbers.count(known)} of {numbers.counted(trials, 'trial')} ({share})"


def cost_rows(report: Report) -> list[tuple[str, ...]]:
    """Write the mean cost of a scored trial, if known, by `COST_COLUMNS`."""
    return [
        (
            run.label,
            numbers.dollars(run.cost.mean),
            run.cost.refused or numbers.dollars_interval(run.cost),
            price_known(run.cost.known, run.cost.trials),
        )
        for run in report.runs
        if run.cost
    ]


DRIFT_COLUMNS = ("Run", "Part", "Rate", "Trials", "First start")
DRIFT_NOTE = (
    "By trial number, and by tenths of the trials in the order of their start. The test compares trials of one task "
    "with each other; of runs that do not change while they go on, at most 6% are said to."
)


def drift_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write the rates of a run by trial number and by start time, by `DRIFT_COLUMNS`; few trials have none."""
    found = run.drift
    if found is None or len(run.trials) < _LEAST_DRIFT:
        return []
    return [
        (
            run.label,
            each.name,
            numbers.percent(each.rate),
            numbers.count(each.trials),
            f"{each.began:%Y-%m-%d %H:%M}" if each.began else numbers.NONE,
        )
        for each in (*found.by_trial, *found.by_time)
    ]


def drift_sentence(run: RunReport) -> str:
    """Say whether a run changed while it went on."""
    found = run.drift
    if found is None or found.refused:
        return f"{run.label}: {found.refused if found else 'no trial was scored'}, so that no drift is tested for."
    change = f", a change of {numbers.points(found.change)} over the run" if found.change else ""
    words = "changes while it goes on" if found.alarm else "shows no change while it goes on"
    return (
        f"{run.label} {words}: p = {numbers.p_value(found.p_value)} that it is chance which of a task's trials "
        f"succeeded{change}."
    )


def ranks(found: RankSet) -> str:
    """Write a rank set: `2` or `1 to 3`."""
    return f"{found.best}" if found.best == found.worst else f"{found.best} to {found.worst}"


def unknown(run: RunReport) -> str | None:
    """Write the range left open by trials without a score; `None` if every planned trial has one."""
    found = run.summary.bounds
    if found is None or not found.unknown:
        return None
    ends = f"{numbers.percent(found.proven)} proven, {numbers.percent(found.not_disproven)} not disproven"
    return f"{numbers.percent(found.unknown)} unknown: {ends}"


def look_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write the looks of a run, a row each, by `LOOK_COLUMNS`."""
    return [
        (
            f"{each.number} of {each.of}",
            numbers.count(each.tasks),
            numbers.points(each.difference),
            numbers.points_interval(each.low, each.high),
            numbers.NONE if each.statistic is None else f"{each.statistic:.2f}",
            numbers.NONE if each.critical is None else f"{each.critical:.2f}",
            numbers.percent(each.conditional_power),
            each.reason,
        )
        for each in run.looks
    ]


def baseline_of_looks(run: RunReport) -> str:
    """Return the name of the run that looks compare with."""
    return str((run.info.stopping_rule or {}).get("baseline", "?"))


def pair_rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """Write all pairs of runs, a row each: both runs, then by `DIFFERENCE_COLUMNS`."""
    return [
        (
            pair.new,
            pair.baseline,
            numbers.points(pair.difference.estimate),
            numbers.points_interval(pair.difference.low, pair.difference.high),
            numbers.p_value(pair.p_value),
            numbers.points_interval(
                *(pair.joint.low, pair.joint.high) if pair.joint else (None, None)
            ),
            numbers.p_value(pair.p_adjusted),
            numbers.p_value(pair.p_same_tasks),
            numbers.points(pair.detectable).lstrip("+"),
            numbers.count(pair.difference.tasks),
        )
        for pair in ranking.leaderboard.pairs
    ]


def why_unscored(status: Status, fault: str | None) -> str:
    """Say why a trial has no score: the fault if it is known, else the status."""
    return FAULTS[fault].what if fault and fault in FAULTS else status.value


def slice_groups(report: Report) -> list[str]:
    """Return the groups by whose values any run is sliced."""
    return list(dict.fromkeys(name for run in report.runs for name in run.summary.groups))


def slice_rows(report: Report, group: str) -> Iterator[tuple[str, ...]]:
    """Yield value, run, rate, interval, template average, tasks, trials, steps, tokens and cost of each slice."""
    for run in report.runs:
        efforts = {each.value: each.effort for each in run.slice_efforts if each.group == group}
        for row in run.summary.groups.get(group, ()):
            effort = efforts.get(row.name)
            yield (
                row.name,
                run.label,
                numbers.percent(row.success.estimate),
                numbers.interval(row.success.new_tasks),
                numbers.percent(row.macro_average.estimate if row.macro_average else None),
                numbers.count(row.success.tasks),
                numbers.count(row.success.trials),
                numbers.plain(effort.steps.mean if effort else None),
                numbers.short(effort.tokens.mean if effort else None),
                numbers.dollars(effort.cost_usd.mean if effort else None),
            )


def check_rows(report: Report) -> list[tuple[str, ...]]:
    """Write the checks that failed trials did not pass: run, check, trials, tasks, and a trial as an example."""
    return [
        (
            run.label,
            each.criterion,
            numbers.count(each.trials),
            numbers.count(each.tasks),
            f"{each.example.task_id} #{each.example.trial}",
        )
        for run in report.runs
        for each in run.failed_checks
    ]


PASSED_COLUMNS = (
    "Run", "Trial", "First passing step", "Steps after it", "Cost after it", "In the end", "Score",
)  # fmt: skip
"""Heads of `passed_rows`."""
PASSED_NOTE = (
    "After each step what it had left was scored again, without an answer. No score depends on it; "
    "costs are estimated by the steps' share of the tokens."
)


def passed_line(found: WhenPassed) -> str:
    """Say how many trials had a state that passes, and how many destroyed it."""
    costs = [each.cost_after for each in found.trials if each.cost_after is not None]
    is_known = costs and len(costs) == len(found.trials)
    spent = f" and {numbers.dollars(sum(costs))}" if is_known else ""
    after = numbers.counted(sum(each.steps_after for each in found.trials), "step")
    undone = numbers.count(sum(each.undone for each in found.trials))
    return (
        f"{numbers.count(len(found.trials))} of {numbers.counted(found.known, 'trial')} had a state that passes; "
        f"what followed the first such state took {after}{spent}; {undone} did not end in one."
    )


def passed_rows(run: RunReport) -> list[tuple[str, ...]]:
    """Write the trials in which steps followed the first state that passes."""
    return [
        (
            run.label,
            f"{each.trial.task_id} #{each.trial.trial}",
            str(each.first),
            numbers.count(each.steps_after),
            numbers.dollars(each.cost_after),
            "destroyed again" if each.undone else "passes or unknown",
            {True: "passed", False: "failed", None: "not scored"}[each.success],
        )
        for each in (run.when_passed.trials if run.when_passed else ())
        if each.steps_after
    ]


def kind_rows(audit: JudgeAudit) -> list[tuple[str, ...]]:
    """Write how many trials a judge decided on each kind of ground, and its errors if the truth is known."""
    return [
        (
            each.kind,
            *map(numbers.count, (each.passed, each.failed, each.undecided)),
            *(
                numbers.count(number) if each.known else numbers.NONE
                for number in (each.wrong_passed, each.right_refused)
            ),
            numbers.count(each.known),
        )
        for each in audit.kinds
    ]


def effort_rows(report: Report) -> Iterator[tuple[str, ...]]:
    """Yield run, quantity, median, mean, 90th percentile, largest, total, and for how many it is unknown."""
    for run in report.runs:
        for name, spread, write in (
            ("steps", run.summary.steps, numbers.plain),
            ("tokens", run.summary.tokens, numbers.short),
            ("cost", run.summary.cost_usd, numbers.dollars),
            ("time", run.summary.time_s, numbers.duration),
        ):
            figures = (spread.median, spread.mean, spread.p90, spread.largest, spread.total)
            yield run.label, name, *map(write, figures), numbers.count(spread.unknown)
