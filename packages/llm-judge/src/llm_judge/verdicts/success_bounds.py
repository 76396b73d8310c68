"""Success rates as bounds: what the evidence proves, and what it does not disprove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import NonNegativeInt

from bench_core.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench_core.records.judge import Verdict


class SuccessBounds(Record):
    """A success rate as far as the evidence shows.

    Attributes:
        proven: Share of cases that are proven successes.
        not_disproven: Share that is not proven to fail; what lies between is unknown.
        unknown: Share that is neither.
        criteria_unknown: Share of single criteria that are neither.
    """

    schema_version: Literal[1] = 1
    n: NonNegativeInt
    proven: float
    not_disproven: float
    unknown: float
    criteria_unknown: float | None = None

    def __str__(self) -> str:
        return f"[{self.proven:.1%}, {self.not_disproven:.1%}], {self.unknown:.1%} unknown"


def bounds(verdicts: Iterable[Verdict]) -> SuccessBounds:
    """Return the bounds of a success rate; errors are unknown.

    >>> from bench_core.records.judge import Verdict
    >>> given = ("pass", "fail", "abstain", "pass")
    >>> print(bounds(Verdict(case_id=str(n), judge="j", outcome=each) for n, each in enumerate(given)))
    [50.0%, 75.0%], 25.0% unknown
    """
    found = list(verdicts)
    n = max(1, len(found))
    passed = sum(each.outcome == "pass" for each in found)
    failed = sum(each.outcome == "fail" for each in found)
    criteria = [one.verdict for each in found for one in each.criteria]
    return SuccessBounds(
        n=len(found),
        proven=passed / n,
        not_disproven=1 - failed / n,
        unknown=(len(found) - passed - failed) / n,
        criteria_unknown=criteria.count("unknown") / len(criteria) if criteria else None,
    )
