"""Trying a judge on labelled cases, choosing what to label, and scores as bounds."""

from __future__ import annotations

import asyncio
import json
import random
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from test_support.scripted_judges import adversary, fabricator, honest, rubber_stamp, sloppy

from bench_core.errors import InputError
from bench_core.models import Model, ScriptedAdapter
from llm_judge import Judge, JudgeCase, Verdict, bounds, calibrate
from llm_judge.calibration.label_choice import next_to_label, selection_of
from llm_judge.calibration.label_form import label_form
from llm_judge.cli.commands import main
from llm_judge.meta_evaluation.generated_cases import DEFECTS, generated_cases
from llm_judge.meta_evaluation.labelled_set import (
    LabelledCase,
    meta_evaluate,
    read_labelled,
    with_mutants,
)
from llm_judge.verdicts.rates_by_kind import rates_by_kind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llm_judge.meta_evaluation.labelled_set import MetaEvaluation


def seeded(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  # not cryptography


def judge(script: Any) -> Judge:
    return Judge(Model(ScriptedAdapter(script)))


def benched(script: Any, labelled: tuple[LabelledCase, ...]) -> MetaEvaluation:
    return asyncio.run(meta_evaluate(judge(script), labelled))


@pytest.fixture
def lines(tmp_path: Path, case: JudgeCase) -> Callable[..., Path]:
    def write(*changes: dict[str, Any]) -> Path:
        base = json.loads(case.model_dump_json())
        path = tmp_path / "set.jsonl"
        path.write_text(
            "\n".join(json.dumps({**base, **each}) for each in changes), encoding="utf-8"
        )
        return path

    return write


@pytest.mark.parametrize(
    ("script", "share"),
    [(rubber_stamp, 0), (fabricator, 0), (sloppy, 1), (adversary, 1)],
    ids=lambda each: getattr(each, "__name__", str(each)),
)
def test_bench_finds_the_careless_models_that_checks_alone_do_not_stop(
    script: Any, share: float
) -> None:
    report = benched(script, generated_cases(2 * len(DEFECTS), seed=11))
    assert report.false_pass is not None
    assert report.false_pass.n == len(DEFECTS)
    assert report.false_pass.estimate == share
    assert report.fit != "yes"
    assert {row.operator for row in report.rows if row.wrong_states} == set(DEFECTS)


def test_wrong_passes_and_refused_right_ones_stand_side_by_side_by_kind(case: JudgeCase) -> None:
    def verdict(name: str, outcome: str, kind: str) -> tuple[str, Verdict]:
        given = {"case_id": name, "judge": "j", "outcome": outcome, "kind": kind}
        return name[:5], Verdict.model_validate(given)

    given = [
        *[verdict(f"right{n}", "pass", "supported") for n in range(4)],
        *[verdict(f"right-f{n}", "fail", "supported") for n in range(3)],
        *[verdict(f"wrong-p{n}", "pass", "supported") for n in range(2)],
        verdict("wrong-f", "fail", "proven"),
        verdict("right-u", "abstain", "unknown"),
        verdict("right-e", "error", "unknown"),
    ]
    rows = rates_by_kind((which == "right", each) for which, each in given)
    counts = [
        (each.kind, each.right_passed, each.right_refused, each.wrong_passed, each.wrong_refused)
        for each in rows
    ]
    assert counts == [("proven", 0, 0, 0, 1), ("supported", 4, 3, 2, 0), ("unknown", 0, 1, 0, 0)]
    assert all(each.not_checked for each in rows)
    labels = {each.case_id: which == "right" for which, each in given}
    assert calibrate([each for _, each in given], labels).by_kind == rows
    (row,) = benched(honest, (LabelledCase(case, outcome=True),)).by_kind
    assert (row.kind, row.right_passed) == ("supported", 1)


def test_a_judge_that_looks_is_fit_and_its_rows_say_so(case: JudgeCase) -> None:
    cases = tuple(
        LabelledCase(case.model_copy(update={"case_id": f"c{n}"}), outcome=True) for n in range(3)
    )
    report = benched(honest, with_mutants(cases, per_operator=9))
    assert report.false_pass is not None
    assert report.false_pass.estimate == 0
    assert report.outcome is not None
    assert report.outcome.kappa is not None
    assert report.outcome.kappa.estimate == 1
    assert {row.operator for row in report.rows} > {"time", "number", "blank", "as labelled"}


def test_a_judge_that_passes_wrong_states_is_not_to_be_used_unattended(case: JudgeCase) -> None:
    cases = (
        *(
            LabelledCase(case.model_copy(update={"case_id": f"r{n}"}), outcome=True)
            for n in range(6)
        ),
        *(
            LabelledCase(case.model_copy(update={"case_id": f"w{n}"}), outcome=False)
            for n in range(2)
        ),
    )
    report = benched(honest, cases)  # the labels are wrong, or the judge: either way it passes them
    assert (report.fit, report.advice) == (
        "no", "do not use this judge unattended: it passes 100% of wrong states",
    )  # fmt: skip


def test_outcome_and_process_are_told_apart(case: JudgeCase) -> None:
    cases = tuple(
        LabelledCase(case.model_copy(update={"case_id": f"c{n}"}), outcome=True, process=n % 2 == 0)
        for n in range(6)
    )
    report = benched(honest, cases)
    assert report.outcome is not None
    assert report.outcome.false_positive == 0
    assert report.process is not None
    assert report.process.false_positive == 3


def test_a_labelled_set_is_read_and_what_contradicts_itself_is_refused(
    lines: Callable[..., Path],
) -> None:
    read = read_labelled(
        lines(
            {"case_id": "a", "outcome": True, "process": False},
            {"case_id": "b", "outcome": False, "operator": "time"},
        )
    )
    assert [(each.case.case_id, each.outcome, each.process, each.operator) for each in read] == [
        ("a", True, False, "as labelled"), ("b", False, None, "time"),
    ]  # fmt: skip
    with pytest.raises(InputError, match="'a' is labelled true and false"):
        read_labelled(lines({"case_id": "a", "outcome": True}, {"case_id": "a", "outcome": False}))
    with pytest.raises(InputError, match="`outcome`: true or false"):
        read_labelled(lines({"case_id": "a"}))


def test_bench_of_which_every_call_failed_says_nothing_of_the_judge(tmp_path: Path) -> None:
    script = tmp_path / "replies.json"
    script.write_text(json.dumps([{"text": "nonsense"}] * 8), encoding="utf-8")
    result = CliRunner().invoke(
        main, ["bench", "generated:4", "-m", f"scripted:{script}", "-j", "1"]
    )
    assert result.exit_code == 2
    assert "nothing can be said" in result.output


def judged(rng: random.Random, n: int) -> tuple[list[Verdict], dict[str, bool]]:
    verdicts, truth = [], {}
    for number in range(n):
        case = f"c{number}"
        truth[case] = rng.random() < 0.4
        right = rng.random() < 0.97
        outcome = "abstain" if rng.random() < 0.25 else "pass" if truth[case] is right else "fail"
        verdicts.append(Verdict.model_validate({"case_id": case, "judge": "j", "outcome": outcome}))
    return verdicts, truth


def test_labels_of_passes_only_are_noticed_and_no_rate_is_corrected_by_them() -> None:
    verdicts, truth = judged(seeded(1), 120)
    passes = [each.case_id for each in verdicts if each.outcome == "pass"]
    report = calibrate(verdicts, {case: truth[case] for case in passes})
    assert report.selection is not None
    assert report.selection.biased
    assert report.corrected is None
    assert "label some of each verdict" in report.refused["corrected"]


def test_labels_chosen_by_verdict_are_corrected_by_verdict() -> None:
    verdicts, truth = judged(seeded(2), 200)
    chosen = next_to_label(verdicts, {}, 60)
    report = calibrate(verdicts, {case: truth[case] for case in chosen}, by_verdict=True)
    assert report.corrected is not None
    assert report.corrected.these_results.method.startswith("stratified by verdict")
    plain = calibrate(verdicts, {case: truth[case] for case in chosen}).corrected
    assert plain is not None
    here = report.corrected.these_results
    assert here.high - here.low < plain.these_results.high - plain.these_results.low


def test_every_verdict_gets_labels() -> None:
    verdicts, _ = judged(seeded(5), 200)
    outcome = {each.case_id: each.outcome for each in verdicts}
    chosen = [outcome[case] for case in next_to_label(verdicts, {}, 40)]
    for each in ("pass", "fail"):
        there = sum(one == each for one in outcome.values()) / 200
        assert chosen.count(each) >= int(0.7 * 40 * there)


def test_random_labels_are_taken_for_what_they_are() -> None:
    rng = seeded(3)
    noticed = 0
    for _ in range(40):
        verdicts, truth = judged(rng, 120)
        labels = {case: truth[case] for case in rng.sample(sorted(truth), 40)}
        noticed += selection_of(verdicts, labels).biased
    assert noticed <= 7  # one in twenty by chance


def test_the_next_labels_go_where_the_judge_is_unsure_and_are_not_asked_twice() -> None:
    verdicts, truth = judged(seeded(4), 200)
    first = next_to_label(verdicts, {}, 20)
    unsure = {each.case_id for each in verdicts if each.outcome == "abstain"}
    assert len(unsure) < 0.3 * 200
    assert sum(case in unsure for case in first) > 20 * len(unsure) / 200  # more than their share
    again = next_to_label(verdicts, {case: truth[case] for case in first}, 20)
    assert not set(first) & set(again)
    assert next_to_label(verdicts, {}, 20) == first


def test_labels_of_cases_of_which_the_judge_said_nothing_choose_no_others() -> None:
    verdicts, truth = judged(seeded(4), 200)
    failed = [each.model_copy(update={"outcome": "error"}) for each in verdicts[:60]]
    labels = {each.case_id: truth[each.case_id] for each in failed}
    chosen = next_to_label([*failed, *verdicts[60:]], labels, 20)
    assert chosen == next_to_label(verdicts[60:], {}, 20)


class Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.fetched += [str(value) for name, value in attrs if name in {"src", "href"}]


def test_the_form_is_one_file_that_fetches_nothing_and_no_text_ends_its_script(
    case: JudgeCase,
) -> None:
    planted = case.model_copy(update={"goal": "</script><script>alert(1)</script>"})
    form = Form()
    form.feed(label_form([planted]))
    assert (form.scripts, form.fetched) == (1, [])


def test_labels_are_asked_for_at_the_terminal_and_kept(
    tmp_path: Path, lines: Callable[..., Path], case: JudgeCase
) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text("\n".join(
        case.model_copy(update={"case_id": name}).model_dump_json() for name in ("a", "b", "c")
    ), encoding="utf-8")  # fmt: skip
    verdicts = tmp_path / "verdicts.jsonl"
    verdicts.write_text("".join(
        Verdict(case_id=name, judge="j", outcome="abstain").model_dump_json() + "\n" for name in ("a", "b", "c")
    ), encoding="utf-8")  # fmt: skip
    labels = tmp_path / "labels.jsonl"
    asked = ["label", str(cases), str(verdicts), "--labels", str(labels)]
    result = CliRunner().invoke(
        main, [*asked, "--next", "2"], input="y\nn\n", catch_exceptions=False
    )
    assert "2 labels added" in result.output
    assert len(labels.read_text(encoding="utf-8").splitlines()) == 2
    assert len(CliRunner().invoke(main, [*asked, "--list"]).output.split()) == 1
    html = tmp_path / "form.html"
    assert CliRunner().invoke(main, [*asked, "--html", str(html)]).exit_code == 0
    assert "Book a table" in html.read_text(encoding="utf-8")


def test_scores_are_bounds_between_what_passed_and_what_did_not_fail() -> None:
    given = ("pass", "fail", "abstain", "error")
    found = bounds(
        Verdict.model_validate({"case_id": str(n), "judge": "j", "outcome": each})
        for n, each in enumerate(given)
    )
    assert (found.passed, found.not_failed, found.unknown) == (0.25, 0.75, 0.5)


def test_rates_come_with_what_the_verdicts_rest_on() -> None:
    criteria = [
        {"criterion_id": "a", "verdict": "pass", "kind": "proven"},
        {"criterion_id": "b", "verdict": "fail", "kind": "supported"},
        {"criterion_id": "c", "verdict": "unknown"},
    ]
    given = {"case_id": "1", "judge": "j", "outcome": "fail", "criteria": criteria}
    assert bounds([Verdict.model_validate(given)]).kinds == {
        "proven": 1,
        "supported": 1,
        "unknown": 1,
    }
