"""What an element's id stands for when the act is done, and what is said of the desktop after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_vm import TREE, FakeVm, Reply

from bench_core.agents import (
    Click,
    ElementRef,
    Point,
    PressKeys,
    ReadPage,
    SwitchTab,
    TypeText,
    Wait,
    observation_parts,
)
from waa_client.desktop import View, WaaDesktop
from waa_client.vm import VmClient, VmOptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FILE = Click(target=ElementRef(element="0"))


@pytest.fixture
async def desktop(vm: FakeVm) -> AsyncIterator[WaaDesktop]:
    async with VmClient(vm.url, VmOptions(wait_s=0.01)) as client:
        yield WaaDesktop(client, View(elements=True, windows=True))


async def test_a_click_goes_to_where_the_control_is_now(vm: FakeVm, desktop: WaaDesktop) -> None:
    await desktop.observe()
    vm.tree = TREE.replace('cp:screencoord="(110, 60)"', 'cp:screencoord="(310, 60)"')
    assert (await desktop.act(FILE)).ok
    assert vm.computer.clicks == [("left", 330, 70)]


async def test_a_control_that_is_gone_is_not_clicked(vm: FakeVm, desktop: WaaDesktop) -> None:
    await desktop.observe()
    vm.tree = TREE.replace('name="File"', 'name="Delete all"')
    result = await desktop.act(FILE)
    assert not result.ok
    assert "'File', is gone: what is shown below is new" in str(result.error)
    assert vm.computer.clicks == []
    above = '<shell name="Top" st:visible="true" cp:screencoord="(100, 50)" cp:size="(90, 60)"/>'
    vm.tree = TREE.replace("  <notepad", above + "  <notepad", 1)
    assert "'File', is covered: " in str((await desktop.act(FILE)).error)


async def test_an_element_keeps_its_id_and_a_new_one_takes_one_that_was_never_given(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    button = '<button name="{}" st:visible="true" st:enabled="true" cp:screencoord="({}, 60)" cp:size="(20, 20)"/>'
    new = button.format("New", 210) + button.format("Newer", 240)
    ids = {each.name: each.id for each in (await desktop.observe()).elements}
    vm.tree = TREE.replace('<button name="File"', f'{new}<button name="File"').replace(
        '"(110, 90)"', '"(110, 95)"'
    )
    later = {each.name: each.id for each in (await desktop.observe()).elements}
    assert later == {**ids, "New": "4", "Newer": "5"}
    vm.tree = vm.tree.replace('name="File"', 'name="Open"')
    last = {each.name: each.id for each in (await desktop.observe()).elements}
    assert (last["Open"], last["Newer"]) == ("6", "5")
    vm.tree = vm.tree.replace(button.format("New", 210), "")
    await desktop.observe()
    vm.tree = vm.tree.replace(
        '<button name="Open"', f'{button.format("Newest", 210)}<button name="Open"'
    )
    again = {each.name: each.id for each in (await desktop.observe()).elements}
    assert again["Newest"] == "7"
    assert (await desktop.act(Click(target=ElementRef(element="5")))).ok
    assert not (await desktop.act(Click(target=ElementRef(element="4")))).ok
    assert vm.computer.clicks == [("left", 250, 70)]


async def test_the_elements_stand_below_their_windows_which_are_not_listed_again(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    vm.title, vm.windows = "draft - Notepad", ("draft - Notepad", "Clock", "Program Manager")
    vm.tree = TREE.replace('name="Taskbar"', 'name="Program Manager"')
    text = observation_parts(await desktop.observe())[0].text
    assert text.splitlines()[-8:] == [
        "Elements:", "Window 0: draft - Notepad (in front)", '[0] button "File"',
        '[1] textbox "Text" = "hello"', '[2] button "Grey" (disabled)', "Desktop:",
        '[3] button "Start"', "Window 1: Clock (no elements in view)",
    ]  # fmt: skip
    assert text.count("Window 1") == 1


async def test_the_whole_text_of_an_element_is_read_in_parts(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    assert "read_page" in await desktop.offers()
    value = "a" * 40_000 + "b" * 40_000
    vm.tree = TREE.replace("hello", value)
    text = observation_parts(await desktop.observe())[0].text
    assert 'aaa…" (80000 characters)' in text
    first = (await desktop.act(ReadPage(element="1"))).text
    assert first.endswith("(16 lines more: read_text with start 24)")
    second = (await desktop.act(ReadPage(element="1", start=24))).text
    assert (first.rpartition("\n")[0] + second).replace("\n", "") == value
    assert not (await desktop.act(ReadPage(element="77"))).ok


@pytest.mark.parametrize(
    ("x", "y", "said"),
    [(130, 70, "clicked button 'File'"), (300, 200, "clicked textbox 'Text'"), (450, 55, ""), (900, 300, "")],
)  # fmt: skip
async def test_a_click_says_what_was_under_the_press(
    desktop: WaaDesktop, x: int, y: int, said: str
) -> None:
    await desktop.observe()
    assert (await desktop.act(Click(target=Point(x=x, y=y)))).text == said
    thrice = (await desktop.act(Click(target=Point(x=x, y=y), count=3))).text
    assert thrice == said.replace("clicked", "triple-clicked")


async def test_a_click_does_not_name_what_a_window_above_hides(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    above = '<shell name="Top" st:visible="true" cp:screencoord="(280, 180)" cp:size="(90, 60)"/>'
    vm.tree = TREE.replace("  <notepad", above + "  <notepad", 1)
    await desktop.observe()
    assert (await desktop.act(Click(target=Point(x=300, y=200)))).text == ""


async def test_typing_says_into_what_and_fails_where_a_field_keeps_what_it_had(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    field = Point(x=300, y=200)
    refused = await desktop.act(TypeText(text="30", target=field))
    assert refused.error == "textbox 'Text' did not take the text: it has what it had before"
    vm.tree = TREE.replace('val:value="hello"', 'val:value="30"')
    assert (
        await desktop.act(TypeText(text="30", target=field))
    ).text == "typed into textbox 'Text'"


async def test_a_slow_tree_is_not_read_to_say_what_was_clicked(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    desktop._tree_s = 5.0  # as a real VM's may take
    before = vm.paths().count("/accessibility")
    assert (await desktop.act(Click(target=Point(x=130, y=70)))).text == ""
    assert (await desktop.act(TypeText(text="x", target=Point(x=300, y=200)))).text == ""
    assert vm.paths().count("/accessibility") == before


async def test_a_control_whose_window_has_another_title_is_the_same(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    vm.tree = TREE.replace("draft - Notepad", "*draft - Notepad")
    assert (await desktop.act(FILE)).ok


async def test_a_control_with_the_name_of_one_in_another_window_is_not_taken_for_it(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    vm.tree = TREE.replace("<notepad", "<dialog").replace("</notepad", "</dialog").replace(
        'cp:screencoord="(110, 60)"', 'cp:screencoord="(310, 60)"'
    )  # fmt: skip
    vm.tree = vm.tree.replace('<button name="File"', '<checkbox name="File"')
    assert not (await desktop.act(FILE)).ok


async def test_where_the_tree_is_slow_the_picture_says_whether_a_control_is_still_there(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    desktop._tree_s = 5.0  # as a real VM's may take
    before = vm.paths().count("/accessibility")
    assert (await desktop.act(FILE)).ok
    assert vm.paths().count("/accessibility") == before
    vm.shade = 90
    vm.tree = TREE.replace('name="File"', 'name="Other"')
    assert not (await desktop.act(FILE)).ok


async def test_another_window_in_front_is_a_change_and_another_title_is_none(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    vm.title, vm.windows = "*draft - Notepad", ("*draft - Notepad", "Taskbar")
    assert (await desktop.act(PressKeys(keys=("a",)))).changed == ""
    vm.title, vm.windows = "Save as", ("Save as", "*draft - Notepad", "Taskbar")
    result = await desktop.act(PressKeys(keys=("ctrl", "s")))
    assert "'Save as'" in result.changed
    asked = vm.paths().count("/obs_winagent")
    assert (await desktop.observe()).title == "Save as"
    assert vm.paths().count("/obs_winagent") == asked


async def test_clear_types_over_the_text_of_a_field(vm: FakeVm, desktop: WaaDesktop) -> None:
    vm.tree = TREE.replace(' val:value="hello"', "")
    await desktop.observe()
    assert (await desktop.act(TypeText(text="x", target=ElementRef(element="1"), clear=True))).ok
    assert (vm.computer.pressed, vm.computer.typed) == ([("ctrl", "a")], "x")


@pytest.mark.parametrize(
    "target", [None, ElementRef(element="0"), Point(x=300, y=10)], ids=["none", "button", "point"]
)
async def test_clear_presses_nothing_where_no_text_field_has_the_focus(
    vm: FakeVm, desktop: WaaDesktop, target: ElementRef | Point | None
) -> None:
    await desktop.observe()
    result = await desktop.act(TypeText(text="x", target=target, clear=True))
    assert not result.ok
    assert "none has the focus" in str(result.error)
    assert (vm.computer.pressed, vm.computer.typed) == ([], "")


async def test_clear_types_over_what_a_click_gave_the_focus(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    vm.tree = TREE.replace('<edit name="Text"', '<edit name="Text" st:keyboard_focused="true"')
    vm.tree = vm.tree.replace(' val:value="hello"', "")
    result = await desktop.act(TypeText(text="x", target=Point(x=300, y=100), clear=True))
    assert result.ok
    assert vm.computer.clicks == [("left", 300, 100)]
    assert vm.computer.typed == "x"


async def test_windows_are_switched_to_where_they_are_shown_and_pages_are_not_offered(
    vm: FakeVm,
) -> None:
    async with VmClient(vm.url) as client:
        shown, hidden = WaaDesktop(client, View(windows=True)), WaaDesktop(client, View())
        assert "switch_tab" in await shown.offers()
        assert not {"switch_tab", "goto", "back"} & await hidden.offers()
        await shown.observe()
        assert (await shown.act(SwitchTab(index=1))).ok


async def test_the_window_of_the_desktop_itself_is_not_listed(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    vm.title, vm.windows = "Clock", ("Program Manager", "draft - Notepad", "Clock")
    seen = await desktop.observe()
    assert (seen.tabs, seen.active_tab) == (("draft - Notepad", "Clock"), 1)
    assert (await desktop.act(SwitchTab(index=0))).text == "maximized"
    assert vm.computer.switched == "draft - Notepad"


@pytest.mark.parametrize("front", ["draft - Notepad", "Save as"])
async def test_only_the_window_that_was_asked_for_is_a_change_that_was(
    vm: FakeVm, desktop: WaaDesktop, front: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vm.title, vm.windows = "Clock", ("draft - Notepad", "Clock", "Save as")
    await desktop.observe()
    monkeypatch.setattr(vm.computer, "_switch", lambda _: setattr(vm, "title", front))
    result = await desktop.act(SwitchTab(index=0))
    assert result.changed == f"another window is in front now: {front!r}"
    assert result.asked == (front == "draft - Notepad")


async def test_time_passes_on_a_simulated_desktop_while_an_agent_waits(vm: FakeVm) -> None:
    ran: list[list[str]] = []
    vm.run = lambda command: (
        ran.append(command) or {"status": "success", "output": "", "returncode": 0, "error": ""}
    )  # type: ignore[func-returns-value]
    async with VmClient(vm.url) as client:
        await WaaDesktop(client, simulated=True).act(Wait(seconds=30))
    assert ran == [["python", "-c", "import time; time.sleep(30)"]]


async def test_a_click_on_a_simulated_desktop_says_what_it_went_to_where_no_elements_are_shown(
    vm: FakeVm,
) -> None:
    click = Click(target=Point(x=120, y=70))
    async with VmClient(vm.url) as client:
        assert (await WaaDesktop(client, simulated=True).act(click)).text == "clicked button 'File'"
        assert (await WaaDesktop(client).act(click)).text != "clicked button 'File'"


UNREADABLE = Reply(
    500,
    b'{"status": "error", "message": "All strings must be XML compatible: no control characters"}',
)


async def test_a_press_is_done_although_the_controls_cannot_be_read_meanwhile(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    vm.always["/accessibility"] = UNREADABLE
    assert (await desktop.act(FILE)).ok
    assert (await desktop.act(Click(target=Point(x=130, y=70)))).ok
    assert vm.computer.clicks == [("left", 130, 70)] * 2
    assert "tree_unknown" in desktop.flags


async def test_a_control_is_not_pressed_where_neither_tree_nor_picture_show_it_again(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    await desktop.observe()
    vm.always["/accessibility"], vm.shade = UNREADABLE, 90
    assert "cannot be read" in str((await desktop.act(FILE)).error)
    assert vm.computer.clicks == []


async def test_it_is_said_of_each_observation_whether_its_controls_could_be_read(
    vm: FakeVm, desktop: WaaDesktop
) -> None:
    for view in (View(elements=True), View(tree=True)):
        desktop.view = view
        vm.always["/accessibility"] = UNREADABLE
        (told,) = (await desktop.observe()).notices
        assert "cannot be read" in told
        del vm.always["/accessibility"]
        vm.tree = TREE.replace('st:visible="true"', 'st:visible="false"')
        assert not any("cannot be read" in each for each in (await desktop.observe()).notices)
