from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from bench_core.agents import answer_problem
from webarena_runner.agents.declaration import Declaration, answer_schema, instructions
from webarena_runner.answers import AGENT_STATUSES
from webarena_runner.reference_solutions.trials import answer_for
from webarena_runner.tasks import load_tasks


def _declared(data: Any) -> Any:
    declaration = Declaration.model_validate(
        {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": data}
    )
    return declaration.as_response()["retrieved_data"]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        ["text", 7, 7.5, True, False, None, "7", "true"],
        [{"title": "x", "rating": 4}, {"min": 0.01, "max": None}],
    ],
)
def test_values_keep_their_types(data: Any) -> None:
    assert _declared(data) == data
    assert [type(each) for each in _declared(data) or []] == [type(each) for each in data or []]


def test_objects_may_be_given_as_their_members() -> None:
    members = {"members": [{"name": "min", "value": 1}, {"name": "max", "value": 2}]}

    assert _declared([members]) == [{"min": 1, "max": 2}]


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "SUCCESS"},
        {"task_type": "RETRIEVE"},
        {"task_type": "READ", "status": "SUCCESS"},
        {"task_type": "RETRIEVE", "status": "OK"},
        {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": "text"},
        {"task_type": "RETRIEVE", "status": "SUCCESS", "answer": 1},
    ],
)
def test_what_the_evaluator_would_not_read_is_refused(answer: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Declaration.model_validate(answer)


def test_every_status_of_the_benchmark_can_be_declared() -> None:
    schema = Declaration.model_json_schema()

    assert tuple(schema["properties"]["status"]["enum"]) == AGENT_STATUSES


def test_the_right_answer_of_every_task_has_the_form_that_its_agent_is_told() -> None:
    tasks = load_tasks()
    forms = [each.for_agent(answer_schema=answer_schema(each.goal)) for each in tasks]

    wrong = {
        task.task_id: problem
        for task, form in zip(tasks, forms, strict=True)
        if (problem := answer_problem(form, answer_for(task)))
    }

    # its goal asks for `purchase_date`, and the evaluator for `date`
    assert list(wrong) == ["203"]


def test_the_right_answer_of_every_task_can_be_given_as_strict_output() -> None:
    for task in load_tasks():
        right = answer_for(task)
        assert Declaration.model_validate(right).as_response() == right


def test_fields_that_a_goal_names_are_in_the_form_and_nothing_of_what_is_expected() -> None:
    tasks = load_tasks()
    named = [each.goal for each in tasks if "required" in _items(each.goal)]

    assert len(named) == 90
    assert _items(tasks[8].goal)["required"] == ["name", "state", "postcode"]
    assert "NOT_FOUND_ERROR" in answer_schema("Go.")["properties"]["status"]["enum"]


def _items(goal: str) -> Any:
    schema: Any = answer_schema(goal)
    return schema["properties"]["retrieved_data"]["items"]


def test_an_object_without_the_named_fields_is_refused_and_says_which() -> None:
    goal = 'Get it. Return an object with keys "min" and "max" only.'
    form = load_tasks()[0].for_agent(answer_schema=answer_schema(goal))
    given = {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": [{"min": 1}]}

    assert "'max' is a required property" in (answer_problem(form, given) or "")


def test_instructions_have_each_tab_and_the_hints_of_the_sites_once() -> None:
    text = instructions(["shopping", "reddit"], ["http://a.test", "http://b.test"])

    assert [text.count(each) for each in ("http://a.test", "http://b.test", "Forums:")] == [1] * 3
    assert "GitLab" not in text


def test_the_schema_has_no_free_form_objects() -> None:
    def objects(schema: Any) -> Any:
        if isinstance(schema, dict):
            if schema.get("type") == "object":
                yield schema
            for each in schema.values():
                yield from objects(each)
        elif isinstance(schema, list):
            for each in schema:
                yield from objects(each)

    found = list(objects(Declaration.model_json_schema()))

    assert len(found) == 5
    assert all(each["additionalProperties"] is False for each in found)
