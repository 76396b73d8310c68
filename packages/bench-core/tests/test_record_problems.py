"""What does not fit a record is said in the words of whoever wrote it."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bench_core.records.problems import problems_of


class Site(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: str
    password: str | None = None


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    kind: Literal["old", "new"] = "new"
    count: int = Field(default=1, ge=1)
    share: float = 0.5
    strict: bool = True
    sites: dict[str, Site] = {}
    pages: list[Site] = []

    @field_validator("name")
    @classmethod
    def _is_short(cls, name: str) -> str:
        if len(name) > 5:
            raise ValueError("is longer than five letters")
        return name


def problems(given: object, *, most: int = 1, kind: str = "field") -> str:
    with pytest.raises(ValidationError) as raised:
        Config.model_validate(given)
    return problems_of(raised.value, Config, most=most, kind=kind)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "field name is missing"),
        ([], "it must be an object"),
        ({"name": 5}, "field name must be text, not 5"),
        ({"name": "a", "kind": "older"}, "field kind must be 'old' or 'new', not 'older'"),
        ({"name": "a", "count": "many"}, "field count must be a whole number, not 'many'"),
        ({"name": "a", "count": 0}, "field count must be greater than or equal to 1, not 0"),
        ({"name": "a", "share": []}, "field share must be a number"),
        ({"name": "a", "strict": "perhaps"}, "field strict must be true or false, not 'perhaps'"),
        ({"name": "a", "pages": {}}, "field pages must be a list"),
        ({"name": "a", "pages": [{"url": "x"}, {}]}, "field pages.1.url is missing"),
        ({"name": "a" * 9}, "field name is longer than five letters"),
    ],
)
def test_a_value_that_does_not_fit_is_named_in_plain_words(given: object, said: str) -> None:
    assert problems(given) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "a", "cuont": 2}, "no field is called 'cuont'; did you mean 'count'?"),
        (
            {"name": "a", "sites": {"shop": {"url": "x", "passwordd": "s"}}},
            "no field is called 'sites.shop.passwordd'; did you mean 'password'?",
        ),
        (
            {"name": "a", "pages": [{"url": "x", "colour": "red"}]},
            "no field is called 'pages.0.colour'; there are url, password",
        ),
    ],
)
def test_an_unknown_name_is_said_with_the_nearest_or_all_known_ones(
    given: object, said: str
) -> None:
    assert problems(given) == said


def test_a_misspelt_name_comes_before_the_missing_one_that_it_stands_for() -> None:
    assert problems({"namee": "a"}) == "no field is called 'namee'; did you mean 'name'?"


def test_what_is_named_and_how_much_of_it_are_the_callers() -> None:
    given = {"namee": "a", "count": 0}
    assert problems(given, most=2, kind="option") == (
        "no option is called 'namee'; did you mean 'name'?; option name is missing and 1 more"
    )


def test_a_text_that_may_be_a_key_is_never_shown() -> None:
    secret = "sk-planted-0123456789"
    for given in ({"name": secret}, {"name": "a", "sites": {"shop": secret}}, secret):
        assert secret not in problems(given)


def test_text_that_is_no_json_is_called_so() -> None:
    with pytest.raises(ValidationError) as raised:
        Config.model_validate_json("{]")
    assert problems_of(raised.value, Config) == "it is not JSON"
