"""What Google's two vocabularies of computer use have in common: functions, a grid of 1000, an answer with its picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bench_core.agents.dialects.coordinates import on_grid
from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Screen,
    function_tools,
    pictured,
    place_text,
    reply_to,
    tools_for_tabs,
)
from bench_core.agents.prompts import system_prompt
from bench_core.agents.records import Goto, Observation
from bench_core.agents.tools import InvalidCallError

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.agents.records import Action, Point
    from bench_core.models.records import Part, ToolCall

__all__ = ["GRID", "GoogleComputer", "flag", "navigated", "number", "point"]

GRID = 1000
_ALWAYS = ("intent", "safety_decision")
"""Arguments that any call may have, beside those of its function."""


def point(arguments: dict[str, Any], screen: Screen, prefix: str = "") -> Point:
    """Return the place of `x` and `y`, or of `end_x` and `end_y` and the like."""
    x, y = arguments[f"{prefix}x"], arguments[f"{prefix}y"]
    found = on_grid(x, y, screen.size, GRID)
    # the reference loop takes the nearest place on the screen, which is not the one that was named
    if not (0 <= x <= GRID and 0 <= y <= GRID):
        raise InvalidCallError(f"({x:g}, {y:g}) is outside the grid, which goes from 0 to {GRID}")
    return found


def flag(arguments: dict[str, Any], name: str, default: bool) -> bool:  # as `dict.get` has it
    """Return an argument that is true or false."""
    value = arguments.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidCallError(f"{name} is true or false, not {value!r}")
    return default if value is None else value


def number(arguments: dict[str, Any], name: str, default: float) -> float:
    """Return an argument that is a number and not negative."""
    value = arguments.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidCallError(f"{name} is a number from 0, not {value!r}")
    return value


def navigated(arguments: dict[str, Any], _: Screen) -> tuple[Action, ...]:
    """Return how to load the page of `url`."""
    url = arguments["url"]
    if not isinstance(url, str) or not url.strip():
        raise InvalidCallError("which url?")
    return (Goto(url=url.strip()),)


class GoogleComputer(Dialect):
    """A vocabulary of the tool `computer_use` of generateContent."""

    provider = "google"
    coordinates = "0-1000"
    pictures = True
    images = 5
    browser_only: ClassVar[tuple[str, ...]] = ()
    """Functions that only the set for browsers has, so that other sets do not exclude them."""

    def declare(self, screen: Screen) -> Declaration:
        """Declare the tool; see `Dialect`."""
        known = [
            n for n in (*self.members, *self.off) if screen.browser or n not in self.browser_only
        ]
        offered = self.available(screen)
        off: list[JsonValue] = [name for name in known if name not in offered]
        place = "ENVIRONMENT_BROWSER" if screen.browser else "ENVIRONMENT_DESKTOP"
        tool: dict[str, JsonValue] = {"environment": place}
        if off:
            tool["excluded_predefined_functions"] = off
        return Declaration(
            native_tools=({"computer_use": tool},),
            # neither vocabulary has tabs, and tasks may begin with several
            tools=(*tools_for_tabs(screen), *function_tools(screen, navigation=False)),
            system=system_prompt(
                screen.task, place=place_text(screen, load="navigate", back="go_back")
            ),
            body={"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
        )

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the function and its own arguments; see `Dialect`."""
        if call.name not in self.members:
            return None
        return call.name, {k: v for k, v in (call.arguments or {}).items() if k not in _ALWAYS}

    def thought(self, call: ToolCall) -> str:
        """Return the intent that a call states; see `Dialect`."""
        intent = (call.arguments or {}).get("intent")
        return intent if isinstance(intent, str) else ""

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        """Return what is to be known of a call; see `Dialect`."""
        return ("safety_check_acknowledged",) if _asked(call) else ()

    def show(self, observation: Observation, *, results: bool) -> tuple[Part, ...]:
        """Return what a turn shows; see `Dialect`."""
        return super().show(pictured(observation), results=results)

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Answer a call; see `Dialect`."""
        failed = done.error is not None
        # a call that was not carried out has no moment after it: it is told of in words, once
        shown = not failed or (done.last and not done.again)
        seen = done.seen if shown else Observation(url=done.seen.url)
        picture = seen.screenshot
        if failed and any(each.result.image == picture for each in done.earlier):
            picture = None
        # the API refuses an answer of its own functions without it, and documents none for desktops
        response: dict[str, JsonValue] = {"url": seen.url or ""}
        if seen.title:
            response["title"] = seen.title
        if seen.open_tabs:
            response["tabs"] = [
                f"{number}: {tab.title or tab.url}{' (active)' if tab.active else ''}"
                for number, tab in enumerate(seen.open_tabs)
            ]
        elif seen.tabs:
            response["windows"] = [
                f"{number}: {title}{' (active)' if number == seen.active_tab else ''}"
                for number, title in enumerate(seen.tabs)
            ]
        if seen.notices:
            response["notices"] = list(seen.notices)
        if failed:
            response["error"] = done.error
        if done.text:
            response["output"] = done.text
        if _asked(done.call):
            response["safety_acknowledgement"] = "true"
        content = () if picture is None else (picture,)
        return (reply_to(done.call, *content, extra={"response": response}),)


def _asked(call: ToolCall) -> bool:
    decision = (call.arguments or {}).get("safety_decision")
    return isinstance(decision, dict) and decision.get("decision") == "require_confirmation"
