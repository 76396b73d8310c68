"""Other rates of a run than its headline: strict, on these tasks again, by template, mean score, pass@k."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bench_core.statistics import Estimand, Interval, Rate
from bench_report.model import Report, RunReport


class VariantValue(NamedTuple):
    """The rate of one run."""

    run: int
    value: float | None
    interval: Interval | None
    refused: str | None


class RateVariant(NamedTuple):
    """Another rate than the headline, with its value in each run."""

    name: str
    about: str
    values: list[VariantValue]

    @property
    def refused(self) -> str | None:
        """The reason that all runs share for having no interval, if they do."""
        reasons = {each.refused for each in self.values}
        return reasons.pop() if len(reasons) == 1 else None


def rate_variants(report: Report) -> list[RateVariant]:
    """Return the variants that add to the headline, each over the runs that have it."""
    found: dict[str, RateVariant] = {}
    for index, run in enumerate(report.runs):
        for name, about, value in _variants_of(run):
            variant = found.setdefault(name, RateVariant(name, about, []))
            variant.values.append(value._replace(run=index))
    return list(found.values())


def _variants_of(run: RunReport) -> Iterator[tuple[str, str, VariantValue]]:
    summary = run.summary
    success, strict = summary.success, summary.strict
    again = _value(success, "same_tasks")
    yield "These tasks again", "the same tasks, run once more", again
    if summary.macro_average:
        average = _value(summary.macro_average)
        yield "Template average", "every template counts the same", average
    if strict.trials != success.trials:  # else every trial has a score, and both rates are one
        yield "Strict", "trials without a score count as failures", _value(strict)
    if summary.bounds and summary.bounds.unknown:
        about = "planned trials without a score count as failures"
        yield "Proven", about, VariantValue(0, summary.bounds.proven, None, None)
        about = "planned trials without a score count as successes"
        yield "Not disproven", about, VariantValue(0, summary.bounds.not_disproven, None, None)
    if summary.without_suspects:
        about = "trials whose score may not be the agent's own doing are left out"
        yield "Without suspects", about, _value(summary.without_suspects)
    if summary.score:
        yield "Mean score", "partial scores count in part", _value(summary.score)
    for passed in summary.pass_rates:
        if passed.k > 1:  # pass@1 is the success rate itself
            any_, every = passed.pass_at_k, passed.pass_hat_k
            about = f"at least one of {passed.k} trials succeeds"
            yield f"pass@{passed.k}", about, VariantValue(0, any_.estimate, any_, None)
            about = f"all of {passed.k} trials succeed"
            yield f"pass^{passed.k}", about, VariantValue(0, every.estimate, every, None)
    doubts = run.checkers
    for name, about, rate in (
        (
            "Voids as zero",
            "trials that their agent's own act left without a score count as failures",
            run.integrity.voids_as_zero if run.integrity else None,
        ),
        (
            "Unneeded acts as failures",
            "solved trials with an act that no right solution needs count as failures",
            doubts.shown_as_failures if doubts else None,
        ),
        (
            "Doubted passes as failures",
            "so do those of tasks whose checker accepts what the trial's files do not rule out",
            doubts.all_as_failures if doubts else None,
        ),
    ):
        if rate is not None:
            estimate = rate.interval.estimate if rate.interval else None
            yield name, about, VariantValue(0, estimate, rate.interval, rate.refused)


def _value(rate: Rate, estimand: Estimand = "new_tasks") -> VariantValue:
    found = rate.new_tasks if estimand == "new_tasks" else rate.same_tasks
    return VariantValue(0, rate.estimate, found, rate.refused.get(estimand))
