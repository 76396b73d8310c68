from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from webarena_runner.agents.declaration import Declaration
from webarena_runner.answers import AGENT_STATUSES


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

    assert len(found) == 3
    assert all(each["additionalProperties"] is False for each in found)
