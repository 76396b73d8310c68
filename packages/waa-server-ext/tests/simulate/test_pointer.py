"""What clicks do in fields and in long lists, as in Windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine
from waa_server_ext.simulate.ui.nodes import walk

if TYPE_CHECKING:
    from waa_server_ext.simulate.ui.nodes import Node


def _shown(desktop: Desktop) -> list[Node]:
    return [node for tree in reversed(desktop.trees()) for node in walk(tree)]


def _click(desktop: Desktop, name: str, count: int = 1, role: str | None = None) -> None:
    wanted = (n for n in _shown(desktop) if n.name == name and role in {None, n.role})
    rect = next(node.shown for node in wanted if not node.shown.empty)
    desktop.mouse.move((rect.left + rect.right) // 2, (rect.top + rect.bottom) // 2)
    for _ in range(count):
        desktop.mouse.click()
        desktop.machine.clock.advance(0.05)
    desktop.machine.clock.advance(1)


def test_a_triple_click_selects_what_a_field_holds(desktop: Desktop) -> None:
    desktop.programs.launch(["ms-clock://Timers"])
    _click(desktop, "Timer")
    _click(desktop, "Add new timer")
    _click(desktop, "Minutes", 3, "edit")
    desktop.keyboard.write("30")
    desktop.keyboard.press("tab")
    _click(desktop, "Save")
    assert (0, 30, 0) in [(t.hours, t.minutes, t.seconds) for t in desktop.machine.timers]


@pytest.mark.parametrize(("count", "left"), [(2, "one  three\nfour"), (3, "\nfour")])
def test_a_double_click_selects_a_word_and_a_triple_click_a_line(
    desktop: Desktop, count: int, left: str
) -> None:
    desktop.programs.launch(["notepad"])
    desktop.keyboard.write("one two three\nfour")
    field = next(node for node in _shown(desktop) if node.text is not None and node.text.multiline)
    desktop.mouse.move(field.rect.left + 44, field.rect.top + 12)
    for _ in range(count):
        desktop.mouse.click()
    desktop.keyboard.press("delete")
    assert field.text is not None
    assert field.text.text == left


def _items(desktop: Desktop) -> list[str]:
    return [node.name for node in _shown(desktop) if node.role == "item" and ":00 " in node.name]


def test_a_list_of_all_hours_is_shown_as_a_whole(desktop: Desktop) -> None:
    _open_hours(desktop)
    assert len(_items(desktop)) == 24


def test_a_list_that_the_screen_cannot_hold_says_how_many_are_left_and_shows_them() -> None:
    desktop = Desktop(Machine.fresh(), (1024, 600))
    _open_hours(desktop)
    assert _items(desktop)[-1] == "9:00 PM"
    _click(desktop, "2 more above, 2 more below")
    assert _items(desktop)[-1] == "11:00 PM"
    _click(desktop, "4 more above")
    desktop.mouse.scroll(-1200)
    assert _items(desktop)[0] == "4:00 AM"
    for clicks, first in ((10, "3:00 AM"), (0, "3:00 AM"), (-10, "4:00 AM"), (0, "4:00 AM")):
        desktop.mouse.scroll(clicks)
        assert _items(desktop)[0] == first
    _click(desktop, "11:00 PM")
    assert "11:00 PM" in [node.value or node.name for node in _shown(desktop)]


def _open_hours(desktop: Desktop) -> None:
    desktop.programs.launch(["ms-settings:display"])
    _click(desktop, "Night light", 1, "button")
    _click(desktop, "Schedule night light", 1, "toggle")
    _click(desktop, "Turn on", 1, "combo")
