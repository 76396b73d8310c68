"""Options that a program or a session gives are checked as those of a command are."""

from __future__ import annotations

from typing import Any

import pytest

from bench_core.errors import InputError
from bench_core.runs import RunOptions


def test_options_of_a_mapping_are_those_of_a_run() -> None:
    assert RunOptions.from_mapping({"trials": 3, "ids": ["a"]}) == RunOptions(trials=3, ids=("a",))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"trails": 3}, "no option is called 'trails'; did you mean 'trials'?"),
        ({"zzzz": 1}, "no option is called 'zzzz'; there are ids, skip_ids, groups"),
        ({"trials": "many"}, "option trials must be a whole number, not 'many'"),
        ({"trials": 0}, "option trials must be greater than 0, not 0"),
    ],
    ids=["nearly", "unknown", "text", "none"],
)
def test_options_that_cannot_be_are_named(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        RunOptions.from_mapping(given)
    assert str(caught.value).startswith(complaint)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bind": ("site:lab=lab",)}, "--bind chooses among the nodes of a Ray cluster"),
        (
            {"bind": ("site:lab=lab",), "executor": "ray"},
            "--bind chooses among the nodes of a Ray cluster",
        ),
        ({"bind": ("lab",), "executor": "ray", "address": "first:6379"}, "give NAME=LABEL"),
    ],
    ids=["no executor", "no address", "no label"],
)
def test_what_cannot_be_bound_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RunOptions(agent="a", **given).spec()


def test_what_is_bound_does_not_make_another_run() -> None:
    there: dict[str, Any] = {"agent": "a", "executor": "ray", "address": "first:6379"}
    bound = RunOptions(**there, bind=("site:lab=lab",)).spec()
    assert bound.executor.bind == ("site:lab=lab",)
    assert bound.settings() == RunOptions(**there).spec().settings()
