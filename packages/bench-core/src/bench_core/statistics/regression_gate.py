"""A gate for regressions with few false alarms, which reports when the data do not decide."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Literal

from bench_core.errors import NotEstimableError
from bench_core.records import Record
from bench_core.statistics.clustering import Clusters, Key, Scores
from bench_core.statistics.comparison import Comparison, compare, task_differences
from bench_core.statistics.dirichlet import units_needed
from bench_core.statistics.intervals import ESTIMAND_TEXT, Estimand
from bench_core.statistics.limits import cluster_units, trial_units
from bench_core.statistics.looks import Look
from bench_core.statistics.multiplicity import tarone, tarone_level
from bench_core.statistics.permutation import WithinTask, within_task
from bench_core.statistics.power_simulation import printed_power

GateVerdict = Literal["fine", "regression", "not_enough_evidence"]
"""The decisions of a gate; commands exit with 0, 1 and 3 for these."""

_EXIT_CODES: dict[GateVerdict, int] = {"fine": 0, "regression": 1, "not_enough_evidence": 3}


class GateCheck(Record):
    """One part of the tasks, tested for a drop.

    Attributes:
        name: `all`, or the slice.
        tasks: Tasks both runs have scores for.
        pairs: Pairs of trials of these tasks.
        clusters: Independent groups of these tasks.
        difference: New minus baseline, over these tasks; `None` if none is shared.
        worst: On these tasks the drop is smaller than this with confidence 1 - alpha.
        worst_new_tasks: The same on new tasks of this kind; given for all tasks only.
        p_value: That the agent is unchanged on these tasks; one-sided, small for a drop; exact.
        p_adjusted: After Tarone over all parts tested.
        attainable: The smallest p-value that was possible here.
        power: Probability with which a drop of the tolerance would be found here; simulated for all
            of up to 400 tasks with equal numbers of trials where numpy is installed.
        reason: Why something is missing.
    """

    name: str
    tasks: int
    pairs: int = 0
    clusters: int = 0
    difference: float | None = None
    worst: float | None = None
    worst_new_tasks: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    attainable: float | None = None
    power: float | None = None
    reason: str | None = None


class GateResult(Record):
    """A verdict with everything it is based on; the text and the exit code come from it alone.

    Attributes:
        verdict: `regression`: the agent is not unchanged on these tasks, and worse; `fine`: a drop
            beyond the tolerance is ruled out; `not_enough_evidence`: neither.
        estimand: Whether `fine` is about the same tasks or new ones.
        tolerance: Smallest drop that matters.
        needed: Pairs of trials (these tasks) or clusters (new tasks) needed at least to rule out
            such a drop, without a single loss among them; `None` if the tolerance is 0.
        checks: All tasks first, then the slices.
        broken: Tasks that succeeded in every trial before and in none now.
        comparison: The two-sided comparison over all tasks; `None` for a single cluster.
        looks: For a run that may stop early: the looks that decided instead of the checks.
        damage: Files in the runs' folders that are not as they were written, if that was accepted.
    """

    schema_version: Literal[1] = 1
    verdict: GateVerdict
    reason: str
    alpha: float
    tolerance: float
    estimand: Estimand
    needed: int | None
    checks: tuple[GateCheck, ...]
    broken: tuple[str, ...] = ()
    comparison: Comparison | None = None
    looks: tuple[Look, ...] = ()
    damage: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 fine, 1 regression, 3 not enough evidence."""
        return _EXIT_CODES[self.verdict]


def gate(
    new: Scores[Key],
    baseline: Scores[Key],
    *,
    tolerance: float = 0.05,
    alpha: float = 0.05,
    clusters: Clusters[Key] | None = None,
    slices: Mapping[str, Collection[Key]] | None = None,
    estimand: Estimand = "same_tasks",
    names: tuple[str, str] = ("new", "baseline"),
) -> GateResult:
    """Decide whether `new` is worse than `baseline`.

    A rule like "fail when the score dropped" fires on 34-49% of re-runs of an unchanged agent; this
    one on at most `alpha`, for any number of tasks, trials and slices: it permutes trials within
    tasks (`within_task`). `fine` is a finding too (`difference_limits`), so a benchmark too small
    to show that gives `not_enough_evidence`. A cause that all trials of a run share, such as a site
    that was down, looks like a change of the agent.

    Args:
        new: Task id to the scores of its trials.
        baseline: The same for the run to compare with.
        tolerance: Smallest drop that matters, in the unit of the scores. A significant drop shown
            to be smaller is `fine`.
        alpha: Chance of a false alarm, over all slices together (Tarone), and of a false `fine`.
        clusters: Task id to template; tasks of one template are one cluster.
        slices: Slice name to its tasks, tested as well; one regressing slice is a regression.
        estimand: Whether `fine` is about these tasks or about new ones of this kind.
        names: Names of the two in the result.

    Raises:
        NotEstimableError: No task is shared.

    >>> before = {n: [1, 1, 1, 0] for n in range(60)}
    >>> gate({n: [1, 0, n % 2, 0] for n in before}, before).verdict
    'regression'
    """
    if tolerance < 0.0 or not 0.0 < alpha < 1.0:
        raise ValueError(f"tolerance {tolerance!r} or alpha {alpha!r} is out of range")
    if estimand == "these_results":
        raise ValueError("a gate speaks of the same tasks or of new ones")
    shared = {key: now for key, now in new.items() if len(now) and len(baseline.get(key, ()))}
    parts = {"all": shared} | {
        name: {key: shared[key] for key in dict.fromkeys(keys) if key in shared}
        for name, keys in (slices or {}).items()
    }
    # Tarone's rule asks for a level that is right given every total; a single test does not
    several = sum(map(bool, parts.values())) > 1
    tests = {
        name: within_task(part, baseline, conditional=several)
        for name, part in parts.items()
        if part or part is shared  # that no task is shared is refused there
    }
    least = [test.attainable for test in tests.values()]
    adjusted = dict(
        zip(tests, tarone([test.p_drop for test in tests.values()], least), strict=True)
    )
    # nothing could have been found if all outcomes were alike; after a drop they are not
    level = tarone_level(least, alpha) or alpha / len(least)
    checks = tuple(
        GateCheck(
            name=name,
            tasks=len(part),
            p_value=tests[name].p_drop,
            p_adjusted=adjusted[name],
            attainable=tests[name].attainable,
            power=_power(tests[name], tolerance, level, whole=name == "all"),
            **_limits(part, baseline, clusters, alpha, both=name == "all"),
        )
        if name in tests
        else GateCheck(name=name, tasks=0, reason="no task of it has a score in both runs")
        for name, part in parts.items()
    )
    same = tests["all"].p_value if tests["all"].conditional else None
    comparison: Comparison | None = None
    with suppress(NotEstimableError):  # a single cluster says nothing about new tasks
        comparison = compare(
            new, baseline, clusters=clusters, names=names, level=1.0 - alpha, p_same_tasks=same
        )
    needed = units_needed(tolerance, alpha) if tolerance else None
    verdict, reason = _verdict(checks, tolerance, alpha, estimand, needed)
    return GateResult(
        verdict=verdict,
        reason=reason,
        alpha=alpha,
        tolerance=tolerance,
        estimand=estimand,
        needed=needed,
        checks=checks,
        broken=tuple(
            str(key)
            for key, now in shared.items()
            if sum(now) / len(now) - sum(before := baseline[key]) / len(before) <= -1.0
        ),
        comparison=comparison,
    )


def _power(test: WithinTask, tolerance: float, level: float, *, whole: bool) -> float | None:
    if test.kinds is None or not whole:
        return test.power(tolerance, level)
    return printed_power(test.kinds, tolerance, level, conditional=test.conditional)


def _limits(
    new: Scores[Key],
    baseline: Scores[Key],
    clusters: Clusters[Key] | None,
    alpha: float,
    *,
    both: bool,
) -> dict[str, Any]:
    """Return the fields of a check about the size of the difference."""
    try:
        trials = trial_units(new, baseline)
        groups = cluster_units(new, baseline, clusters)
    except NotEstimableError as error:
        means = task_differences(new, baseline).values()
        return {"difference": math.fsum(means) / len(means), "reason": str(error)}
    return {
        "pairs": len(trials.totals),
        "clusters": len(groups.totals),
        "difference": groups.mean,
        "worst": trials.low(alpha),
        "worst_new_tasks": groups.low(alpha) if both else None,
    }


def _verdict(
    checks: tuple[GateCheck, ...],
    tolerance: float,
    alpha: float,
    estimand: Estimand,
    needed: int | None,
) -> tuple[GateVerdict, str]:
    dropped = [each for each in checks if _regressed(each, tolerance, alpha)]
    if dropped:
        found = ", ".join(f"{each.name} {_points(each.difference)}" for each in dropped)
        return "regression", f"not the same agent on these tasks, and worse: {found}"
    whole = checks[0]
    there, unit, worst = whole.pairs, "pairs of trials", whole.worst
    if estimand == "new_tasks":
        there, unit = whole.clusters, "independent tasks or templates"
        worst = whole.worst_new_tasks
    about = f"at worst {_points(worst)} {ESTIMAND_TEXT[estimand]}"
    if worst is not None and worst > -tolerance:
        return "fine", f"{about}, within the tolerance of {_points(-tolerance)}"
    wanting = [f"no drop beyond chance, but {about}"]
    if needed is not None and there < needed:
        wanting.append(
            f"ruling out {_points(-tolerance)} takes at least {needed} {unit} without a loss, "
            f"there are {there}"
        )
    if whole.power is not None:
        wanting.append(f"a true {_points(-tolerance)} would be found in {whole.power:.0%} of runs")
    return "not_enough_evidence", "; ".join(wanting)


def _regressed(check: GateCheck, tolerance: float, alpha: float) -> bool:
    """Whether a part dropped by chance alone in at most alpha of runs, and not by too little."""
    if check.p_adjusted is None or check.p_adjusted > alpha:
        return False
    if check.difference is not None and check.difference >= 0.0:
        return False  # ties are broken by weights, which may tip equal means
    return check.worst is None or check.worst <= -tolerance


def _points(difference: float | None) -> str:
    # as tables write it, U+2212 included
    return "?" if difference is None else f"{100.0 * difference:+.1f} pp".replace("-", "\u2212")
