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


RAY: dict[str, Any] = {"agent": "a", "executor": "ray"}


def test_where_files_go_does_not_make_another_run() -> None:
    stored = RunOptions(**RAY, artifacts="s3://lab/web/arena/").spec()
    assert stored.executor.artifacts == "s3://lab/web/arena"
    assert stored.settings() == RunOptions(**RAY).spec().settings()


def test_files_go_to_a_store_only_from_workers() -> None:
    with pytest.raises(InputError, match=r"--artifacts is where workers put .* add --executor ray"):
        RunOptions(agent="a", artifacts="s3://lab/web").spec()


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIAKEY:5ecret@lab/web", "s3://lab/web?secret=5ecret", "s3://lab/5ecret/../x", "s3://",
        "https://5ecret/lab", "file:///5ecret", "s3://lab//5ecret", "s3://lab/5ecret\n", "5ecret",
    ],
)  # fmt: skip
def test_what_is_no_plain_place_in_s3_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InputError, match="--artifacts takes s3://BUCKET/PREFIX") as caught:
        RunOptions(**RAY, artifacts=url).spec()
    assert "5ecret" not in str(caught.value)
