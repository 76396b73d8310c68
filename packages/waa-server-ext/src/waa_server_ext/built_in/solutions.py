"""How tasks are done on the simulated desktop: clicks and keys, by element and by pixel.

A solution is written for this desktop, as a test is for its fixture; it stands for an agent that does
the task right, so that everything around the agent can be tested. Each has a variant that does the task
wrong and must score 0.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Literal

from bench_core.agents import Action, Click, Drag, ElementRef, Point, PressKeys, TypeText
from bench_core.errors import UnknownTaskError
from bench_core.records import Record

__all__ = ["Solution", "action_of", "demo_tasks", "solutions"]

_DEMO = (
    "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
    "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS",
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS",
)


class Solution(Record):
    """The actions that do one task, one for each observation.

    Attributes:
        task: `domain/stem`.
        elements: Targets are of the type `ElementRef`, whose `element` is the *name* to click on: the
            first element of the latest observation with that name, front windows first.
        pixels: The same with targets of the type `Point`, for the screen and setup the world starts with.
        wrong: A variant of `elements` that does the task wrong.
    """

    task: str
    elements: tuple[Action, ...]
    pixels: tuple[Action, ...]
    wrong: tuple[Action, ...]


def demo_tasks() -> tuple[str, ...]:
    """Return the three tasks of a demo."""
    return _DEMO


@functools.cache
def solutions() -> Mapping[str, Solution]:
    """Return every task that has a solution, by `domain/stem`."""
    return {task: solution_of(task) for task in scripts()}


def solution_of(task: str) -> Solution:
    """Return the solution of a task.

    Raises:
        UnknownTaskError: The task does not have one.
    """
    if task not in scripts():
        raise UnknownTaskError("the simulated desktop's", task, sorted(scripts())[:3])
    steps, swap = scripts()[task]["steps"], scripts()[task]["wrong"]
    by_name = tuple(action_of(step, {}) for step in steps)
    places = pixel_targets().get(task, [])
    placed: list[Action] = []
    for action, place in zip(by_name, places, strict=False):
        if isinstance(action, Click) and place is not None:
            target = Point(x=place[0], y=place[1])
            placed.append(action.model_copy(update={"target": target}))
        elif isinstance(action, Drag) and place is not None:
            placed.append(action.model_copy(update={"start": Point(x=place[0], y=place[1])}))
        else:
            placed.append(action)
    return Solution(
        task=task,
        elements=by_name,
        pixels=tuple(placed),
        wrong=tuple(action_of(step, swap) for step in steps),
    )


@functools.cache
def scripts() -> dict[str, Any]:
    """Return the steps of each solved task, by element names, and the names replaced in its wrong variant."""
    return _read("solutions.json")


@functools.cache
def pixel_targets() -> dict[str, Any]:
    """Return the place of each action that has one, recorded at the centers of the elements."""
    return _read("pixels.json")


def _read(name: str) -> dict[str, Any]:
    tasks = resources.files("waa_server_ext.built_in") / "tasks"
    data: dict[str, Any] = json.loads((tasks / name).read_text("utf-8"))
    return data


def action_of(step: Sequence[Any], swap: Mapping[str, str]) -> Action:
    """Return the action of a step such as `["double-click", NAME]`; `swap` replaces the name."""
    kind, what, *place = step
    what = swap.get(what, what)
    if kind == "type":
        return TypeText(text=what)
    if kind == "keys":
        return PressKeys(keys=tuple(what.split("+")))
    target = ElementRef(element=what)
    if kind == "drag":
        return Drag(start=target, end=Point(x=place[0], y=place[1]))
    button: Literal["left", "right"] = "right" if kind == "right-click" else "left"
    return Click(target=target, count=2 if kind == "double-click" else 1, button=button)
