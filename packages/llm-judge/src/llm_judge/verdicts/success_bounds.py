"""Success rates as bounds, with the basis of the verdicts behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pydantic import Field, NonNegativeInt

from bench_core.records import Record
from bench_core.records.judge import Verdict
from bench_core.records.vocabulary import VerdictKind


class SuccessBounds(Record):
    """A success rate as far as the evidence shows.

    Attributes:
        passed: Share of cases that pass.
        not_failed: Share that does not fail; the truth lies between the two.
        unknown: Share that is neither.
        kinds: Criteria by the basis of their verdicts.
    """

    schema_version: Literal[1] = 1
    n: NonNegativeInt
    passed: float
    not_failed: float
    unknown: float
    kinds: dict[VerdictKind, NonNegativeInt] = Field(default_factory=dict)

    def __str__(self) -> str:
        return f"[{self.passed:.1%}, {self.not_failed:.1%}], {self.unknown:.1%} unknown"


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
    return SuccessBounds(
        n=len(found),
        passed=passed / n,
        not_failed=1 - failed / n,
        unknown=(len(found) - passed - failed) / n,
        kinds=dict(Counter(one.kind for each in found for one in each.criteria)),
    )
