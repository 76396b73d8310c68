"""How often verdicts of each kind are wrong, on labelled cases: wrong passes and refused right ones side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from pydantic import NonNegativeInt

from bench_core.records import Record
from bench_core.records.judge import Verdict
from bench_core.records.vocabulary import VerdictKind
from llm_judge.records import NOT_CHECKED


class KindRow(Record):
    """The outcomes of verdicts of one kind on labelled cases; the kind `unknown` has those without a verdict.

    Attributes:
        wrong_passed: Wrong states that passed.
        right_refused: Right states that failed, or were left without a verdict.
        not_checked: The questions that a verdict of this kind leaves unchecked.
    """

    kind: VerdictKind
    right_passed: NonNegativeInt = 0
    right_refused: NonNegativeInt = 0
    wrong_passed: NonNegativeInt = 0
    wrong_refused: NonNegativeInt = 0
    not_checked: str


def rates_by_kind(judged: Iterable[tuple[bool, Verdict]]) -> tuple[KindRow, ...]:
    """Return a row for each kind that occurs; verdicts that failed by an error are left out.

    Args:
        judged: Whether a case is truly a success, and its verdict.
    """
    found = Counter(
        (verdict.kind, right, verdict.outcome == "pass")
        for right, verdict in judged
        if verdict.outcome != "error"
    )
    return tuple(
        KindRow(
            kind=kind,
            right_passed=found[kind, True, True],
            right_refused=found[kind, True, False],
            wrong_passed=found[kind, False, True],
            wrong_refused=found[kind, False, False],
            not_checked=NOT_CHECKED[kind],
        )
        for kind in get_args(VerdictKind)
        if any(of == kind for of, *_ in found)
    )
