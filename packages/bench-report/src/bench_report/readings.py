"""What else a run's success can be read as, beside its headline."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.statistics import Estimand, Interval, Rate, Summary
    from bench_report.model import Report

__all__ = ["Reading", "ReadingValue", "readings"]


class ReadingValue(NamedTuple):
    """What one run reads."""

    run: int
    value: float | None
    interval: Interval | None
    refused: str | None


class Reading(NamedTuple):
    """Another way to look at the runs' success, with its value in each run."""

    name: str
    about: str
    values: list[ReadingValue]

    @property
    def refused(self) -> str | None:
        """The reason that all runs share for having no interval, if they do."""
        reasons = {each.refused for each in self.values}
        return reasons.pop() if len(reasons) == 1 else None


def readings(report: Report) -> list[Reading]:
    """Return the readings that say more than the headline, each over the runs that have it."""
    found: dict[str, Reading] = {}
    for index, run in enumerate(report.runs):
        for name, about, value in _readings_of(run.summary):
            reading = found.setdefault(name, Reading(name, about, []))
            reading.values.append(value._replace(run=index))
    return list(found.values())


def _readings_of(summary: Summary) -> Iterator[tuple[str, str, ReadingValue]]:
    success, strict = summary.success, summary.strict
    again = _value(success, "same_tasks")
    yield "These tasks again", "the same tasks, run once more", again
    if summary.macro_average:
        average = _value(summary.macro_average)
        yield "Template average", "every template counts the same", average
    if strict.trials != success.trials:
        yield "Strict", "trials without a score count as failures", _value(strict)
    if summary.without_suspects:
        about = "trials whose score may not be the agent's own doing are left out"
        yield "Without suspects", about, _value(summary.without_suspects)
    if summary.score:
        yield "Mean score", "partial scores count in part", _value(summary.score)
    for rate in summary.pass_rates:
        if rate.k > 1:
            any_, every = rate.pass_at_k, rate.pass_hat_k
            about = f"at least one of {rate.k} trials succeeds"
            yield f"pass@{rate.k}", about, ReadingValue(0, any_.estimate, any_, None)
            about = f"all of {rate.k} trials succeed"
            yield f"pass^{rate.k}", about, ReadingValue(0, every.estimate, every, None)


def _value(rate: Rate, estimand: Estimand = "new_tasks") -> ReadingValue:
    found = rate.new_tasks if estimand == "new_tasks" else rate.same_tasks
    return ReadingValue(0, rate.estimate, found, rate.refused.get(estimand))
