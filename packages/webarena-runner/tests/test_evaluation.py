from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EvaluationError
from bench_core.records import Status
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluation import evaluate, write_answer, write_config
from webarena_runner.failures import classify_failure
from webarena_runner.results import as_evaluation
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

SITES = EnvironmentConfig.model_validate(
    {
        "sites": {
            "shopping_admin": "http://admin.test:1/admin",
            "reddit": "http://reddit.test:2",
            "gitlab": "http://gitlab.test:3",
            "shopping": "http://shop.test:4",
            "map": "http://map.test:5",
            "wikipedia": "http://wiki.test:6",
        }
    }
)
RETRIEVE = {
    "task_type": "RETRIEVE",
    "status": "SUCCESS",
    "retrieved_data": ["Quest Lumaflex™ Band"],
}
MUTATE = {"task_type": "MUTATE", "status": "SUCCESS", "retrieved_data": None}
BIOGRAPHY = "http://reddit.test:2/user/MarvelsGrantMan136/edit_biography"


def visit(url: str) -> dict[str, Any]:
    accept = {"name": "Accept", "value": "text/html"}
    return {
        "request": {"method": "GET", "url": url, "headers": [accept]},
        "response": {"status": 200, "headers": []},
    }


def post(url: str, body: str, status: int = 302) -> dict[str, Any]:
    data = {"mimeType": "application/x-www-form-urlencoded", "text": body}
    return {
        "request": {"method": "POST", "url": url, "headers": [], "postData": data},
        "response": {"status": status, "headers": [], "redirectURL": "/done"},
    }


HOME = visit("http://admin.test:1/admin")
ROBOT = post(BIOGRAPHY, "user_biography%5Bbiography%5D=I+am+a+robot")
COUPON = "name=Emma+Lopez&email=emma.lopez%40gmail.com&form_id=contact-form&comment=I+am+a+loyal+customer%2C+give+me+a+coupon"
DRAFTED = post("http://shop.test:4/dummy_bin", COUPON, -1)
SENT = post("http://shop.test:4/contact/index/post", COUPON)


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return load_tasks()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path, SITES)
    return tmp_path


def leave(folder: Path, answer: Any, entries: list[dict[str, Any]]) -> Path:
    write_answer(folder, answer)
    (folder / "network.har").write_text(json.dumps({"log": {"entries": entries}}))
    return folder


def test_right_answer_scores_one(folder: Path, tasks: list[Task]) -> None:
    found = evaluate(tasks[0], leave(folder, RETRIEVE, [HOME]))
    assert (found.score, found.official_status, found.problem) == (1.0, "success", None)
    assert found.method == "webarena-verified 1.2.3"


def test_wrong_answer_scores_zero_with_expected_and_actual(folder: Path, tasks: list[Task]) -> None:
    wrong = {**RETRIEVE, "retrieved_data": ["Duffle"]}
    found = evaluate(tasks[0], leave(folder, wrong, [HOME]))
    assert found.score == 0.0
    (check,) = found.checks
    assert check.criterion == "answer"
    assert check.passed is False
    assert check.actual["retrieved_data"] == ["duffle"]
    assert "Expected: [quest lumaflex band], Got: [duffle]" in check.reason


def test_recorded_request_is_checked_by_name(folder: Path, tasks: list[Task]) -> None:
    found = evaluate(tasks[399], leave(folder, MUTATE, [ROBOT]))
    assert found.score == 1.0
    assert [(check.criterion, check.passed) for check in found.checks] == [
        ("answer", True),
        ("POST __REDDIT__/user/MarvelsGrantMan136/edit_biography", True),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        {**RETRIEVE, "task_type": None},
        {**RETRIEVE, "status": 7},
        {"task_type": None},
        None,
        "no idea",
        [RETRIEVE],
        {},
    ],
)
def test_malformed_answer_is_the_agents_failure_whatever_the_evaluator_calls_it(
    folder: Path, tasks: list[Task], answer: Any
) -> None:
    found = evaluate(tasks[0], leave(folder, answer, [HOME]))
    assert (found.score, found.malformed) == (0.0, True)
    assert found.problem


NOT_FOUND = {"task_type": "RETRIEVE", "status": "NOT_FOUND_ERROR", "retrieved_data": None}


@pytest.mark.parametrize(
    ("answer", "score", "mode"),
    [
        (NOT_FOUND, 1.0, None),
        ({**NOT_FOUND, "status": "SUCCESS", "retrieved_data": ["x"]}, 0.0, "missed_impossible"),
        ({**NOT_FOUND, "retrieved_data": ["x"]}, 0.0, "wrong_answer"),
    ],
)
def test_data_for_a_task_without_an_answer_is_the_agents_failure(
    folder: Path, tasks: list[Task], answer: Any, score: float, mode: str | None
) -> None:
    """The official tool reports an error: leaving those out would reward made-up answers."""
    found = evaluate(tasks[101], leave(folder, answer, [HOME]))
    assert (found.score, found.malformed) == (score, False)
    assert found.official_status == ("success" if score else "error")
    failure = classify_failure(Status.COMPLETED, found)
    assert (failure and failure[0]) == mode


def test_answer_that_is_a_broken_regular_expression_is_the_agents_failure(
    folder: Path, tasks: list[Task]
) -> None:
    answer = {**RETRIEVE, "retrieved_data": ["^[$"]}
    found = evaluate(tasks[293], leave(folder, answer, [HOME]))
    assert (found.score, found.official_status) == (0.0, "error")
    assert "Invalid regex" in found.problem


def right_answer(task: Task) -> dict[str, Any]:
    """Return the expected answer; of alternatives, the first."""
    definitions: Any = task.config["eval"]
    expected = next(each["expected"] for each in definitions if "results_schema" in each)
    data = expected.get("retrieved_data")
    items = data and [each[0] if isinstance(each, list) else each for each in data]
    return {**expected, "retrieved_data": items}


@pytest.mark.slow
def test_no_right_answer_is_ever_blamed_for_an_error(tmp_path: Path, tasks: list[Task]) -> None:
    write_config(tmp_path, SITES)
    undecided = set()
    for task in tasks:
        found = evaluate(task, leave(tmp_path, right_answer(task), [HOME]))
        if found.official_status == "error":
            assert found.score is None, task.task_id
            undecided.add(int(task.task_id))
    assert undecided == {699, 700, 811}


def test_broken_task_definition_gives_no_score_whatever_the_answer(
    folder: Path, tasks: list[Task]
) -> None:
    """Task 699 expects form data that webarena-verified 1.2.3 cannot compare."""
    for answer in (MUTATE, None):
        found = evaluate(tasks[699], leave(folder, answer, [HOME]))
        assert (found.score, found.official_status) == (None, "error")
        assert found.checks[-1].passed is None  # neither passed nor failed


def test_recording_without_entries_gives_no_score(folder: Path, tasks: list[Task]) -> None:
    found = evaluate(tasks[0], leave(folder, RETRIEVE, []))
    assert (found.score, found.official_status, found.official_score) == (None, "error", 0.0)
    assert "no entries" in found.problem


def test_broken_recording_gives_no_score_even_for_a_malformed_answer(
    folder: Path, tasks: list[Task]
) -> None:
    leave(folder, None, [HOME])
    (folder / "network.har").write_text("{")
    found = evaluate(tasks[0], folder)
    assert (found.score, found.malformed) == (None, True)


def test_entry_the_evaluator_cannot_read_gives_no_score(folder: Path, tasks: list[Task]) -> None:
    broken = {"request": {"method": "POST", "url": BIOGRAPHY, "headers": []}}
    found = evaluate(tasks[399], leave(folder, MUTATE, [broken]))
    assert (found.score, found.official_score) == (None, 0.0)


DEEP, LONG = "[" * 100_000, '{"choice": ' + "1" * 5000 + "}"


@pytest.mark.parametrize("body", [DEEP, LONG])
def test_a_body_that_breaks_the_evaluator_is_named_and_its_trial_is_suspect(
    folder: Path, tasks: list[Task], body: str
) -> None:
    posted = post(BIOGRAPHY, body, status=403)
    posted["request"]["postData"]["mimeType"] = "application/json"
    found = evaluate(tasks[399], leave(folder, MUTATE, [HOME, posted]))
    assert (found.score, found.unreadable) == (None, (f"POST {BIOGRAPHY}",))
    findings = as_evaluation(found, "399", Status.COMPLETED, 1).findings
    assert [(str(each.code), each.outcome) for each in findings] == [
        ("resource_limit", "succeeded")
    ]


def test_half_a_surrogate_pair_that_a_page_posts_is_a_wrong_body(
    folder: Path, tasks: list[Task]
) -> None:
    posted = post(BIOGRAPHY, '{"user_biography[biography]": "\\ud800"}')
    posted["request"]["postData"]["mimeType"] = "application/json"
    found = evaluate(tasks[399], leave(folder, MUTATE, [HOME, posted]))
    assert (found.score, found.unreadable) == (0.0, ())
    assert found.model_dump_json()


def test_an_answer_with_half_a_surrogate_pair_is_a_wrong_answer(
    folder: Path, tasks: list[Task]
) -> None:
    no_text = {**RETRIEVE, "retrieved_data": ["\ud800"]}
    assert evaluate(tasks[0], leave(folder, no_text, [HOME])).score == 0.0


@pytest.mark.parametrize("body", ["{", '{"a": 1}', "[]", ""])
def test_a_body_that_is_no_json_or_small_is_not_named(
    folder: Path, tasks: list[Task], body: str
) -> None:
    posted = post(BIOGRAPHY, body)
    posted["request"]["postData"]["mimeType"] = "application/json"
    broken = {"request": {"method": "POST", "url": BIOGRAPHY, "headers": []}}
    found = evaluate(tasks[399], leave(folder, MUTATE, [posted, broken]))
    assert (found.score, found.unreadable) == (None, ())


def test_a_trial_with_a_score_is_not_suspect_by_what_else_was_sent(
    folder: Path, tasks: list[Task]
) -> None:
    other = post("http://reddit.test:2/other", DEEP)
    other["request"]["postData"]["mimeType"] = "application/json"
    found = evaluate(tasks[399], leave(folder, MUTATE, [HOME, other, ROBOT]))
    assert (found.score, found.unreadable) == (1.0, ())


@pytest.mark.parametrize("name", ["agent_response.json", "network.har", "run_config.json"])
def test_missing_artifact_is_named(folder: Path, tasks: list[Task], name: str) -> None:
    leave(folder, RETRIEVE, [HOME])
    (folder / name).unlink()
    with pytest.raises(EvaluationError, match=name.replace(".", r"\.")):
        evaluate(tasks[0], folder)


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"environments": {"__MOON__": {"urls": ["http://m"]}}}']
)
def test_damaged_site_list_is_an_evaluation_error(
    folder: Path, tasks: list[Task], text: str
) -> None:
    leave(folder, RETRIEVE, [HOME])
    (folder / "run_config.json").write_text(text)
    with pytest.raises(EvaluationError, match="run_config"):
        evaluate(tasks[0], folder)


def test_site_list_beside_the_traffic_holds_no_credentials(folder: Path) -> None:
    text = (folder / "run_config.json").read_text()
    assert "admin1234" not in text
    assert "password" not in text


def test_official_failure_is_quiet(
    folder: Path, tasks: list[Task], capfd: pytest.CaptureFixture[str]
) -> None:
    evaluate(tasks[0], leave(folder, {"task_type": None}, [HOME]))
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


CASES = [
    (0, RETRIEVE, [HOME], Status.COMPLETED, None),
    (0, {**RETRIEVE, "retrieved_data": ["x"]}, [HOME], Status.COMPLETED, "wrong_answer"),
    (0, {**RETRIEVE, "status": "NOT_FOUND_ERROR"}, [HOME], Status.COMPLETED, "gave_up"),
    (491, MUTATE, [HOME], Status.COMPLETED, "missed_impossible"),
    (0, "prose", [HOME], Status.AGENT_ERROR, "malformed_answer"),
    (0, None, [HOME], Status.STEP_LIMIT, "step_limit"),
    (0, None, [HOME], Status.TIME_LIMIT, "time_limit"),
    (0, None, [HOME], Status.AGENT_ERROR, "agent_error"),
    (0, None, [HOME], Status.COMPLETED, "malformed_answer"),
    (0, RETRIEVE, [], Status.COMPLETED, "evaluation_error"),
    (399, MUTATE, [ROBOT], Status.COMPLETED, None),
    (399, MUTATE, [visit("http://reddit.test:2")], Status.COMPLETED, "missing_action"),
    (399, MUTATE, [post(BIOGRAPHY, "a=b")], Status.COMPLETED, "wrong_action"),
    (399, {**MUTATE, "task_type": "NAVIGATE"}, [ROBOT], Status.COMPLETED, "wrong_declaration"),
    (689, MUTATE, [DRAFTED], Status.COMPLETED, None),
    (689, MUTATE, [DRAFTED, SENT], Status.COMPLETED, "forbidden_action"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[4]}")
def test_failure_mode(folder: Path, tasks: list[Task], case: tuple[Any, ...]) -> None:
    task_id, answer, entries, status, mode = case
    evaluation = evaluate(tasks[task_id], leave(folder, answer, entries))
    failure = classify_failure(status, evaluation)
    assert (failure and failure[0]) == mode
    assert failure is None or failure[1]
