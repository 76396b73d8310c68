"""The reasons that checks have where a judge agrees with a query, and where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from bench_core.records import Check
from bench_core.records.judge import CriterionVerdict, Verdict
from multireal_harness.eval_rules.judge_checks import criterion_id, with_judgement


@pytest.mark.parametrize(
    ("own", "judges", "reasons"),
    [
        ("", "it was sent", ["it was sent"]),
        ("one mail", "it was sent", ["one mail"]),
        ("one mail", "", ["one mail"]),
        ("", "", [None]),
    ],
)
def test_a_check_that_a_judge_confirms_keeps_its_own_reason_before_the_judges(
    own: str, judges: str, reasons: list[str | None]
) -> None:
    found = with_judgement([check(own, passed=True)], verdict("pass", judges))
    assert [(each.decided_by, each.reason) for each in found] == [
        ("both", each) for each in reasons
    ]


@pytest.mark.parametrize(("judges", "reason"), [("no mail", "no mail"), ("", None)])
def test_a_judge_that_differs_has_a_check_with_its_reason(judges: str, reason: str | None) -> None:
    own, other = with_judgement([check("one mail", passed=True)], verdict("fail", judges))
    assert (own.passed, own.reason) == (True, "one mail")
    assert (other.decided_by, other.passed, other.reason) == ("judge", False, reason)


def check(reason: str, *, passed: bool) -> Check:
    return Check(
        criterion="a mail was sent", passed=passed, reason=reason or None, decided_by="query"
    )


def verdict(outcome: Any, reason: str) -> Verdict:
    one = CriterionVerdict(criterion_id=criterion_id(0), verdict=outcome, reason=reason)
    return Verdict(case_id="a", judge="one", outcome=outcome, criteria=(one,))
