"""Finding an element by its name and role, for scripts that are written before ids are given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bench_core.agents.records import Action, Element, ElementRef, Point, Target
from bench_core.errors import AgentError

_BESIDE = re.compile(r"(.+)@([+-]\d+),([+-]\d+)", re.DOTALL)
_NUMBERED = re.compile(r"(.+)#([1-9][0-9]*)", re.DOTALL)


def named_element(elements: Sequence[Element], name: str, role: str | None = None) -> Element:
    """Return the first element called `name`, or with `name#2` the second, and so on.

    With a `role` - `button`, `textbox`, `link`, `combobox` - others are passed over.

    Raises:
        AgentError: There is none; the message names close ones.

    >>> from bench_core.agents.records import Element
    >>> named_element([Element(id="4", name="OK"), Element(id="9", name="OK")], "OK#2").id
    '9'
    """
    if role is not None:
        elements = [each for each in elements if each.role == role]
    called = [each for each in elements if each.name == name]
    if called:
        return called[0]
    numbered = _NUMBERED.fullmatch(name)
    if numbered:
        called = [each for each in elements if each.name == numbered[1]]
        if len(called) >= int(numbered[2]):
            return called[int(numbered[2]) - 1]
    known = ", ".join(sorted({repr(each.name) for each in elements if each.name})[:40])
    kind = role or "element"
    raise AgentError(f"no {kind} is called {name!r}; there are {known or 'none'}")


def named_targets(action: Action, elements: Sequence[Element]) -> Action:
    """Return `action` with the names that it has for elements replaced by their ids.

    `name@+5,-3` is a point off an element's middle. Other names are left as they are: the
    environment reports them to the agent.
    """
    places = {
        field: _by_name(place, elements)
        for field in ("target", "start", "end")
        if isinstance(place := getattr(action, field, None), ElementRef)
    }
    return action.model_copy(update=places) if places else action


def _by_name(target: ElementRef, elements: Sequence[Element]) -> Target:
    if any(each.id == target.element for each in elements):
        return target
    moved = _BESIDE.fullmatch(target.element)
    try:
        element = named_element(elements, moved[1] if moved else target.element)
    except AgentError:
        return target
    if moved is None or element.rect is None:
        return ElementRef(element=element.id)
    x, y, width, height = element.rect
    return Point(x=x + width // 2 + int(moved[2]), y=y + height // 2 + int(moved[3]))
