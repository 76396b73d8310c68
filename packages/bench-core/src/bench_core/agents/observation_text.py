"""A model's view of an observation: the page or desktop as text, and the picture."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from bench_core.agents.records import ActionResult, Click, Observation, TypeText, shortened
from bench_core.models.records import ImagePart, TextPart

SCREEN_BEGINS = "--- the screen begins here"
SCREEN_ENDS = "--- the screen ends here"
"""How the lines of a text begin that say which part of it is on the screen."""

_MOST_ELEMENTS = 200
_MOST_TEXT = 20_000
_MOST_READ = 50_000
_MOST_NAME = 120
_MOST_OPTIONS = 600
_MOST_CHANGED = 0.6
_MOST_COMPARED = 1_000_000
_CHANGED = "What has changed since you were last shown it (~ reads so now, - is gone, + is new; the rest is as before):"
UNCHANGED = "What there is to read has not changed since you were last shown it."


def observation_parts(
    observation: Observation, *, results: bool = True
) -> tuple[TextPart | ImagePart, ...]:
    """Return an observation as text and its screenshot, if any, marked if possible.

    With `results`, the text begins with the results of the previous actions; without, each call is answered by
    itself.
    """
    became = [
        f"Result of action {number}: {as_shown(result_text(result), observation)}"
        for number, result in enumerate(observation.results if results else (), 1)
    ]
    lines = [*became, *_lines(observation)]
    picture = observation.marked or observation.screenshot
    text = "\n".join(lines)
    if picture is None:
        return (TextPart(text=text or "(nothing to see)"),)
    return (TextPart(text=text), picture) if text else (picture,)


def result_text(result: ActionResult) -> str:
    """Return the agent's message about one action."""
    said = result.error or result.text or "ok"
    # an error may give the change as its reason
    return said if result.changed in said else f"{said}; {result.changed}"


def as_shown(said: str, observation: Observation) -> str:
    """Return a result's text without the address of the page that is shown with it."""
    return said.replace(f"' ({observation.url})", "'")


def clicked_text(action: Click, called: str) -> str:
    """Return the agent's message about a click: its kind and target, empty if unknown."""
    once = "clicked" if action.button == "left" else f"{action.button}-clicked"
    did = {2: "double-clicked", 3: "triple-clicked"}.get(action.count, once)
    return f"{did} {called}" if called else ""


def typed_text(action: TypeText, called: str, holds: str | None = None) -> str:
    """Return the message about typing: the field, its content if that differs from the text, and Enter."""
    if not called:
        return ""
    said = f"typed into {called}"
    if holds is not None and holds.split() != action.text.split():
        said += f" (it holds '{shortened(holds, _MOST_NAME)}')" if holds else " (it is empty)"
    return f"{said}, then Enter" if action.enter else said


def _lines(observation: Observation) -> list[str]:
    lines = list(observation.notices)
    if observation.url:
        lines.append(f"Page: {observation.title or ''} {observation.url}")
    elif observation.title:
        lines.append(f"In front: {observation.title}")
    if observation.size:
        lines.append(f"Screen: {observation.size[0]} x {observation.size[1]} pixels")
    grouped = any(each.window for each in observation.elements)
    return [*lines, *(() if grouped else _tab_lines(observation)), *_content(observation)]


def _content(observation: Observation) -> list[str]:
    """Return the text, and the elements if they do not stand in it."""
    text = observation.text or ""
    listed = not any(f"[{each.id}] " in text for each in observation.elements)
    lines = [*(_element_lines(observation) if listed else ()), *text[:_MOST_TEXT].splitlines()]
    if len(text) > _MOST_TEXT:
        lines.append(f"(and {len(text) - _MOST_TEXT} characters more)")
    return lines


def lines_from(start: int, lines: Sequence[str], tool: str) -> str:
    """Return as many lines as a model reads at once, and how `tool` gives the rest."""
    text = "\n".join(lines[start:])
    if len(text) <= _MOST_READ:
        return text or "(nothing)"
    shown = text[:_MOST_READ].rpartition("\n")[0] or text[:_MOST_READ]
    following = start + shown.count("\n") + 1
    return f"{shown}\n({len(lines) - following} lines more: {tool} with start {following})"


def changed_parts(before: Observation, now: Observation) -> Observation:
    """Return an observation with the changes alone, if the page is the same and that is shorter."""
    if (before.url, before.active_tab) != (now.url, now.active_tab):
        return now
    old, old_screen = _apart(_content(before))
    new, screen = _apart(_content(now))
    lines = _changes(old, new)
    if screen != old_screen:
        lines += screen
    grouped = any(each.window for each in now.elements)
    told = {"elements": (), **({"tabs": (), "active_tab": None} if grouped else {})}
    if new and not lines:
        return now.model_copy(update={"text": UNCHANGED, **told})
    text = "\n".join([_CHANGED, *lines])
    if len(text) > _MOST_CHANGED * sum(len(each) + 1 for each in new):
        return now
    return now.model_copy(update={"text": text, **told})


def _apart(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return the lines of a page, and those that say which of them are on the screen."""
    screen = []
    for number, line in enumerate(lines):
        if line.startswith(SCREEN_BEGINS):
            screen.append(f"{line.rstrip(' -')}, before: {_short(lines[number + 1])}")
        elif line.startswith(SCREEN_ENDS):
            screen.append(f"{line.rstrip(' -')}, after: {_short(lines[number - 1])}")
    return [each for each in lines if not each.startswith((SCREEN_BEGINS, SCREEN_ENDS))], screen


def _short(text: str) -> str:
    return shortened(text.strip(), _MOST_NAME)


def _changes(old: list[str], new: list[str]) -> list[str]:
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, second = old[start : len(old) - end], new[start : len(new) - end]
    if len(first) * len(second) > _MOST_COMPARED:
        return second
    lines = []
    for tag, a, b, c, d in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if tag == "replace" and b - a == d - c:
            lines += [f"~ {each}" for each in second[c:d]]
            continue
        if c < d and start + c > 0:
            lines.append(f"after: {_short(new[start + c - 1])}")
        lines += [f"- {_short(each)}" for each in first[a:b]]
        lines += [f"+ {each}" for each in second[c:d]]
    return lines


def _tab_lines(observation: Observation) -> list[str]:
    """Return the tabs of a browser, if there are several, or the windows of a desktop."""
    if observation.open_tabs:
        if len(observation.open_tabs) == 1:
            return []
        what, named = "Tab", [f"{tab.title} {tab.url}".strip() for tab in observation.open_tabs]
    else:
        what, named = "Tab" if observation.url else "Window", list(observation.tabs)
    return [
        f"{what} {index}: {_short(name)}{' (active)' if index == observation.active_tab else ''}"
        for index, name in enumerate(named)
    ]


def _element_lines(observation: Observation) -> list[str]:
    shown = observation.elements[:_MOST_ELEMENTS]
    lines = ["Elements:"] if shown else []
    window = ""
    for element in shown:
        if element.window != window:
            window = element.window
            lines.append(_window_line(observation, window))
        parts = [f"[{element.id}]", element.role, f'"{_short(element.name)}"']
        if element.value:
            parts.append(f'= "{_short(element.value)}"')
            if len(element.value) > _MOST_NAME:
                parts.append(f"({len(element.value)} characters)")
        if element.states:
            parts.append(f"({', '.join(element.states)})")
        if element.options:
            parts.append(f"options: {shortened(' | '.join(element.options), _MOST_OPTIONS)}")
        lines.append(" ".join(parts))
    hidden = len(observation.elements) - len(shown)
    if hidden:
        lines.append(f"(and {hidden} elements more)")
    if window:
        seen = {each.window for each in observation.elements}
        unseen = [each for each in observation.tabs if each not in seen]
        lines += [f"{_window_line(observation, each)} (no elements in view)" for each in unseen]
    return lines


def _window_line(observation: Observation, window: str) -> str:
    """Return the line above the elements of a window, with the number that switches to it."""
    if window not in observation.tabs:
        return f"{_short(window)}:"
    index = observation.tabs.index(window)
    front = " (in front)" if index == observation.active_tab else ""
    return f"Window {index}: {_short(window)}{front}"
