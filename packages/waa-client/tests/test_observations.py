from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import pytest
from fake_vm import NAMESPACES, TREE, png
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bench_core.agents import Element, draw_marks
from waa_client.observations import TreeError, elements_of, is_still

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = (1280, 720)


def node(
    tag: str, name: str, rect: tuple[int, int, int, int], inside: str = "", **states: str
) -> str:
    x, y, width, height = rect
    given = {"visible": "true", "enabled": "true", **states}
    shown = " ".join(f'st:{key}="{value}"' for key, value in given.items())
    return (
        f'<{tag} name="{name}" {shown} cp:screencoord="({x}, {y})" cp:size="({width}, {height})">'
        f"{inside}</{tag}>"
    )


def tree(*windows: str) -> str:
    return f"<desktop {NAMESPACES}>{''.join(windows)}</desktop>"


def names(elements: Iterable[Element]) -> list[str]:
    return [each.name for each in elements]


def test_leaves_that_can_be_used_are_elements_front_windows_first() -> None:
    found = elements_of(TREE, SIZE)
    assert [(e.id, e.role, e.name, e.rect, e.states) for e in found] == [
        ("0", "button", "File", (110, 60, 40, 20), ()),
        ("1", "textbox", "Text", (110, 90, 380, 250), ()),
        ("2", "button", "Grey", (160, 60, 40, 20), ("disabled",)),
        ("3", "button", "Start", (4, 684, 32, 32), ()),
    ]
    assert found[1].value == "hello"


def test_elements_of_the_window_with_the_focus_come_first() -> None:
    bar = node("shell", "Taskbar", (0, 680, 1280, 40), node("button", "Start", (4, 684, 32, 32)))
    front = node(
        "notepad", "draft", (0, 0, 800, 600), node("button", "OK", (9, 9, 20, 20)), active="true"
    )
    assert names(elements_of(tree(bar, front), SIZE)) == ["OK", "Start"]


def test_a_menu_on_the_window_with_the_focus_comes_before_it_and_the_taskbar_after() -> None:
    menu = node("menu", "Context", (20, 30, 90, 90), node("menuitem", "Cut", (20, 30, 90, 20)))
    bar = node("shell", "Taskbar", (0, 680, 1280, 40), node("button", "Start", (4, 684, 32, 32)))
    front = node(
        "notepad", "draft", (0, 0, 800, 600), node("button", "OK", (300, 9, 20, 20)), active="true"
    )
    assert names(elements_of(tree(menu, bar, front), SIZE)) == ["Cut", "OK", "Start"]


def test_roles_are_words_and_not_window_classes_and_states_are_named() -> None:
    wrapped = "win:class=\"&lt;class 'pywinauto.controls.uia_controls.{}Wrapper'&gt;\""
    inside = "".join(
        node(f"{tag} {wrapped.format(kind)}", tag, (at * 30, 9, 20, 20), **states).replace(
            f"</{tag} {wrapped.format(kind)}>", f"</{tag}>"
        )
        for at, (tag, kind, states) in enumerate(
            [
                ("richeditd2dpt", "Edit", {"keyboard_focused": "true"}),
                ("checkbox", "Button", {"checked": "true"}),
                ("uiitem", "ListItem", {"selected": "true"}),
                ("strange-button", "Button", {"expanded": "true"}),
                ("cabinetwclass", "Unknown", {}),
            ]
        )
    )
    found = elements_of(tree(node("w", "w", (0, 0, 900, 600), inside)), SIZE)
    assert [(e.role, e.states) for e in found] == [
        ("textbox", ("focused",)), ("checkbox", ("checked",)), ("listitem", ("selected",)),
        ("button", ("expanded",)), ("pane", ()),
    ]  # fmt: skip


def test_a_control_is_one_element_with_the_texts_inside_it_and_stays_one_around_others() -> None:
    texts = node("static", "Report.docx", (0, 0, 50, 20)) + node("static", "12 KB", (60, 0, 50, 20))
    folded = node("treeitem", "", (0, 0, 200, 20), texts)
    inner = node("treeitem", "Inner", (10, 60, 200, 20))
    outer = node("treeitem", "Outer", (0, 40, 200, 40), inner)
    found = elements_of(tree(node("w", "w", (0, 0, 900, 600), folded + outer)), SIZE)
    assert [(e.role, e.name) for e in found] == [
        ("treeitem", "Report.docx 12 KB"), ("treeitem", "Outer"), ("treeitem", "Inner"),
    ]  # fmt: skip


def test_blank_texts_are_left_out() -> None:
    inside = (
        node("static", " ", (0, 0, 50, 20)) + node("static", "Hours", (0, 30, 50, 20))
        + node("button", "Increase", (0, 60, 50, 20)) + node("edit", "Hours", (0, 90, 50, 20))
        + node("button", "Sound", (0, 120, 50, 20)) + node("static", "Sound", (0, 150, 50, 20))
        + node("static", "Hours", (0, 180, 50, 20))
    )  # fmt: skip
    found = elements_of(tree(node("w", "w", (0, 0, 900, 600), inside)), SIZE)
    assert [(e.role, e.name) for e in found] == [
        ("text", "Hours"), ("button", "Increase"), ("textbox", "Hours"), ("button", "Sound"), ("text", "Sound"),
        ("text", "Hours"),
    ]  # fmt: skip


def test_windows_with_the_same_title_are_told_apart() -> None:
    windows = [
        node("n", title, (at, 0, 90, 90), node("button", "Close", (at + 5, 5, 9, 9)))
        for at, title in ((0, "Untitled"), (100, "Untitled"), (200, ""))
    ]
    assert [e.window for e in elements_of(tree(*windows), SIZE)] == [
        "Untitled", "Untitled (2)", "pane",
    ]  # fmt: skip


def test_what_a_window_above_covers_is_no_element() -> None:
    above = node("dialog", "Save as", (0, 0, 300, 300), node("button", "OK", (10, 10, 50, 20)))
    below = node(
        "notepad", "Notepad", (0, 0, 800, 600),
        node("button", "hidden", (100, 100, 20, 20)) + node("button", "seen", (400, 400, 20, 20)),
    )  # fmt: skip
    assert names(elements_of(tree(above, below), SIZE)) == ["OK", "seen"]


@pytest.mark.parametrize("state", [{"visible": "false"}, {"minimized": "true"}])
def test_windows_that_are_not_shown_hide_nothing_and_have_no_elements(
    state: dict[str, str],
) -> None:
    gone = node("a", "gone", (0, 0, 900, 700), node("button", "in it", (5, 5, 9, 9)), **state)
    shown = node("b", "shown", (0, 0, 800, 600), node("button", "seen", (50, 50, 20, 20)))
    assert names(elements_of(tree(gone, shown), SIZE)) == ["seen"]


def test_elements_are_cut_to_the_screen_and_those_off_it_left_out() -> None:
    window = node(
        "w", "w", (0, 0, 1280, 720),
        node("a", "half", (1270, 0, 100, 10)) + node("a", "off", (-50, 0, 40, 10))
        + node("a", "empty", (5, 5, 0, 10)),
    )  # fmt: skip
    found = elements_of(tree(window), SIZE)
    assert [(e.name, e.rect) for e in found] == [("half", (1270, 0, 10, 10))]


@pytest.mark.parametrize(
    "xml",
    [
        "", "<desktop>", "no xml", "<a/><b/>", "<a>&undefined;</a>", "\ud800",
        '<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>', "<a>" * 300 + "</a>" * 300,
    ],
)  # fmt: skip
def test_a_tree_that_is_malformed_or_hostile_is_refused(xml: str) -> None:
    with pytest.raises(TreeError):
        elements_of(xml, SIZE)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    with contextlib.suppress(TreeError):
        elements_of(text, SIZE)


@given(st.lists(st.tuples(*[st.integers(-2000, 4000)] * 4), max_size=8))
def test_every_element_lies_on_the_screen(rects: list[tuple[int, int, int, int]]) -> None:
    inside = "".join(node("a", str(number), rect) for number, rect in enumerate(rects))
    for element in elements_of(tree(node("w", "w", (0, 0, 9, 9), inside)), SIZE):
        x, y, width, height = element.rect or (-1, -1, 0, 0)
        assert 0 <= x < x + width <= SIZE[0]
        assert 0 <= y < y + height <= SIZE[1]


def test_marks_are_drawn_where_elements_are_and_nowhere_else() -> None:
    marked = Image.open(
        io.BytesIO(draw_marks(png((200, 100)), [Element(id="7", rect=(50, 40, 60, 40))]))
    )
    grey = (200, 200, 200)
    assert marked.size == (200, 100)
    assert marked.getpixel((109, 79)) != grey
    assert marked.getpixel((100, 60)) == grey
    assert marked.getpixel((10, 10)) == grey


def test_labels_cover_no_element_where_there_is_a_place_beside_it() -> None:
    first, second = Element(id="1", rect=(50, 40, 60, 20)), Element(id="2", rect=(50, 62, 60, 20))
    marked = Image.open(io.BytesIO(draw_marks(png((200, 100)), [first, second])))
    for x, y, width, height in ((50, 40, 60, 20), (50, 62, 60, 20)):
        inside = {
            marked.getpixel((at, down))
            for at in range(x + 1, x + width - 1)
            for down in range(y + 1, y + height - 1)
        }
        assert inside == {(200, 200, 200)}


def test_text_that_can_only_be_read_is_not_marked() -> None:
    picture = png((200, 100))
    text = Element(id="1", role="text", rect=(50, 40, 60, 20))
    marked = Image.open(io.BytesIO(draw_marks(picture, [text])))
    assert marked.getcolors() == [(200 * 100, (200, 200, 200))]


def test_a_screen_is_still_when_only_a_caret_blinks() -> None:
    before = Image.new("L", (400, 300), 255)
    caret, window = before.copy(), before.copy()
    caret.paste(0, (10, 10, 12, 26))
    window.paste(0, (50, 50, 250, 200))
    pictures = [io.BytesIO() for _ in range(3)]
    for picture, out in zip((before, caret, window), pictures, strict=True):
        picture.save(out, "PNG")
    first, blinked, opened = (out.getvalue() for out in pictures)
    assert is_still(first, first)
    assert is_still(first, blinked)
    assert not is_still(first, opened)


def test_a_picture_that_cannot_be_decoded_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be decoded"):
        draw_marks(b"\x89PNG\r\n\x1a\n", [])
