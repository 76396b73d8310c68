"""Stopping a run early with a valid error rate: looks at complete random batches, planned before trial 1.

A look may only use whole batches of clusters drawn at random: the trials that happen to have ended
first are a biased choice (they are the fast ones). Boundaries spend the error of the test as
O'Brien and Fleming's do (Lan and DeMets 1983, Biometrika 70:659); futility is non-binding, so that
ignoring it keeps the level.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from bench_core.errors import InputError, NotEstimableError
from bench_core.records import SUCCESS_SCORE, Record, RunInfo, Task, TrialResult
from bench_core.run_folder.baselines import stored_run
from bench_core.seeded import seeded
from bench_core.statistics.boundaries import critical_values
from bench_core.statistics.comparison import task_differences
from bench_core.statistics.distributions import normal_cdf, t_quantile
from bench_core.statistics.paired_tests import PairedT, paired_t
from bench_core.statistics.planning import Templates, plan
from bench_core.statistics.scores import task_successes

Reason = Literal["continue", "regression", "difference", "futility", "complete", "pending"]
_LEAST_CLUSTERS = 2
_FUTILITY = 0.2
_COMPARED = ("benchmark", "benchmark_version", "task_set_hash", "world", "profile", "timing")
"""The fields in which a run and its baseline must agree."""


class LookPlan(Record):
    """The decisions made before the first trial; `run.json` stores them as `stopping_rule`.

    Attributes:
        kind: Names the rule.
        sides: `drop`: is the run worse than the baseline; `difference`: does it differ.
        alpha: Error of the test, one-sided for a drop and two-sided for a difference.
        futility: Stop if a planned drop would be found with a lower probability; `None` for never.
        drop: The planned drop.
        seed: The batches were drawn with it.
        unscored: Whether a look waits for trials without a score that may run again, or leaves them
            out.
        batches: Task ids of each batch; every batch consists of whole clusters.
        critical: Critical z of each look.
        clusters: Task id to its cluster, unless that is the task itself.
        baseline: Name of the run compared with.
        baseline_scores: Task id to the outcomes of its trials.
    """

    kind: Literal["obrien-fleming"] = "obrien-fleming"
    sides: Literal["drop", "difference"] = "drop"
    alpha: float = Field(default=0.05, gt=0, lt=1)
    futility: float | None = Field(default=_FUTILITY, gt=0, lt=1)
    drop: float = Field(gt=0, le=1)
    seed: int = 0
    unscored: Literal["wait", "leave_out"] = "wait"
    batches: tuple[tuple[str, ...], ...]
    critical: tuple[float, ...]
    clusters: dict[str, str] = Field(default_factory=dict)
    baseline: str
    baseline_scores: dict[str, tuple[float, ...]]


class Look(Record):
    """The finding of one look, and the decision that follows.

    Attributes:
        number: From 1.
        of: How many there are.
        reason: Why the run stops here, or `continue`, or `pending` for trials without a score.
        share: Of the clusters seen so far.
        difference: New minus baseline over the tasks seen so far.
        low: Lower end of the repeated interval: the difference and this look's critical value times
            its standard error. It is valid at any look at which a run stops.
        high: Upper end.
        statistic: Student's t.
        critical: The value it is compared with, on `clusters` - 1 degrees of freedom.
        conditional_power: With which a planned drop would still be found at the last look.
    """

    number: int
    of: int
    reason: Reason
    share: float
    tasks: int
    clusters: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    statistic: float | None = None
    critical: float | None = None
    conditional_power: float | None = None

    @property
    def stops(self) -> bool:
        """Whether the run stops here."""
        return self.reason not in {"continue", "pending"}


def plan_looks(
    tasks: Sequence[Task],
    baseline_scores: Mapping[str, Sequence[float]],
    *,
    looks: int = 5,
    trials: int = 1,
    seed: int = 0,
    baseline: str = "baseline",
    sides: Literal["drop", "difference"] = "drop",
    alpha: float = 0.05,
    futility: float | None = _FUTILITY,
    drop: float | None = None,
    unscored: Literal["wait", "leave_out"] = "wait",
) -> LookPlan:
    """Draw the batches and fix the boundaries of a run, before its first trial.

    Args:
        tasks: The run's tasks.
        baseline_scores: Task id to the outcomes of the run compared with.
        looks: How often to look.
        trials: Trials per task.
        seed: Draws the batches.
        baseline: Name of the run compared with.
        sides: Whether to look for a drop, or for any difference.
        alpha: Error of the test.
        futility: See `LookPlan`.
        drop: The planned drop; by default the smallest that a run of this size can detect (`plan`).
        unscored: See `LookPlan`.

    Raises:
        NotEstimableError: There is no look, or fewer than two clusters per look of tasks with a baseline.
    """
    homes: dict[Hashable, list[str]] = {}
    for task in tasks:
        homes.setdefault(task.template or (task.task_id,), []).append(task.task_id)
    groups = list(homes.values())
    tested = [g for g in groups if any(baseline_scores.get(each) for each in g)]
    if looks < 1 or len(tested) < _LEAST_CLUSTERS * looks:
        raise NotEstimableError(
            f"{looks} looks need at least {_LEAST_CLUSTERS * looks} independent tasks or templates that the "
            f"baseline has scores of, there are {len(tested)}"
        )
    seeded(seed).shuffle(groups)
    cuts = [round(len(groups) * n / looks) for n in range(looks + 1)]
    batches = [groups[a:b] for a, b in pairwise(cuts)]
    shares = [cut / len(groups) for cut in cuts[1:]]
    sizes = Templates.of([len(group) for group in groups])
    below = alpha if sides == "drop" else alpha / 2.0
    known = drop or plan(len(tasks), trials, templates=sizes, level=1.0 - 2.0 * below).detectable
    return LookPlan(
        sides=sides,
        alpha=alpha,
        futility=futility if sides == "drop" else None,
        drop=min(1.0, known),
        seed=seed,
        unscored=unscored,
        batches=tuple(tuple(each for group in batch for each in group) for batch in batches),
        critical=tuple(critical_values(shares, below)),
        clusters={task.task_id: task.template for task in tasks if task.template},
        baseline=baseline,
        baseline_scores={
            key: tuple(float(each >= SUCCESS_SCORE) for each in scores)
            for task in tasks
            if (scores := baseline_scores.get(key := task.task_id))
        },
    )


def look_at(rule: LookPlan, number: int, outcomes: Mapping[str, Sequence[float]]) -> Look:
    """Look at the first `number` batches: a function of the stored rule and outcomes alone.

    Args:
        rule: The plan made before the run.
        number: The look, from 1.
        outcomes: Task id to the outcomes of its scored trials; other batches' are not looked at.
    """
    seen = {key for batch in rule.batches[:number] for key in batch}
    homes = [{rule.clusters.get(key, key) for key in batch} for batch in rule.batches]
    share = sum(map(len, homes[:number])) / sum(map(len, homes))
    new = {key: scores for key, scores in outcomes.items() if key in seen}
    empty = Look(
        number=number, of=len(rule.batches), reason="continue", share=share, tasks=0, clusters=0
    )
    try:
        differences = task_differences(new, rule.baseline_scores)
        test = paired_t(differences, clusters=rule.clusters)
    except NotEstimableError:
        return empty.model_copy(update={"reason": _otherwise(empty, None)})
    z = rule.critical[number - 1]
    critical = -t_quantile(normal_cdf(-z), test.df)
    power = _conditional_power(rule, test, share) if rule.futility is not None else None
    found = empty.model_copy(
        update={
            "tasks": len(differences),
            "clusters": test.clusters,
            "difference": test.mean,
            "low": max(-1.0, test.mean - critical * test.standard_error),
            "high": min(1.0, test.mean + critical * test.standard_error),
            "statistic": test.mean / test.standard_error if test.standard_error else None,
            "critical": critical,
            "conditional_power": power,
        }
    )
    if test.p_drop <= normal_cdf(-z):
        return found.model_copy(
            update={"reason": "regression" if rule.sides == "drop" else "difference"}
        )
    if rule.sides == "difference" and test.p_value / 2.0 <= normal_cdf(-z):
        return found.model_copy(update={"reason": "difference"})
    return found.model_copy(update={"reason": _otherwise(found, rule.futility)})


def _otherwise(found: Look, futility: float | None) -> Reason:
    """Return how the run continues if no boundary was crossed."""
    if found.number == found.of:
        return "complete"
    power = found.conditional_power
    hopeless = futility is not None and power is not None and power < futility
    return "futility" if hopeless else "continue"


def _conditional_power(rule: LookPlan, test: PairedT, share: float) -> float | None:
    """Return the chance to cross the last boundary if the truth is the planned drop."""
    if test.standard_error == 0.0 or share >= 1.0:
        return None
    so_far = -test.mean / test.standard_error * math.sqrt(share)
    drift = rule.drop / (test.standard_error * math.sqrt(share))
    missing = rule.critical[-1] - so_far - drift * (1.0 - share)
    return normal_cdf(-missing / math.sqrt(1.0 - share))


class Looks:
    """The stopping rule that `run --looks` finds by its name."""

    def plan(
        self, tasks: Sequence[Task], info: RunInfo, against: Path, settings: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Return the rule in the form that `run.json` stores, for a run described by `info`.

        Raises:
            InputError: The baseline is of another benchmark, task set, world or profile.
        """
        good = stored_run(against)
        for aspect in _COMPARED:
            mine, other = getattr(info, aspect), getattr(good.info, aspect)
            unstated = aspect == "benchmark_version" and None in {mine, other}
            if mine != other and not unstated:
                raise InputError(
                    f"{against} cannot be compared with: its {aspect.replace('_', ' ')} is {other!r}, "
                    f"this run's {mine!r}"
                )
        known = {
            task: [each for each in scores if each is not None]
            for task, scores in good.scores.items()
        }
        rule = plan_looks(
            tasks,
            known,
            trials=info.trials,
            seed=info.seed,
            baseline=good.info.run_id,
            **settings,  # type: ignore[arg-type] # checked by the command line
        )
        return rule.model_dump(mode="json")

    def batches(self, rule: Mapping[str, JsonValue]) -> list[frozenset[str]]:
        """Return the tasks of each batch, in order."""
        return [frozenset(batch) for batch in LookPlan.model_validate(rule).batches]

    def look(
        self,
        rule: Mapping[str, JsonValue],
        number: int,
        results: Iterable[TrialResult],
        pending: int,
    ) -> Look:
        """Look at the first batches; `pending` trials of them have no score and may run again."""
        known = LookPlan.model_validate(rule)
        found = look_at(known, number, task_successes(results))
        if pending and known.unscored == "wait":
            return found.model_copy(update={"reason": "pending"})
        return found


def looks_of(
    rule: Mapping[str, JsonValue], results: Iterable[TrialResult], trials: int
) -> tuple[Look, ...]:
    """Return the looks up to the stop, of those whose batches have all ended."""
    known = LookPlan.model_validate(rule)
    outcomes = task_successes(kept := list(results))
    ended: dict[str, int] = {}
    for each in kept:
        waits = known.unscored == "wait" and not each.status.done
        ended[each.task_id] = ended.get(each.task_id, 0) + (not waits)
    found: list[Look] = []
    for number, batch in enumerate(known.batches, start=1):
        if any(ended.get(key, 0) < trials for key in batch):
            break
        found.append(look_at(known, number, outcomes))
        if found[-1].stops:
            break
    return tuple(found)
