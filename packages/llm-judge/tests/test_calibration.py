from __future__ import annotations

import json
import math
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError, NotEstimableError
from bench_core.records.judge import Verdict
from llm_judge import calibrate
from llm_judge.calibration.curves import isotonic, roc_curve
from llm_judge.calibration.labels import read_labels
from llm_judge.calibration.report import (
    JudgeCalibration,
    load_calibration,
    save_calibration,
)

if TYPE_CHECKING:
    from pathlib import Path


def verdict(case: str, outcome: str, raw: float | None = None, **identity: str) -> Verdict:
    return Verdict.model_validate(
        {"case_id": case, "judge": "llm-judge", "outcome": outcome, "raw_confidence": raw,
         "fingerprint": {"model": "m", **identity}}
    )  # fmt: skip


def table(
    passed_true: int, failed_true: int, passed_false: int, failed_false: int
) -> tuple[list[Verdict], dict[str, bool]]:
    """Verdicts and labels with the given confusion table."""
    verdicts, labels = [], {}
    for outcome, truth, count in (
        ("pass", True, passed_true), ("fail", True, failed_true),
        ("pass", False, passed_false), ("fail", False, failed_false),
    ):  # fmt: skip
        for _ in range(count):
            case = f"c{len(verdicts)}"
            verdicts.append(verdict(case, outcome))
            labels[case] = truth
    return verdicts, labels


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [((20, 10, 5, 15), 0.4), ((45, 25, 15, 15), 0.1304), ((25, 5, 35, 35), 0.2593)],
    ids=["Cohen's grant example", "same agreement, first", "same agreement, second"],
)
def test_kappa_is_that_of_the_textbook(cells: tuple[int, int, int, int], kappa: float) -> None:
    report = calibrate(*table(*cells))
    assert report.accuracy is not None
    assert report.accuracy.kappa is not None
    assert report.accuracy.kappa.estimate == pytest.approx(kappa, abs=5e-5)


def test_precision_recall_and_specificity_follow_from_the_table() -> None:
    report = calibrate(*table(40, 10, 20, 30))
    assert report.precision is not None
    assert report.false_pass is not None
    assert report.accuracy is not None
    assert report.accuracy.sensitivity is not None
    assert report.accuracy.specificity is not None
    found = [
        each.estimate
        for each in (
            report.precision, report.accuracy.sensitivity, report.accuracy.specificity,
            report.false_pass,
        )
    ]  # fmt: skip
    assert found == pytest.approx([2 / 3, 0.8, 0.6, 0.4])


def test_ece_and_brier_are_those_of_the_published_example() -> None:
    # the example of torchmetrics.classification.BinaryCalibrationError
    cases = [(0.25, False), (0.25, False), (0.55, True), (0.75, True), (0.75, True)]
    verdicts = [verdict(f"c{n}", "pass", raw) for n, (raw, _) in enumerate(cases)]
    report = calibrate(verdicts, {f"c{n}": right for n, (_, right) in enumerate(cases)})
    assert report.reliability is not None
    assert report.reliability.expected_error == pytest.approx(0.29)
    assert report.reliability.brier.estimate == pytest.approx(0.0905)


def test_rogan_gladen_is_that_of_the_published_example() -> None:
    # arXiv 2511.21140: judged 40%, specificity 0.80, sensitivity 0.90: truly 28.6%
    verdicts, labels = table(9, 1, 2, 8)
    verdicts += [verdict(f"u{n}", "pass" if n < 29 else "fail") for n in range(80)]
    report = calibrate(verdicts, labels)
    assert report.corrected is not None
    assert report.corrected.judged.estimate == pytest.approx(0.4)
    assert report.corrected.rogan_gladen is not None
    assert report.corrected.rogan_gladen.estimate == pytest.approx(0.2857, abs=5e-5)


def test_the_roc_curve_goes_through_its_points() -> None:
    curve = roc_curve([0.1, 0.4, 0.35, 0.8], [False, False, True, True])
    assert curve.points == ((0.0, 0.0), (0.0, 0.5), (0.5, 0.5), (0.5, 1.0), (1.0, 1.0))
    assert curve.area == 0.75
    with pytest.raises(NotEstimableError):
        roc_curve([0.1], [True])


def test_abstentions_and_errors_are_counted_and_enter_no_confusion() -> None:
    verdicts, labels = table(5, 0, 0, 5)
    for case, outcome in (("x", "abstain"), ("y", "void"), ("z", "error")):
        verdicts.append(verdict(case, outcome))
        labels[case] = False
    report = calibrate(verdicts, labels)
    assert report.outcomes == {"pass": 5, "fail": 5, "abstain": 1, "void": 1, "error": 1}
    assert report.accuracy is not None
    assert report.accuracy.true_negative == 5
    assert (report.decided.estimate, report.labelled) == (10 / 13, 13)
    assert report.false_pass is not None
    assert report.false_pass.n == 7


def test_the_last_verdict_on_a_case_counts() -> None:
    report = calibrate([verdict("a", "error"), verdict("a", "pass")], {"a": True})
    assert report.outcomes == {"pass": 1}


def test_verdicts_of_different_judges_are_not_mixed() -> None:
    with pytest.raises(InputError, match="different judges \\(second: '' and 'n'\\)"):
        calibrate([verdict("a", "pass"), verdict("b", "pass", second="n")], {"a": True})


def test_without_a_labelled_verdict_there_is_nothing_to_say() -> None:
    with pytest.raises(NotEstimableError, match="case ids"):
        calibrate([verdict("a", "pass")], {"b": True})


def test_without_a_known_failure_the_rate_is_not_corrected() -> None:
    report = calibrate(*table(5, 1, 0, 0))
    assert report.corrected is None
    assert "no known case is a failure" in report.refused["corrected"]


def overconfident(count: int, seed: int) -> tuple[list[Verdict], dict[str, bool]]:
    """A judge that says 0.95 and is right in 70% of cases, or 0.6 and is right in 55%."""
    rng = random.Random(seed)  # noqa: S311  # not cryptography
    verdicts, labels = [], {}
    for n in range(count):
        sure = rng.random() < 0.5
        right = rng.random() < (0.7 if sure else 0.55)
        passed = rng.random() < 0.5
        verdicts.append(verdict(f"c{n}", "pass" if passed else "fail", 0.95 if sure else 0.6))
        labels[f"c{n}"] = passed == right
    return verdicts, labels


def test_calibration_makes_an_overconfident_judge_honest() -> None:
    report = calibrate(*overconfident(600, 1))
    assert report.reliability is not None
    assert report.reliability_after is not None
    assert report.reliability.expected_error > 0.12
    assert report.reliability_after.expected_error < 0.06
    assert report.calibration is not None
    assert report.calibration.confidence("pass", 0.95) == pytest.approx(0.7, abs=0.08)
    assert report.calibration.confidence("fail", 0.95) == pytest.approx(0.7, abs=0.08)
    assert report.calibration.confidence("abstain", 0.95) is None


def test_too_few_labels_make_no_confidence() -> None:
    report = calibrate(*overconfident(12, 1))
    assert report.calibration is None
    assert "needs 20 decided cases" in report.refused["calibration"]


def test_cases_with_one_score_share_one_chance() -> None:
    assert isotonic([0.5] * 4, [True, False, True, True]) == ([0.5], [0.7])


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60))
def test_calibrated_chances_never_fall_as_the_score_rises(cases: list[tuple[float, bool]]) -> None:
    scores, chances = isotonic([s for s, _ in cases], [label for _, label in cases])
    assert chances == sorted(chances)
    assert scores == sorted(scores)
    assert all(0.0 < each < 1.0 for each in chances)
    fitted = JudgeCalibration(
        identity={}, scores=tuple(min(1.0, each) for each in scores), chances=tuple(chances), n=1
    )
    assert chances[0] <= fitted.chance(0.5) <= chances[-1]


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = JudgeCalibration(identity={"model": "m"}, scores=(0.1, 0.9), chances=(0.2, 0.7), n=30)
    save_calibration(written, tmp_path / "calibration.json")
    assert load_calibration(tmp_path / "calibration.json") == written
    with pytest.raises(InputError, match="not a calibration"):
        load_calibration(_file(tmp_path, "other.json", "{}"))


def _file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("l.jsonl", '{"case_id": "a", "passed": true}\n\n{"case_id": "b", "passed": false}\n'),
        ("l.csv", "case_id,passed\na,yes\nb,0\n"),
        ("l.json", json.dumps({"a": True, "b": False})),
        ("m.json", json.dumps([{"case_id": "a", "passed": 1}, {"case_id": "b", "passed": "fail"}])),
    ],
)
def test_labels_are_read_from_files_people_have(tmp_path: Path, name: str, text: str) -> None:
    assert read_labels(_file(tmp_path, name, text)) == {"a": True, "b": False}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("l.jsonl", "not json", "line 1: not JSON, so no label"),
        ("l.jsonl", '{"case_id": "a", "passed": 1}\n7\n', "line 2: no label"),
        ("l.jsonl", '{"case_id": "a"}', "passed"),
        ("l.json", "{", "not JSON, so no label"),
        ("l.json", "[" * 100_000, "not JSON, so no label"),
        ("l.json", '[{"case_id": "a", "passed": 1}, {}]', "label 2: no label"),
        ("l.json", "7", "no label"),
        ("l.csv", "case_id,verdict\na,1\n", "line 2: no label"),
        ("l.csv", "case_id,passed\n" + "a" * 200_000 + ",1\n", "no CSV, so no label"),
        ("l.csv", "case_id,passed\na,maybe\n", "'maybe' is neither true nor false"),
        (
            "l.json",
            json.dumps([{"case_id": "a", "passed": 1}, {"case_id": "a", "passed": 0}]),
            "decide",
        ),
        ("l.jsonl", "", "holds no label"),
    ],
)
def test_labels_that_cannot_be_read_are_an_input_error(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_labels(_file(tmp_path, name, text))


def simulated(rng: random.Random, rate: float, sensitivity: float, specificity: float) -> Any:
    """One study: 150 judged cases, 50 of them labelled at random."""
    verdicts, truths = [], {}
    for n in range(150):
        truth = rng.random() < rate
        passed = rng.random() < (sensitivity if truth else 1 - specificity)
        verdicts.append(verdict(f"c{n}", "pass" if passed else "fail"))
        truths[f"c{n}"] = truth
    known = rng.sample(sorted(truths), 50)
    return calibrate(verdicts, {case: truths[case] for case in known})


@pytest.mark.slow
def test_corrected_intervals_cover_the_true_rate() -> None:
    rng = random.Random(4)  # noqa: S311  # not cryptography
    rate, sensitivity, specificity = 0.3, 0.9, 0.8  # more of them in benchmarks/bench_correction.py
    runs = 120
    covered = judged = 0
    for _ in range(runs):
        found = simulated(rng, rate, sensitivity, specificity).corrected
        if found is None:
            continue
        covered += found.new_tasks.low <= rate <= found.new_tasks.high
        judged += found.judged.low <= rate <= found.judged.high
    # 95% less three standard errors of the simulation
    assert covered / runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert judged < covered
