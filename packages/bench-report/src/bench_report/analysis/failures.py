"""Failures grouped by common features, and the changes from the baseline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bench_core.records import TrialResult
from bench_report.model import FailedCheck, RunReport, TrialRow
from bench_report.run_data.sources import Source
from bench_report.text.phrases import why_unscored
from bench_report.text.untrusted import inline

_MOST_CHECKS = 12
_MOST_NAME = 200
UNCLASSIFIED = "unclassified"
"""How failures without a failure mode are called."""


class Cluster(NamedTuple):
    """Trials that ended alike.

    Attributes:
        kind: `failure mode` or `status`.
        name: Which one.
        trials: How many trials.
        tasks: Of how many tasks.
        example: The shortest of them that left evidence, else the shortest.
    """

    kind: str
    name: str
    trials: int
    tasks: int
    example: TrialRow


class OutcomeChange(NamedTuple):
    """A task that ended otherwise than in the baseline, with the trials that show it best."""

    kind: str
    task_id: str
    before: str
    after: str
    new: TrialRow
    baseline: TrialRow


def clusters_of(run: RunReport) -> list[Cluster]:
    """Return a run's failures by failure mode and its unscored trials by fault, the most frequent first."""
    found: defaultdict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in run.trials:
        if row.success is False:
            found["failure mode", row.failure_mode or UNCLASSIFIED].append(row)
        elif row.success is None:
            found["status", why_unscored(row.status, row.fault)].append(row)
    clusters = [
        Cluster(kind, name, len(rows), len({row.task_id for row in rows}), example_of(rows))
        for (kind, name), rows in found.items()
    ]
    return sorted(clusters, key=lambda each: (-each.trials, each.kind, each.name))


def example_of(rows: Iterable[TrialRow]) -> TrialRow:
    """Return the trial that is looked at soonest: with evidence, and with few steps."""
    return min(rows, key=lambda row: (row.folder is None, row.steps or 10**6))


def changes_of(run: RunReport, baseline: RunReport) -> list[OutcomeChange]:
    """Return the tasks of a run whose outcomes differ from the baseline's, in the order of their kinds.

    Kinds: `newly failing` (passed in every scored trial before, in none now), `newly passing`, `flaky now`
    (alike before, not any more) and `no longer flaky`, of tasks that both scored.
    """
    now, before = _by_task(run), _by_task(baseline)
    found = [
        change
        for task_id in now
        if task_id in before
        and (change := _change(task_id, now[task_id], before[task_id])) is not None
    ]
    return sorted(found, key=lambda each: _KINDS.index(each.kind))  # stable: tasks in their order


_KINDS = (
    "newly failing", "no longer flaky, failing", "flaky now", "newly passing", "no longer flaky, passing",
)  # fmt: skip


def _by_task(run: RunReport) -> dict[str, list[TrialRow]]:
    found: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in run.trials:
        if row.success is not None:
            found[row.task_id].append(row)
    return found


def _state(rows: Sequence[TrialRow]) -> str:
    passed = sum(row.success is True for row in rows)
    return "passed" if passed == len(rows) else "mixed" if passed else "failed"


def _change(
    task_id: str, now: Sequence[TrialRow], before: Sequence[TrialRow]
) -> OutcomeChange | None:
    states = _state(before), _state(now)
    kind = {
        ("passed", "failed"): "newly failing",
        ("failed", "passed"): "newly passing",
        ("passed", "mixed"): "flaky now",
        ("failed", "mixed"): "flaky now",
        ("mixed", "passed"): "no longer flaky, passing",
        ("mixed", "failed"): "no longer flaky, failing",
    }.get(states)
    if kind is None:
        return None
    new, old = _contrast(now, before)
    return OutcomeChange(kind, task_id, _counted(before), _counted(now), new, old)


def _contrast(now: Sequence[TrialRow], before: Sequence[TrialRow]) -> tuple[TrialRow, TrialRow]:
    """Return a trial of each side that ended differently: a failure and a success."""
    for success in (False, True):
        new = [row for row in now if row.success is success]
        old = [row for row in before if row.success is not success]
        if new and old:
            return example_of(new), example_of(old)
    return example_of(now), example_of(before)


def _counted(rows: Sequence[TrialRow]) -> str:
    return f"{sum(row.success is True for row in rows)}/{len(rows)}"


def failed_checks(run: Source) -> tuple[FailedCheck, ...]:
    """Return the checks that scored trials of a run did not pass, the most frequent first."""
    found: defaultdict[str, list[TrialResult]] = defaultdict(list)
    for result in run.results:
        if result.checks and result.success is False:
            for name in dict.fromkeys(c.criterion for c in result.checks if c.passed is False):
                found[name].append(result)
    most = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_CHECKS]
    return tuple(
        FailedCheck(
            criterion=inline(name, _MOST_NAME),
            trials=len(results),
            tasks=len({each.task_id for each in results}),
            example=min(results, key=lambda each: each.steps or 10**6).key,
        )
        for name, results in most
    )


def suspects_of(run: RunReport) -> list[TrialRow]:
    """Return the trials whose score may not be the agent's own doing."""
    return [row for row in run.trials if row.suspect]
