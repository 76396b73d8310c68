"""Reference solutions of the built-in tasks, right and wrong ones, as clicks and typed text."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any, Literal

from pydantic import model_validator

from bench_core.records import Record

_ARGUMENTS = {"open": ("app",), "click": ("text",), "fill": ("field", "text"), "done": (),
              "enter": ("field",), "fail": ("text",)}  # fmt: skip


class SolutionStep(Record):
    """One step: bring an app's tab to the front, click a button, fill a field, press Enter in it, or end.

    Attributes:
        app: The app whose tab is opened.
        text: The text of the button, or the text to type.
        field: The `name` of the input.
    """

    do: Literal["open", "click", "fill", "enter", "done", "fail"]
    app: str = ""
    field: str = ""
    text: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, data: Any) -> Any:
        if not isinstance(data, list):
            return data
        do, *values = data
        return {"do": do, **dict(zip(_ARGUMENTS[do], values, strict=True))}


class Solution(Record):
    """A solution of a task, and whether it must pass."""

    task: str
    name: str
    passes: bool
    steps: tuple[SolutionStep, ...]


def load_solutions(task: str | None = None) -> list[Solution]:
    """Return the solutions of one built-in task or of all, the good one of each first."""
    folder = resources.files(__package__).joinpath("solutions")
    found = []
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        data = json.loads(file.read_text(encoding="utf-8"))
        if task in {None, data["task"]}:
            found += [
                Solution.model_validate({"task": data["task"], **each})
                for each in data["solutions"]
            ]
    return found
