"""What a model reads of an observation: the page or desktop as text, and the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.models.records import TextPart

if TYPE_CHECKING:
    from bench_core.agents.records import ActionResult, Observation
    from bench_core.models.records import Part

__all__ = ["observation_parts", "result_text"]

_MOST_ELEMENTS = 200
_MOST_TEXT = 20_000
_MOST_NAME = 120
_MOST_OPTIONS = 600


def observation_parts(observation: Observation, *, results: bool = True) -> tuple[Part, ...]:
    """Return an observation as text and, where there is one, the screenshot, marked if it can be.

    With `results`, the text begins with what became of the previous actions; without, each call is answered by
    itself.
    """
    lines = [*(_results(observation) if results else ()), *_lines(observation)]
    picture = observation.marked or observation.screenshot
    text = "\n".join(lines)
    if picture is None:
        return (TextPart(text=text or "(nothing to see)"),)
    return (TextPart(text=text), picture) if text else (picture,)


def _results(observation: Observation) -> list[str]:
    return [
        f"Result of action {number}: {result_text(result)}"
        for number, result in enumerate(observation.results, 1)
    ]


def result_text(result: ActionResult) -> str:
    """Return what the agent receives for one action, in words."""
    return " ".join(filter(None, (result.error or result.text or "ok", result.changed)))


def _lines(observation: Observation) -> list[str]:
    lines = list(observation.notices)
    if observation.url or observation.title:
        lines.append(f"Page: {observation.title or ''} {observation.url or ''}".rstrip())
    if observation.size:
        lines.append(f"Screen: {observation.size[0]} x {observation.size[1]} pixels")
    lines += _tab_lines(observation)
    text = observation.text or ""
    if not any(f"[{each.id}] " in text for each in observation.elements):
        lines += _element_lines(observation)
    if text:
        lines.append(text[:_MOST_TEXT])
        if len(text) > _MOST_TEXT:
            lines.append(f"(and {len(text) - _MOST_TEXT} characters more)")
    return lines


def _tab_lines(observation: Observation) -> list[str]:
    """Return the tabs of a browser, where there are several, or the windows of a desktop."""
    if observation.open_tabs:
        if len(observation.open_tabs) == 1:
            return []
        what, named = "Tab", [f"{tab.title} {tab.url}".strip() for tab in observation.open_tabs]
    else:
        what, named = "Tab" if observation.url else "Window", list(observation.tabs)
    return [
        f"{what} {index}: {name[:_MOST_NAME]}{' (active)' if index == observation.active_tab else ''}"
        for index, name in enumerate(named)
    ]


def _element_lines(observation: Observation) -> list[str]:
    shown = observation.elements[:_MOST_ELEMENTS]
    lines = ["Elements:"] if shown else []
    for element in shown:
        parts = [f"[{element.id}]", element.role, f'"{element.name[:_MOST_NAME]}"']
        if element.value:
            parts.append(f'= "{element.value[:_MOST_NAME]}"')
        if element.states:
            parts.append(f"({', '.join(element.states)})")
        if element.options:
            parts.append(f"options: {' | '.join(element.options)[:_MOST_OPTIONS]}")
        lines.append(" ".join(parts))
    hidden = len(observation.elements) - len(shown)
    return [*lines, f"(and {hidden} elements more)"] if hidden else lines
