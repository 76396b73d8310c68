from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import InputError
from bench_core.records import Status, Task, TrialResult
from bench_core.records.judge import Verdict
from bench_core.statistics import accuracy, wilson
from bench_core.testing import make_run
from multireal_harness.definitions import Definition
from multireal_harness.export import export_plan
from multireal_harness.ground_truth import claim_examples
from multireal_harness.ground_truth.generation import harvest, known_tasks
from multireal_harness.ground_truth.validation import (
    corrected_rate,
    find_truth,
    validate_ground_truth,
)
from multireal_harness.tasks import load_definitions, task_of

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "length(mail.differences.emails.added) >= `1`"
DONE = {
    "mail": {
        "differences": {"emails": {"added": [{"id": "1", "subject": "Hi"}]}},
        "initialstate": {},
    }
}
UNDONE = {"mail": {"differences": {"emails": {"added": []}}, "initialstate": {}}}


def definition(name: str = "mail-1", **changes: Any) -> Definition:
    one = {"query": QUERY, "expected_value": True, "description": "Verify.", **changes}
    return Definition.model_validate(
        {"id": name, "goal": "Send 'Hi'.", "websites": [{"id": "mail"}], "evals": [one]}
    )


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_manual_states_hide_synthetic_ones_of_the_same_task(tmp_path: Path) -> None:
    write(tmp_path / "manual" / "mail-1.json", DONE)
    write(tmp_path / "synthetic" / "mail-1.json", UNDONE)
    write(tmp_path / "synthetic" / "mail-2.json", DONE)
    write(tmp_path / "synthetic" / "mail-2.provenance.json", {"run_id": {}})
    assert [(each.name, each.source) for each in find_truth(tmp_path)] == [
        ("mail-1", "manual"),
        ("mail-2", "synthetic"),
    ]
    assert [each.name for each in find_truth(tmp_path, synthetic=False)] == ["mail-1"]


def test_folder_without_states_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no end states"):
        find_truth(tmp_path)


@pytest.mark.parametrize(
    ("changes", "states", "outcome"),
    [
        ({}, DONE, "pass"),
        ({}, UNDONE, "fail"),
        ({"query": "contains(mail.gone, 'x')"}, DONE, "error"),
        ({"query": "mail.differences.emails.added[::0]"}, DONE, "error"),
        ({"query": "merge(mail, `1`)"}, DONE, "error"),
        ({"query": " && ".join(["mail"] * 2000)}, DONE, "error"),
        ({"query": "mail["}, DONE, "error"),
        ({"query": "&mail"}, DONE, "fail"),
        ({"expected_value": "TODO: look"}, DONE, "todo"),
    ],
    ids=["pass", "fail", "type", "step-zero", "merge", "deep", "no-query", "expression", "todo"],
)
def test_outcomes_of_evals(changes: Any, states: Any, outcome: str, tmp_path: Path) -> None:
    write(tmp_path / "mail-1.json", states)
    found = validate_ground_truth([definition(**changes)], find_truth(tmp_path))
    assert [each.outcome for each in found.evals] == [outcome]
    assert found.outcomes[outcome] == 1


@pytest.mark.parametrize(
    ("query", "empty"),
    [
        ("length(mail.sent.items) >= `1`", "mail.sent is null"),
        ("mail.sent.items[?subject == 'Hi'] | length(@) >= `1`", "mail.sent is null"),
        ("length(mail.differences.emails.added[?subject == 'No']) >= `1`",
         "mail.differences.emails.added[?subject == 'No'] is []"),
        ("mail.differences.emails.added[0].nothing.more == 'x'",
         "mail.differences.emails.added[0].nothing is null"),
        ("type(mail) == 'array'", None),
    ],
)  # fmt: skip
def test_a_query_that_is_not_met_says_where_its_path_goes_empty(
    query: str, empty: str | None, tmp_path: Path
) -> None:
    write(tmp_path / "mail-1.json", DONE)
    found = validate_ground_truth([definition(query=query)], find_truth(tmp_path))
    assert found.evals[0].outcome in {"fail", "error"}
    assert found.evals[0].detail.endswith(empty or "found false")


def test_claims_need_a_judge_that_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "mail-1.json", DONE)
    monkeypatch.setattr(claim_examples, "find_plugins", lambda _: [])
    with pytest.raises(InputError, match="pip install llm-judge"):
        validate_ground_truth([definition()], find_truth(tmp_path), claims=tmp_path / "c.jsonl")


def test_unverified_evals_count_nowhere(tmp_path: Path) -> None:
    write(tmp_path / "mail-1.json", DONE)
    found = validate_ground_truth([definition(expected_value="TODO")], find_truth(tmp_path))
    assert (found.pass_rate, found.accuracy) == (None, None)


def test_misspelt_file_gets_proposals(tmp_path: Path) -> None:
    write(tmp_path / "mial-1.json", DONE)
    found = validate_ground_truth([definition(), definition("other-1")], find_truth(tmp_path))
    assert found.unmatched["mial-1.json"][0] == "mail-1"


def test_negatives_show_how_often_failures_pass(tmp_path: Path) -> None:
    write(tmp_path / "manual" / "mail-1.json", DONE)
    write(tmp_path / "negatives" / "mail-1" / "undone-mail.json", UNDONE)
    write(tmp_path / "negatives" / "mail-1" / "altered-1.json", DONE)
    found = validate_ground_truth([definition()], find_truth(tmp_path))
    assert found.accuracy is not None
    assert found.accuracy.specificity is not None
    assert (found.accuracy.true_negative, found.accuracy.false_positive) == (1, 1)
    assert found.tasks == {"mail-1": False}


def test_recorded_states_give_the_known_figures(shared_tasks: Path, shared_states: Path) -> None:
    found = validate_ground_truth(load_definitions(shared_tasks), find_truth(shared_states))
    assert found.outcomes == {"pass": 10, "fail": 5, "error": 0, "todo": 0}
    assert [task for task, right in found.tasks.items() if right] == ["opendining-udriver-1"]
    assert any("few" in each for each in found.limits)


def test_rate_is_corrected_for_what_the_queries_get_wrong() -> None:
    cases = {str(n): n < 50 for n in range(100)}
    decided = {str(n): n < 40 or n >= 90 for n in range(100)}  # 80% sensitive, 80% specific
    known = accuracy(decided, cases)
    corrected = corrected_rate(wilson(50, 100), known)
    assert corrected is not None
    assert corrected.estimate == pytest.approx(0.5)
    assert corrected.low < 0.35
    assert corrected.high > 0.65


def test_rate_cannot_be_corrected_without_known_failures() -> None:
    assert corrected_rate(wilson(5, 10), accuracy({"a": True}, {"a": True})) is None


def a_run(
    folder: Path, outcome: str, confidence: float | None, states: Any = DONE, *, asked: bool = True
) -> Path:
    task = task_of(definition())
    run = make_run(folder, tasks=(task,), trials=1)
    _replace(run, task, folder, {"judge": {"name": "j"}} if asked else {})
    trial = next((run / "trials").rglob("*"), None)
    del trial
    home = run / "trials" / "1" / task.task_id
    home.mkdir(parents=True, exist_ok=True)
    write(home / "finish_state.json", states)
    _gzip(home / "finish_state.json")
    verdict = Verdict(case_id="mail-1", judge="j", outcome=outcome, confidence=confidence)  # type: ignore[arg-type]
    (home / "judgement.json").write_text(verdict.model_dump_json())
    return run


def _replace(run: Path, task: Task, folder: Path, judge: dict[str, Any]) -> None:
    result = TrialResult(
        benchmark=task.benchmark, task_id=task.task_id, agent="a", status=Status.COMPLETED, score=1.0,
        method="hybrid", details={"confidence": "high", **judge},
    )  # fmt: skip
    (run / "results.jsonl").write_text(result.model_dump_json() + "\n")


def _gzip(path: Path) -> None:
    import gzip

    path.with_suffix(".json.gz").write_bytes(gzip.compress(path.read_bytes()))


def test_a_judgement_beside_a_trial_of_which_no_judge_was_asked_is_not_believed(
    tmp_path: Path,
) -> None:
    (kept,) = harvest(a_run(tmp_path / "run", "pass", 0.9, asked=False), tmp_path / "truth")
    assert (kept.kept, kept.reason) == (False, "no judge was asked")


def test_state_the_judge_is_sure_of_is_kept_with_its_negatives(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", "pass", 0.9)
    truth = tmp_path / "truth"
    kept = harvest(run, truth)
    assert [(each.kept, each.negatives) for each in kept] == [(True, 1)]
    assert known_tasks(truth) == {"mail-1"}
    assert known_tasks(truth, force=True) == set()
    assert {each.source for each in find_truth(truth)} == {"synthetic", "negative"}
    provenance = json.loads((truth / "synthetic" / "mail-1.provenance.json").read_text())
    assert (provenance["judge"], provenance["confidence"]) == ("j", 0.9)


@pytest.mark.parametrize(
    ("outcome", "confidence", "states", "reason"),
    [
        ("pass", 0.7, DONE, "0.70 sure"),
        ("pass", None, DONE, "0.00 sure"),
        ("fail", 0.9, DONE, "the judge says fail"),
        ("pass", 0.9, {}, "there is no state"),
    ],
)
def test_doubtful_state_is_not_kept(
    outcome: str, confidence: float | None, states: Any, reason: str, tmp_path: Path
) -> None:
    kept = harvest(a_run(tmp_path / "run", outcome, confidence, states), tmp_path / "truth")
    assert (kept[0].kept, reason in kept[0].reason) == (False, True)
    assert not (tmp_path / "truth" / "synthetic").exists()


def test_plan_layout_has_a_file_per_task_and_a_summary(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", "pass", 0.9)
    written = export_plan(run, tmp_path / "out", with_states=True)
    raw = json.loads(written[0].read_text())
    assert written[0].parent.name == "mail-1"
    assert (raw["success"], raw["confidence"], raw["finish_state"]) == (True, "high", DONE)
    summary = json.loads(written[-1].read_text())
    assert written[-1].parent.name == "aggregated"
    assert (summary["total_tasks"], summary["passed"], summary["success_rate"]) == (1, 1, 1.0)
    assert summary["by_confidence"] == {"high": 1, "medium": 0, "low": 0}
