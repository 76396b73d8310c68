"""Pixels, tree and clicks agree on every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actions import leaves
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageChops

from waa_server_ext.simulate.desktop.accessibility import accessibility_xml
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine
from waa_server_ext.simulate.ui.nodes import walk
from waa_server_ext.simulate.ui.painter import Painter

if TYPE_CHECKING:
    from waa_server_ext.simulate.ui.nodes import Node

_APPS = (
    "notepad", "explorer", "calc", "mspaint", "ms-settings:", "ms-settings:storagesense", "ms-clock://Timers",
    "chrome", "msedge", "code", "vlc", "soffice",
)  # fmt: skip
_KEYS = (
    "tab",
    "enter",
    "escape",
    "win",
    "alt+tab",
    "ctrl+s",
    "ctrl+f",
    "win+d",
    "win+e",
    "down",
    "f2",
    "apps",
)

_step = st.one_of(
    st.tuples(st.just("launch"), st.sampled_from(_APPS)),
    st.tuples(st.just("keys"), st.sampled_from(_KEYS)),
    st.tuples(st.just("click"), st.integers(0, 1439), st.integers(0, 899)),
    st.tuples(st.just("right"), st.integers(0, 1439), st.integers(0, 899)),
    st.tuples(st.just("drag"), st.integers(0, 1439), st.integers(0, 899)),
    st.tuples(st.just("scroll"), st.sampled_from((-400, 400))),
    st.tuples(st.just("type"), st.text("abcXYZ .-1", max_size=12)),
)
_scenes = st.tuples(
    st.sampled_from([(1440, 900), (1280, 720), (1024, 768)]), st.lists(_step, max_size=14)
)


def _screen(scene: tuple[tuple[int, int], list[tuple[Any, ...]]]) -> Desktop:
    size, steps = scene
    desktop = Desktop(Machine.fresh(), size)
    for kind, *arguments in steps:
        if kind == "launch":
            desktop.programs.launch(arguments)
        elif kind == "keys":
            desktop.keyboard.hotkey(*arguments[0].split("+"))
        elif kind == "type":
            desktop.keyboard.write(arguments[0])
        elif kind == "scroll":
            desktop.mouse.scroll(arguments[0])
        else:
            if kind == "drag":
                desktop.mouse.press()
            desktop.mouse.move(*arguments)
            if kind == "drag":
                desktop.mouse.release()
            else:
                desktop.mouse.click("right" if kind == "right" else "left")
        desktop.machine.clock.advance(1)
    return desktop


@given(_scenes)
@settings(max_examples=20)
def test_every_element_of_the_tree_is_hit_in_its_middle(scene: Any) -> None:
    desktop = _screen(scene)
    for element in leaves(accessibility_xml(desktop, "uia")):
        left, top, width, height = element.rect or (0, 0, 0, 0)
        found = desktop.hit(int(left + left + width) // 2, int(top + top + height) // 2)
        assert found is not None
        shown = found[1].shown
        box = (shown.left, shown.top, shown.width, shown.height)
        assert (found[1].name, box) == (element.name, element.rect)


@given(_scenes, st.data())
@settings(max_examples=20)
def test_no_element_draws_outside_of_its_rectangle(scene: Any, data: st.DataObject) -> None:
    desktop = _screen(scene)
    tree = data.draw(st.sampled_from(desktop.trees()))
    drawn = Image.new("RGB", desktop.size, "#123456")
    painter = Painter(drawn)
    nodes = [node for node in walk(tree) if not node.shown.empty]
    node: Node = data.draw(st.sampled_from(nodes))
    painter.draw(node)
    touched = ImageChops.difference(drawn, Image.new("RGB", desktop.size, "#123456")).getbbox()
    if touched is not None:
        left, top, right, bottom = touched
        shown = node.shown
        assert (left >= shown.left, top >= shown.top) == (True, True)
        assert (right <= shown.right, bottom <= shown.bottom) == (True, True)


@given(_scenes)
@settings(max_examples=20)
def test_what_is_named_and_shown_as_text_is_drawn(scene: Any) -> None:
    """A visible label with words in it leaves pixels inside its rectangle, and they are in the screen."""
    desktop = _screen(scene)
    picture = desktop.picture()
    front = desktop.trees()[-1]
    for node in walk(front):
        wide = node.shown.width >= 30 and node.shown.height >= 14 and node.shown == node.rect
        if node.role == "label" and node.name.strip(" .-") and wide and not node.children:
            part = picture.crop(node.shown)
            assert part.getcolors(1) is None, node.name


@given(_scenes)
@settings(max_examples=20)
def test_children_stay_inside_their_parents_and_the_screen(scene: Any) -> None:
    desktop = _screen(scene)
    for tree in desktop.trees():
        for node in walk(tree):
            assert node.shown.clipped(desktop.screen) == node.shown or node.shown.empty
            for child in node.children:
                assert child.shown.empty or child.shown.clipped(node.shown) == child.shown


@given(_scenes)
@settings(max_examples=15)
def test_the_same_input_gives_the_same_screen(scene: Any) -> None:
    first, second = _screen(scene), _screen(scene)
    assert accessibility_xml(first, "uia") == accessibility_xml(second, "uia")
    assert first.picture().tobytes() == second.picture().tobytes()


@given(_scenes)
@settings(max_examples=15)
def test_the_win32_tree_is_a_part_of_the_uia_tree(scene: Any) -> None:
    desktop = _screen(scene)
    uia = accessibility_xml(desktop, "uia")
    for element in leaves(accessibility_xml(desktop, "win32")):
        left, top, width, height = (int(each) for each in element.rect or (0, 0, 0, 0))
        assert f'cp:screencoord="({left}, {top})" cp:size="({width}, {height})"' in uia
