"""The misfits of a record, in words for the author of its text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

__all__ = ["place_of", "problems_of"]

_WORDS = {
    "missing": "is missing",
    "json_invalid": "is not JSON",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), "must be a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be an object"),
    "string_type": "must be text",
}
"""Pydantic's terms and those that authors of JSON and YAML use."""
_MOST_SHOWN = 40


def problems_of(
    error: ValidationError,
    model: type[BaseModel] | None = None,
    *,
    most: int = 1,
    kind: str = "field",
) -> str:
    """Return the misfits, each with its place, as a part of a sentence.

    Unknown names come first: an unknown name is often a missing field misspelt, and says more than that the field is
    missing. Only values that are numbers or one of a few words are shown: others may be keys.

    Args:
        error: The error of pydantic.
        model: The validated model, for the nearest name of an unknown one.
        most: How many problems to name.
        kind: What the text calls a name: `field`, `option`, `setting`.

    >>> from bench_core.records import TrialKey
    >>> from pydantic import ValidationError
    >>> try:
    ...     TrialKey.model_validate({"task_id": "a", "trail": 0})
    ... except ValidationError as error:
    ...     print(problems_of(error, TrialKey))
    no field is called 'trail'; did you mean 'trial'?
    """
    found = _ordered(error)
    texts = [_text(each, model, kind) for each in found[:most]]
    more = len(found) - len(texts)
    return "; ".join(texts) + (f" and {more} more" if more and most > 1 else "")


def place_of(error: ValidationError) -> tuple[int | str, ...]:
    """Return the place of the problem that `problems_of` names first."""
    return _ordered(error)[0]["loc"]


def _ordered(error: ValidationError) -> list[ErrorDetails]:
    found = error.errors(include_url=False)
    return sorted(found, key=lambda each: each["type"] != "extra_forbidden")


def _text(problem: ErrorDetails, model: type[BaseModel] | None, kind: str) -> str:
    place = problem["loc"]
    if problem["type"] == "extra_forbidden":
        return _unknown(place, _names(model, place[:-1]) if model else [], kind)
    where = f"{kind} {'.'.join(map(str, place))}" if place else "it"
    wording = _WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ")
    wording = wording.replace("Input should be", "must be", 1)
    joint = " " if wording.startswith(("must ", "is ")) else ": "
    return f"{where}{joint}{wording}{_given(problem)}".removeprefix("it: ")


def _unknown(place: tuple[int | str, ...], names: list[str], kind: str) -> str:
    near = difflib.get_close_matches(str(place[-1]), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(names)}"
    called = ".".join(map(str, place))
    return f"no {kind} is called {called!r}{hint if names else ''}"


def _given(problem: ErrorDetails) -> str:
    """Return the value as an addition to `must be`, if it cannot be a secret."""
    value = problem["input"]
    chosen = problem["type"] in {"literal_error", "enum"} or problem["type"].endswith("_parsing")
    if isinstance(value, str) and chosen and len(value) <= _MOST_SHOWN:
        return f", not {value!r}"
    number = isinstance(value, int | float)
    return f", not {value}" if number and problem["type"] != "value_error" else ""


def _names(model: type[BaseModel], place: Iterable[int | str]) -> list[str]:
    """Return the fields at a place of a model, through lists and mappings."""
    models = [model]
    for part in place:
        fields = [each.model_fields[part] for each in models if part in each.model_fields]
        models = [one for each in fields for one in _models_in(each.annotation)] or models
    return list(dict.fromkeys(name for each in models for name in each.model_fields))


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from _models_in(each)
