"""WebArena-Verified's statements to every agent: the way of working, and the final answer's form.

Nothing in it is derived from the task's expected values: type and status are scored, so the agent must give them
itself, and the data set's own schema of the data would give both away. The named fields are those in the goal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

Scalar = str | int | float | bool | None

_TASK_TYPE = (
    "RETRIEVE: you were asked for information. MUTATE: you were asked to create, change or "
    "delete something. NAVIGATE: you were asked to show or open a page."
)
_STATUS = (
    "SUCCESS: done. ACTION_NOT_ALLOWED_ERROR: the action that is asked for is one that the site does not offer at "
    "all, or not in this state. NOT_FOUND_ERROR: the thing that it is asked for cannot be found, however it is "
    "looked for. PERMISSION_DENIED_ERROR: your account may not do it. DATA_VALIDATION_ERROR: the "
    "task's input is missing or invalid. UNKNOWN_ERROR: anything else."
)
_DATA = (
    "For RETRIEVE with SUCCESS, else null: a list of one item per result, numbers as numbers, ids as the text that the "
    "site shows, bare values without any words around them; an object when the task asks for named fields."
)
_DETAILS = "What went wrong, when status is not SUCCESS."
_KEYS = re.compile(r"\b(?:keys? |Use (?=\"))((?:[^.]|\.(?=\S))*)")
_NAME = re.compile(r'"(\w+)"')


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Members(_Strict):
    """An object as a list of its members, because providers' strict schemas have no free-form objects."""

    members: list[Any]

    @model_validator(mode="before")
    @classmethod
    def _from_mapping(cls, data: Any) -> Any:
        if isinstance(data, dict) and set(data) != {"members"}:
            return {"members": [{"name": name, "value": value} for name, value in data.items()]}
        return data

    def as_mapping(self) -> dict[str, JsonValue]:
        """Return the object."""
        return {each.name: _plain(each.value) for each in self.members}


class Part(_Strict):
    """One named value of an object in an object."""

    name: str
    value: Scalar


class PartObject(_Members):
    """An object in an object, such as an address."""

    members: list[Part]


class Member(_Strict):
    """One named value of an object."""

    name: str
    value: Scalar | list[Scalar] | PartObject


class DataObject(_Members):
    """An object with named fields."""

    members: list[Member]


class Declaration(_Strict):
    """Report the outcome of the task."""

    task_type: Literal["RETRIEVE", "MUTATE", "NAVIGATE"] = Field(description=_TASK_TYPE)
    # Required of the agent: 40 tasks expect another status than SUCCESS, so it must not be derived.
    status: Literal[
        "SUCCESS",
        "NOT_FOUND_ERROR",
        "PERMISSION_DENIED_ERROR",
        "ACTION_NOT_ALLOWED_ERROR",
        "DATA_VALIDATION_ERROR",
        "UNKNOWN_ERROR",
    ] = Field(description=_STATUS)
    retrieved_data: list[Scalar | DataObject] | None = Field(
        default=None,
        description=_DATA,
    )
    error_details: str | None = Field(default=None, description=_DETAILS)

    def as_response(self) -> dict[str, JsonValue]:
        """Return the answer in webarena-verified's format."""
        data = self.retrieved_data
        items = None if data is None else [_plain(each) for each in data]
        return {
            "task_type": self.task_type,
            "status": self.status,
            "retrieved_data": items,
            "error_details": self.error_details,
        }


def _plain(item: Any) -> JsonValue:
    plain: JsonValue = item.as_mapping() if isinstance(item, _Members) else item
    return plain


def answer_schema(goal: str) -> dict[str, JsonValue]:
    """Return the JSON Schema of the answer that ends a task, with the fields that its goal names.

    >>> schema = answer_schema('Get the best. Return an object with keys "name" and "price" only.')
    >>> schema["properties"]["retrieved_data"]["items"]["required"]
    ['name', 'price']
    """
    words = _KEYS.search(goal)
    names = list(dict.fromkeys(_NAME.findall(words[1]))) if words else []
    items: dict[str, Any] = {"type": ["string", "number", "boolean", "object", "null"]}
    if names:
        items = {"type": "object", "properties": {each: {} for each in names}, "required": names}
    fields = Declaration.model_json_schema()["properties"]
    choices: dict[str, Any] = {
        name: {"type": "string", "enum": fields[name]["enum"], "description": meaning}
        for name, meaning in (("task_type", _TASK_TYPE), ("status", _STATUS))
    }
    data: dict[str, Any] = {"type": ["array", "null"], "items": items, "description": _DATA}
    details: dict[str, Any] = {"type": ["string", "null"], "description": _DETAILS}
    return {
        "type": "object",
        "properties": {**choices, "retrieved_data": data, "error_details": details},
        "required": [*choices],
    }


_SITES = {
    "gitlab": "GitLab: change things through its pages, not through its API or a terminal.",
    "map": "Map: addresses, distances and routes come from this map, not from memory.",
    "reddit": "Forums: post and vote as the user who is logged in.",
    "shopping": "Shop: you are logged in as a customer; the order history is under My Account.",
    "shopping_admin": "Shop's back office: it lives below /admin; reports may need Show Report.",
    "wikipedia": "Wikipedia: an offline copy; use its own search.",
}
_INSTRUCTIONS = (
    "You are logged in where an account is needed. Stay on these sites.",
    "",
    "- Asked to open or show a page: leave it open as the last page you visited, then finish.",
    "- Asked to change something: carry it out on the site before you finish, unless the task says to leave it unsent.",
    "- Asked for information: read it on the site; never answer from memory.",
    "- The sites' data is of earlier years: go by the dates in the task and on the site. Write dates with day, month and year.",
    "- When the task cannot be done, say so by the status and explain it in error_details.",
)


def instructions(sites: Sequence[str], start_urls: Sequence[str]) -> str:
    """Return every agent's instructions besides the task, the same for all tasks on the same sites."""
    tabs = [f"- {url}" for url in start_urls]
    known = [f"- {_SITES[name]}" for name in sorted(set(sites)) if name in _SITES]
    opening = "You work on test copies of web sites, which are open in your tabs:"
    return "\n".join([opening, *tabs, *_INSTRUCTIONS, *known])
