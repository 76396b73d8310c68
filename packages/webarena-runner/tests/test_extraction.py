from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError
from bench_core.models import Model, ModelRequest, ScriptedAdapter
from bench_core.protocols import TrialContext
from bench_core.records import AgentEnding, Status
from webarena_runner.answers import answer_text, read_answer, without_patterns
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.extraction import Extraction, Restated, by_model, by_rules, restated
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.tasks import load_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import Task

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
    found = by_rules(goal, text).response
    assert (found["task_type"], found["status"], found["retrieved_data"]) == (kind, status, data)


def test_rules_find_a_response_among_words() -> None:
    assert by_rules("Get it", f"Here you are: {json.dumps(RESPONSE)} Bye.").response == RESPONSE


@given(st.text(max_size=200), st.text(max_size=200))
def test_rules_always_make_a_well_formed_response(goal: str, text: str) -> None:
    assert read_answer(json.dumps(by_rules(goal, text).response)).problem is None


# answers in another form than the benchmark's; a well-formed one is never restated
ANSWERS: list[Any] = [
    None, "", "It is 5", "000000299", 39.64, 0, True, ["a", "b"], [], {"total": 5}, {"answer": 5},
    {"status": "SUCCESS"}, '["a"]', {"gave_up": "It does not exist."},
]  # fmt: skip
RULES, MODEL = Extraction(way="rules"), Extraction(way="model", model="scripted:")


async def _restated(
    ending: AgentEnding, folder: Path, asked: Extraction = RULES
) -> Restated | None:
    context = TrialContext(run_id="r", folder=folder)
    return await restated(ending, answer_text(ending.answer), "Get it", context, asked)


@pytest.mark.parametrize("answer", ANSWERS)
async def test_an_agent_that_ended_by_itself_is_restated_and_one_at_a_limit_is_not(
    answer: Any, tmp_path: Path
) -> None:
    for status in Status:
        found = await _restated(AgentEnding(status=status, answer=answer), tmp_path)
        assert (found is not None) is (status is Status.COMPLETED)
        if found is not None:
            assert found.flag == "answer-extracted-by-rules"
            assert read_answer(json.dumps(found.response)).problem is None


@pytest.mark.parametrize("answer", [RESPONSE, json.dumps(RESPONSE)])
async def test_an_answer_that_the_evaluator_can_read_stays_as_it_is(
    answer: Any, tmp_path: Path
) -> None:
    for flags in ((), ("gave_up",)):
        ending = AgentEnding(status=Status.COMPLETED, answer=answer, flags=flags)
        assert await _restated(ending, tmp_path) is None


async def test_without_a_model_to_restate_by_nothing_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--extract-model"):
        await _restated(AgentEnding(status=Status.COMPLETED), tmp_path, Extraction(way="model"))


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("status", ["SUCCESS", "NOT_FOUND_ERROR", None])
async def test_giving_up_never_becomes_a_success(answer: Any, status: str | None) -> None:
    said = json.dumps({**RESPONSE, "status": status, "error_details": None})
    model = Model(ScriptedAdapter([said]))
    for found in (
        by_rules("Get it", answer, gave_up=True),
        await by_model(model, "Get it", answer, gave_up=True),
    ):
        assert found.response["status"] != "SUCCESS"
        assert found.response["retrieved_data"] is None


async def test_a_reason_for_giving_up_chooses_the_error(tmp_path: Path) -> None:
    ending = AgentEnding(status=Status.COMPLETED, answer={"gave_up": "It does not exist."})
    found = await _restated(ending, tmp_path)
    assert found is not None
    assert found.response["status"] == "NOT_FOUND_ERROR"
    assert found.response["error_details"] == "It does not exist."


@pytest.mark.parametrize(
    ("text", "restated_as", "kept"),
    [
        ("The order is 000000299.", [299], ["000000299"]),
        ("Orders 0170 and 12", [{"id": 170, "n": 12}], [{"id": "0170", "n": 12}]),
        ("It costs 1,000.0299", [299], [299]),
        ("There are 7", [7], [7]),
    ],
)
async def test_ids_keep_their_leading_zeros(text: str, restated_as: Any, kept: Any) -> None:
    said = {**RESPONSE, "retrieved_data": restated_as, "error_details": None}
    found = await by_model(Model(ScriptedAdapter([json.dumps(said)])), "Get it", text)
    assert found.response["retrieved_data"] == kept


async def test_values_that_the_agent_gave_are_not_the_models_to_change() -> None:
    said = json.dumps({**RESPONSE, "retrieved_data": ["another"], "error_details": None})
    for answer, data in ((["a", 1.5], ["a", 1.5]), ({"min": 1}, [{"min": 1}]), (39.64, [39.64])):
        found = await by_model(Model(ScriptedAdapter([said])), "Get it", answer)
        assert found.response["retrieved_data"] == data


def _ended(task: Task) -> tuple[Any, bool]:
    """Return how an agent ends that has done a task and has not been given the form: a bare value, or a reason."""
    right = answer_for(task)
    if right["status"] != "SUCCESS":
        return {"gave_up": REASONS[str(right["status"])]}, True
    data: Any = right["retrieved_data"]
    return data[0] if data is not None and len(data) == 1 else data, False


REASONS = {
    "NOT_FOUND_ERROR": "What the task names does not exist.",
    "ACTION_NOT_ALLOWED_ERROR": "This is not allowed on the site.",
    "PERMISSION_DENIED_ERROR": "I do not have permission to do that.",
}


@pytest.mark.slow
async def test_of_all_812_tasks_as_many_score_as_the_documentation_says(tmp_path: Path) -> None:
    scored = dict.fromkeys(("right", "model", "rules", "text"), 0)
    config = default_config()
    for task in load_tasks():
        right = answer_for(task)
        answer, gave_up = _ended(task)
        # a model that reads type and status, and mistakes every id for a number
        numbers = json.loads(re.sub(r'"0+([1-9]\d*)"', r"\1", json.dumps(right)))
        model = Model(ScriptedAdapter([json.dumps(numbers)]))
        folder = write_trial(tmp_path / task.task_id, task, config)
        responses = {
            "right": right,
            "model": (await by_model(model, task.goal, answer, gave_up=gave_up)).response,
            "rules": by_rules(task.goal, answer, gave_up=gave_up).response,
            "text": by_rules(task.goal, _as_text(answer), gave_up=gave_up).response,
        }
        scores: dict[str, Any] = {}
        for name, response in responses.items():
            key = json.dumps(response)
            if key not in scores:
                scores[key] = evaluate(task, folder, instead=response).score
            scored[name] += scores[key] == 1.0
    assert scored == {"right": 794, "model": 794, "rules": 787, "text": 787}


def _as_text(answer: Any) -> Any:
    return (
        str(answer) if isinstance(answer, int | float) and not isinstance(answer, bool) else answer
    )


async def test_a_model_restates_the_report_and_sees_nothing_else() -> None:
    task = next(each for each in load_tasks() if each.task_id == "0")
    requests: list[ModelRequest] = []

    def restate(request: ModelRequest) -> str:
        requests.append(request)
        return json.dumps({**RESPONSE, "error_details": None})

    found = await by_model(Model(ScriptedAdapter(restate)), task.goal, "I count 1")
    assert found.response == {**RESPONSE, "error_details": None}
    assert found.flag == "answer-extracted-by-model"
    asked = requests[0].model_dump_json()
    assert "I count 1" in asked
    assert task.goal in asked
    assert "Lumaflex" not in asked


async def test_what_the_model_cannot_restate_goes_by_the_rules_and_is_flagged_so() -> None:
    model = Model(ScriptedAdapter(["nonsense"]))
    found = await by_model(model, "Get it", "The number is 7.")
    assert found.response["retrieved_data"] == [7]
    assert found.flag == "answer-extracted-by-rules"


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
