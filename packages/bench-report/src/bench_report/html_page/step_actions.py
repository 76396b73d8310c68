"""An agent's actions in a step, in words and as places on the screen, for any vocabulary."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

from bench_report.text.untrusted import inline

Box = tuple[float, float, float, float]
"""Left, top, width and height."""

_WORDS = 160
_MOST_MARKS = 24
_MOST_CODE = 20_000
_WHERE = ("target", "start", "coordinate", "start_coordinate", "point", "position")
_TO = ("end", "to", "end_coordinate", "destination")
_ELEMENTS = ("element", "index", "id", "element_id", "bid", "ref")
_KINDS = ("kind", "type", "action", "do", "name", "action_type")
_MOVES = re.compile(r"tab|goto|go_to|navigat|^(?:go_)?(?:back|forward)$|open_|^switch|^search")
_SAID = (
    "text", "url", "value", "keys", "key", "query", "field", "app", "answer", "reason", "code",
)  # fmt: skip
_NOT_DONE = "not carried out"
_GROUPS = {
    "drag": ("drag",),
    "scroll": ("scroll", "wheel"),
    "type": ("type", "fill", "input", "write", "set_value", "send_keys", "select"),
    "click": ("click", "tap", "mouse_down", "mouse_up", "press_mouse"),
    "move": ("move", "hover", "mouse"),
}
# Positions and named arguments of pyautogui and of Navi's `computer.mouse`, as agents write them.
_CALL = re.compile(
    r"(?:pyautogui|computer\.mouse|computer\.keyboard|mouse|page\.mouse)\.(\w{1,40})\(([^()\n]{0,300})\)"
)
_NUMBER = re.compile(r"(?:^|[,(\s])(?:(\w{1,20})\s*=\s*)?(-?\d{1,6}(?:\.\d{1,9})?)(?=\s*(?:,|$))")


class Mark(NamedTuple):
    """The target of an action.

    Attributes:
        kind: `click`, `drag`, `scroll`, `type` or `move`.
        place: x and y of the point; `None` if only the element is known.
        to: End of a drag; for a scroll, its extent.
        relative: Whether both are fractions of the picture rather than its pixels.
        element: The id of the element that was named instead of a point.
    """

    kind: str
    place: tuple[float, float] | None
    to: tuple[float, float] | None = None
    relative: bool = False
    element: str | None = None

    def shown(self, boxes: Mapping[str, Box]) -> dict[str, Any] | None:
        """Return the mark as the page draws it; `None` if its place is unknown."""
        found: dict[str, Any] = {"kind": self.kind}
        box = boxes.get(self.element) if self.element is not None else None
        if box is not None:
            found["box"] = box
        place = self.place
        if place is None and box is not None:
            place = (box[0] + box[2] / 2, box[1] + box[3] / 2)
        if place is None:
            return None
        found["at"] = place
        if self.to is not None:
            found["to"] = self.to
        if self.relative:
            found["relative"] = True
        return found


def marks_of(actions: Sequence[Mapping[str, JsonValue]]) -> list[Mark]:
    """Return where the actions of a step went, in order.

    Understood are Proctor's own actions, those of browser-use, `x`/`y` and `coordinate` of computer-use
    models, and calls of pyautogui and of `computer.mouse` in code.
    """
    found: list[Mark] = []
    for action in actions:
        found += _marks(action)
        if len(found) >= _MOST_MARKS:
            break
    return found[:_MOST_MARKS]


def marks_of_step(
    actions: Sequence[Mapping[str, JsonValue]], results: Sequence[str]
) -> tuple[list[Mark], int]:
    """Return the targets of a step's actions on the picture before it, and the number of other targets.

    After an action that puts another page in front, later actions act on another picture. An action
    that was not carried out has no target.
    """
    found: list[Mark] = []
    elsewhere, moved = 0, False
    for place, action in enumerate(actions):
        if place < len(results) and results[place].startswith(_NOT_DONE):
            continue
        marks = marks_of([action])
        if moved:
            elsewhere += bool(marks)
        else:
            found += marks
        moved = moved or _MOVES.search(_unwrapped(action)[0].lower()) is not None
    return found[:_MOST_MARKS], elsewhere


def described_actions(
    actions: Sequence[Mapping[str, JsonValue]], names: Mapping[str, str]
) -> list[str]:
    """Return a line of words for each action: `click “Save”`, `type “blue lamp”`, `goto http://…`.

    Args:
        actions: The actions of a step.
        names: Element id to its role and name.
    """
    lines = []
    for action in actions:
        kind, given = _unwrapped(action)
        parts = [kind.replace("_", " ")]
        element = _element(given)
        place, _ = _point(given, _WHERE)
        if element is not None:
            parts.append(f"“{names[element]}”" if element in names else f"element {element}")
        elif place is not None:
            parts.append(f"at {place[0]:g}, {place[1]:g}")
        end, _ = _point(given, _TO)
        if end is not None:
            parts.append(f"to {end[0]:g}, {end[1]:g}")
        for name in _SAID:
            value = given.get(name)
            if value not in {None, "", False} if not isinstance(value, list | dict) else value:
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                parts.append(shown if name in {"url", "code"} else f"“{shown}”")
        lines.append(inline(" ".join(part[:_WORDS] for part in parts), _WORDS))
    return lines


def _unwrapped(action: Mapping[str, JsonValue]) -> tuple[str, Mapping[str, JsonValue]]:
    """Return an action's kind and arguments: `{"kind": "click", …}`, or `{"click": {…}}` as browser-use has it."""
    for key in _KINDS:
        kind = action.get(key)
        if isinstance(kind, str):
            return kind, action
    for key, value in action.items():
        if isinstance(value, dict):
            return key, value
    return next(iter(action), "nothing"), action


def _group(kind: str) -> str | None:
    low = kind.lower()
    return next((name for name, words in _GROUPS.items() if any(w in low for w in words)), None)


def _marks(action: Mapping[str, JsonValue]) -> Iterator[Mark]:
    kind, given = _unwrapped(action)
    code = next((given[n] for n in ("code", "script") if isinstance(given.get(n), str)), None)
    if isinstance(code, str):
        yield from _marks_of_code(code[:_MOST_CODE])
        return
    group = _group(kind)
    if group is None:
        return
    place, relative = _point(given, _WHERE)
    end, _ = _point(given, _TO)
    element = _element(given)
    if place is None and element is None:
        return
    if group == "scroll":
        end = _distance(given)
    yield Mark(group, place, end if group in {"drag", "scroll"} else None, relative, element)


def _point(
    given: Mapping[str, JsonValue], names: Sequence[str]
) -> tuple[tuple[float, float] | None, bool]:
    for name in names:
        value = given.get(name)
        pair = _pair(value)
        if pair is not None:
            relative = isinstance(value, dict) and value.get("unit") == "relative"
            return pair, relative
    if names is _WHERE:
        for x, y in (("x", "y"), ("coordinate_x", "coordinate_y"), ("start_x", "start_y")):
            pair = _pair([given.get(x), given.get(y)])
            if pair is not None:
                return pair, False
    else:
        pair = _pair([given.get("end_x"), given.get("end_y")])
        if pair is not None:
            return pair, False
    return None, False


def _pair(value: JsonValue | list[Any]) -> tuple[float, float] | None:
    if isinstance(value, dict):
        value = [value.get("x"), value.get("y")]
    if isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)):
        return float(value[0]), float(value[1])  # type: ignore[arg-type]  # checked
    return None


def _is_number(value: object) -> bool:
    # A bool is an int; a coordinate beyond any screen would make an image of its own.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6


def _element(given: Mapping[str, JsonValue]) -> str | None:
    target = given.get("target", given.get("start"))
    if isinstance(target, dict):
        given = target
    for name in _ELEMENTS:
        value = given.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None


def _distance(given: Mapping[str, JsonValue]) -> tuple[float, float]:
    across, down = (given.get(name, 0) for name in ("dx", "dy"))
    if not down and not across:
        across, down = (given.get(name, 0) for name in ("scroll_x", "scroll_y"))
    if not down and not across:
        return 0.0, -1.0 if given.get("direction") == "up" or given.get("down") is False else 1.0
    ends = [float(v) if _is_number(v) else 0.0 for v in (across, down)]  # type: ignore[arg-type]
    return ends[0], ends[1]


def _marks_of_code(code: str) -> Iterator[Mark]:
    """Find calls that move, click, drag, scroll or type; typing goes to the pointer's last place."""
    at: tuple[float, float] | None = None
    relative = False
    for call in _CALL.finditer(code):
        name, inside = call.group(1).lower(), call.group(2)
        group = _group(name)
        if group is None:
            continue
        element = re.search(r"\bid\s*=\s*['\"]?(\w{1,40})", inside)
        numbers = _arguments(inside)
        start = at
        if numbers is not None and group != "scroll":
            at, relative = numbers, all(0 <= n <= 1 for n in numbers) and "." in inside
        if element is not None and numbers is None:
            yield Mark(group, None, element=element.group(1))
        elif group == "drag" and start is not None and at is not None:
            yield Mark("drag", start, at, relative)
        elif group == "scroll" and at is not None:
            amount = _NUMBER.search(inside)
            up = amount is not None and float(amount.group(2)) > 0  # pyautogui counts upwards
            yield Mark("scroll", at, (0.0, -1.0 if up else 1.0), relative)
        elif at is not None and (group != "move" or numbers is not None):
            yield Mark(group, at, None, relative)


def _arguments(inside: str) -> tuple[float, float] | None:
    """Return x and y of a call: named, or its first two arguments."""
    found = list(_NUMBER.finditer(inside))
    named = {each.group(1): float(each.group(2)) for each in found if each.group(1)}
    if "x" in named and "y" in named:
        return named["x"], named["y"]
    plain = [float(each.group(2)) for each in found if not each.group(1)]
    return (plain[0], plain[1]) if len(plain) >= 2 else None
