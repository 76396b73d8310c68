"""Query and judge held apart, against each other and against the truth."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.statistics import wilson

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Builds, Results, Runs


Read = bool | None


def stored(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def test_a_run_without_a_judge_has_no_audit(run: Runs, build: Builds) -> None:
    built = build(run())

    assert built.report.runs[0].audit is None
    assert "Query and judge apart" not in built.html


def test_query_judge_and_combined_are_counted_apart(judged_run: Runs, build: Builds) -> None:
    folder = judged_run()
    audit = build(folder).report.runs[0].audit
    assert audit is not None

    read = [tuple(check["passed"] for check in r["checks"]) for r in stored(folder)]
    counts = Counter(read)
    decided = [judge for _, judge in read if judge is not None]
    rates = {
        "query_only": (sum(query for query, _ in read), len(read)),
        "judge_only": (sum(decided), len(decided)),
        "combined": (sum(bool(query or judge) for query, judge in read), len(read)),
    }
    for name, (passed, trials) in rates.items():
        found = getattr(audit, name)
        assert found.trials == trials
        assert found.interval.estimate == pytest.approx(passed / trials)
        assert found.interval.low == pytest.approx(wilson(passed, trials).low, abs=0.01)
    assert (audit.both_pass, audit.only_query) == (counts[True, True], counts[True, False])
    assert (audit.only_judge, audit.both_fail) == (counts[False, True], counts[False, False])
    assert audit.lifted == counts[False, True]


def test_where_no_judge_took_part_the_score_is_the_querys(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [
        scored_result("a", 1, 1.0),
        scored_result("b", 1, 1.0,
                    checks=[check("query", passed=False), check("judge", passed=True)]),
        scored_result("c", 1, 0.0,
                    checks=[check("query", passed=False), check("judge", passed=False)]),
    ]  # fmt: skip

    report = build(scored_run({key: [1] for key in "abc"}, results=results)).report
    audit = report.runs[0].audit

    assert audit is not None
    assert audit.query_only.interval is not None
    assert audit.query_only.interval.estimate == pytest.approx(1 / 3)
    assert (audit.query_only.trials, audit.judge_only.trials, audit.lifted) == (3, 2, 1)
    assert "judge_lifted" in {each.code for each in report.caveats}


def test_the_reported_rate_is_corrected_where_failures_are_known(
    judged_run: Runs, build: Builds
) -> None:
    folder = judged_run(known=40)
    built = build(folder)
    audit = built.report.runs[0].audit
    assert audit is not None
    assert audit.corrected is not None
    assert audit.known == 40

    raw = sum(r["success"] for r in stored(folder)) / 68
    assert audit.corrected.new_tasks.estimate < raw  # the judge's slips can only have raised it
    for text in (built.html, built.markdown):
        assert f"{audit.corrected.new_tasks.estimate:.1%}" in text


def test_successes_alone_correct_nothing_and_the_report_says_why(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [
        scored_result(
            f"t{n}",
            1,
            float(n % 2),
            checks=[check("judge", passed=bool(n % 2))],
            details={"ground_truth": True} if n == 1 else {},
        )
        for n in range(20)
    ]
    built = build(scored_run({f"t{n}": [1] for n in range(20)}, results=results))

    audit = built.report.runs[0].audit
    assert audit is not None
    assert audit.corrected is None
    assert "no known case is a failure" in (audit.refused or "")
    assert "no known case is a failure" in built.markdown
    told = {each.code for each in built.report.caveats}
    assert "judge_unvalidated" in told
    assert "judge_lifted" not in told


def check(by: str | None, *, passed: Read, kind: str | None = None) -> dict[str, Any]:
    return {"criterion": "it was sent", "passed": passed, "decided_by": by, "kind": kind}


BY_KIND: tuple[tuple[list[tuple[Read, str]], Read], ...] = (
    # checks of the judge with their kinds, and the truth
    ([(True, "proven"), (True, "supported")], False),  # a pass is of its weakest kind
    ([(True, "proven")], True),
    ([(False, "opinion"), (False, "proven"), (True, "supported")], True),  # a fail of its strongest
    ([(False, "supported")], None),
    ([(True, "supported"), (None, "unknown")], True),
    ([(None, "unknown")], False),
)


def test_a_judges_verdicts_are_counted_by_what_they_rest_on(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    results = [
        scored_result(
            f"t{n}", 1, 0.0,
            checks=[check("judge", passed=passed, kind=kind) for passed, kind in judged],
            details={} if truth is None else {"ground_truth": truth},
        )
        for n, (judged, truth) in enumerate(BY_KIND)
    ]  # fmt: skip
    built = build(scored_run({f"t{n}": [1] for n in range(6)}, results=results))

    audit = built.report.runs[0].audit
    assert audit is not None
    assert [tuple(each.model_dump().values()) for each in audit.kinds] == [
        # passed, failed, undecided, wrong passes, refused right ones, truth known
        ("proven", 1, 1, 0, 0, 1, 2),
        ("supported", 1, 1, 0, 1, 0, 1),
        ("unknown", 0, 0, 2, 0, 1, 2),
    ]
    assert "| supported | 1 | 1 | 0 | 1 | 0 | 1 |" in built.markdown
    assert "Refused right ones" in built.html


def test_checks_that_name_no_kind_give_no_table_of_kinds(judged_run: Runs, build: Builds) -> None:
    built = build(judged_run())
    assert built.report.runs[0].audit is not None
    assert built.report.runs[0].audit.kinds == ()
    assert "Refused right ones" not in built.html


CHECKS = {
    "lifted": ([check("query", passed=False), check("judge", passed=True)], False, "pass"),
    "agreed": ([check("both", passed=True), check("both", passed=True)], True, "pass"),
    "torn": (
        [check("both", passed=True), check("query", passed=True), check("judge", passed=False)],
        True,
        "fail",
    ),
    "graded": ([check("query", passed=True), check("judge", passed=False)], True, "fail"),
    "judge-alone": ([check("judge", passed=True)], None, "pass"),
    "abstained": ([check("query", passed=False), check("judge", passed=None)], False, "abstain"),
    "script": ([check("script", passed=True), check("judge", passed=True)], True, "pass"),
    "not-stated": ([check(None, passed=False), check("judge", passed=True)], None, "pass"),
}


@pytest.mark.parametrize(("checks", "query", "outcome"), CHECKS.values(), ids=CHECKS.keys())
def test_checks_distinguish_query_and_judge(
    checks: list[dict[str, Any]], query: Read, outcome: str,
    scored_run: Runs, scored_result: Results, build: Builds,
) -> None:  # fmt: skip
    # the score beside the checks says something else, and is not asked
    results = [scored_result("a", 1, 0.0, checks=checks)]
    audit = build(scored_run({"a": [1]}, results=results)).report.runs[0].audit

    assert audit is not None
    assert audit.outcomes == {outcome: 1}
    assert audit.query_only.trials == (0 if query is None else 1)
    assert audit.judge_only.trials == (0 if outcome == "abstain" else 1)
    agreement = (audit.both_pass, audit.only_query, audit.only_judge, audit.both_fail)
    pair = (query, {"pass": True, "fail": False}.get(outcome))
    order = [(True, True), (True, False), (False, True), (False, False)]
    assert agreement == tuple(int(pair == each) for each in order)


def test_rate_by_query_counts_no_graded_answer(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    graded = [check("query", passed=True), check("judge", passed=False)]
    results = [
        scored_result("a", 1, 1.0, checks=[check("query", passed=True)]),
        *(scored_result(name, 1, 0.0, checks=graded) for name in "bcd"),
    ]
    audit = build(scored_run({key: [1] for key in "abcd"}, results=results)).report.runs[0].audit

    assert audit is not None
    assert audit.query_only.interval is not None
    assert audit.query_only.interval.estimate == 1.0
    assert audit.combined.interval is not None
    assert audit.combined.interval.estimate == 0.25
    assert audit.judge_only.trials == 3


def test_judge_that_failed_is_distinguished_from_one_that_abstained(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    checks = [check("query", passed=True), check("judge", passed=None)]
    results = [scored_result("a", 1, 1.0, checks=checks, flags=["judge_error"])]
    audit = build(scored_run({"a": [1]}, results=results)).report.runs[0].audit

    assert audit is not None
    assert audit.outcomes == {"error": 1}


def test_methods_are_listed_with_how_sure_they_are(judged_run: Runs, build: Builds) -> None:
    folder = judged_run()
    rows = build(folder).report.runs[0].methods

    for row in rows:
        own = [r for r in stored(folder) if r["method"] == row.method]
        assert (row.scored, row.passed) == (len(own), sum(r["success"] for r in own))
        assert row.confidence.get("high", 0) == sum(r["confidence"] == 0.95 for r in own)
        assert row.confidence.get("low", 0) == sum(r["confidence"] == 0.5 for r in own)
    assert sum(row.scored for row in rows) == 68


def test_hostile_details_are_no_verdict(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    hostile: list[Any] = [[], {}, {"outcome": []}, 7, "", {"outcome": {"pass": 1}}, "<b>", None]
    results = [
        scored_result(
            f"t{n}",
            1,
            1.0,
            checks=[check("judge", passed=None)],
            details={"ground_truth": each, "confidence": each},
        )
        for n, each in enumerate(hostile)
    ]
    built = build(scored_run({f"t{n}": [1] for n in range(len(hostile))}, results=results))

    audit = built.report.runs[0].audit
    assert audit is not None
    assert audit.judge_only.trials == 0
    assert audit.known == 0
