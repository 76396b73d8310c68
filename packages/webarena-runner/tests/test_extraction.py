from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.models import Model, ModelRequest, ScriptedAdapter
from bench_core.protocols import TrialContext
from webarena_runner.answers import read_answer, without_patterns
from webarena_runner.config import default_config
from webarena_runner.environment import restated_answer
from webarena_runner.evaluation import evaluate
from webarena_runner.extraction import by_model, by_rules, needs_extraction
from webarena_runner.reference_solutions import write_trial
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from pathlib import Path

RESPONSE = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [1]}
CASES = [
    ("Get the best seller", "The best-selling product is Quest Lumaflex Band.",
     "RETRIEVE", "SUCCESS", ["Quest Lumaflex Band"]),
    ("What is the total?", "The total is $36.39.", "RETRIEVE", "SUCCESS", ["$36.39"]),
    ("How many commits did kilian make?", "kilian made 3 commits", "RETRIEVE", "SUCCESS", [3]),
    ("List the reviewers", "I found:\n- Ann\n- Bob Lee\n", "RETRIEVE", "SUCCESS", ["Ann", "Bob Lee"]),
    ("List the reviewers", "1. Ann\n2. Bob", "RETRIEVE", "SUCCESS", ["Ann", "Bob"]),
    ("Get the order number", "The order number is 000000170.", "RETRIEVE", "SUCCESS", ["000000170"]),
    ("Who wrote it?", "Authors: Ann, Bob and Cid", "RETRIEVE", "SUCCESS", ["Ann", "Bob", "Cid"]),
    ("Get the brand", 'It is made by "Sprite".', "RETRIEVE", "SUCCESS", ["Sprite"]),
    ("Get the address", "No results were found.", "RETRIEVE", "NOT_FOUND_ERROR", None),
    ("Add the users", "I do not have permission to do that.",
     "MUTATE", "PERMISSION_DENIED_ERROR", None),
    ("Cancel order 299", "The order cannot be changed any more.",
     "MUTATE", "ACTION_NOT_ALLOWED_ERROR", None),
    ("Open my todos page", "Done, the page is open.", "NAVIGATE", "SUCCESS", None),
    ("Cancel order 302", "I cancelled the order.", "MUTATE", "SUCCESS", None),
    ("Cancel order 302", "I was unable to do it", "MUTATE", "UNKNOWN_ERROR", None),
]  # fmt: skip


@pytest.mark.parametrize(("goal", "text", "kind", "status", "data"), CASES)
def test_rules_read_type_status_and_data_off_the_words(
    goal: str, text: str, kind: str, status: str, data: Any
) -> None:
    found = by_rules(goal, text)
    assert (found["task_type"], found["status"], found["retrieved_data"]) == (kind, status, data)


def test_rules_find_a_response_among_words() -> None:
    assert by_rules("Get it", f"Here you are: {json.dumps(RESPONSE)} Bye.") == RESPONSE


@given(st.text(max_size=200), st.text(max_size=200))
def test_rules_always_make_a_well_formed_response(goal: str, text: str) -> None:
    assert read_answer(json.dumps(by_rules(goal, text))).problem is None


@pytest.mark.parametrize(
    ("answer", "needed"),
    [
        ("It is 5", True),
        (json.dumps(RESPONSE), False),
        (RESPONSE, False),
        (None, False),
        ("  ", False),
    ],
)
def test_only_prose_is_extracted(answer: Any, needed: bool) -> None:  # noqa: FBT001  # a case
    assert needs_extraction(answer) is needed


async def test_a_model_restates_the_report_and_sees_nothing_else() -> None:
    task = next(each for each in load_tasks() if each.task_id == "0")
    requests: list[ModelRequest] = []

    def restate(request: ModelRequest) -> str:
        requests.append(request)
        return json.dumps({**RESPONSE, "error_details": None})

    found = await by_model(Model(ScriptedAdapter(restate)), task.goal, "I count 1")
    assert found == {**RESPONSE, "error_details": None}
    asked = requests[0].model_dump_json()
    assert "I count 1" in asked
    assert task.goal in asked
    assert "Lumaflex" not in asked


async def test_what_the_model_cannot_restate_goes_by_the_rules() -> None:
    found = await by_model(Model(ScriptedAdapter(["nonsense"])), "Get it", "The number is 7.")
    assert found["retrieved_data"] == [7]


async def test_answers_in_words_are_restated_only_where_the_run_asks_for_it(
    tmp_path: Path,
) -> None:
    context = TrialContext(run_id="r", folder=tmp_path)
    assert await restated_answer("The number is 7.", "Get it", context) is None
    asked = context.model_copy(update={"config": {"extract": "rules"}})
    found = await restated_answer("The number is 7.", "Get it", asked)
    assert found is not None
    assert found["retrieved_data"] == [7]
    assert await restated_answer(RESPONSE, "Get it", asked) is None


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        (["^.*$"], [r"^\^\.\*\$$"]),
        ([" ^a$ "], [r"^\^a\$$"]),
        ([{"name": "^x$", "n": 1}], [{"name": r"^\^x\$$", "n": 1}]),
        ("^.*$", r"^\^\.\*\$$"),
        (["plain", 5, None, "^", "$"], ["plain", 5, None, "^", "$"]),
    ],
)
def test_patterns_in_answers_are_stored_so_that_they_match_themselves_only(
    data: Any, stored: Any
) -> None:
    answer = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data}
    assert without_patterns(answer)["retrieved_data"] == stored  # type: ignore[call-overload,index]


@pytest.mark.parametrize("task_id", ["0", "1", "288", "312"])
def test_the_pattern_that_matches_anything_scores_zero_once_escaped(
    task_id: str, tmp_path: Path
) -> None:
    task = next(each for each in load_tasks() if each.task_id == task_id)
    hole = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ["^.*$"]}
    config = default_config()
    open_hole = evaluate(task, write_trial(tmp_path / "0", task, config, answer=hole))
    closed = write_trial(tmp_path / "1", task, config, answer=without_patterns(hole))
    assert (open_hole.score, evaluate(task, closed).score) == (1.0, 0.0)
    assert "regex-answer" in evaluate(task, closed).flags


@pytest.mark.parametrize("task_id", ["0", "132", "44", "399"])
def test_answers_without_patterns_are_stored_as_they_are(task_id: str, tmp_path: Path) -> None:
    task = next(each for each in load_tasks() if each.task_id == task_id)
    folder = write_trial(tmp_path, task, default_config())
    answer = json.loads((folder / "agent_response.json").read_text())
    assert without_patterns(answer) == answer
