"""Each action of the vocabulary, in a real Chromium."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from kinds_of_control import KINDS
from test_support.own_port import OWN_PORT, own_port

from bench_core.agents import (
    ActivateTab,
    Back,
    Click,
    CloseTab,
    Drag,
    ElementRef,
    FindElements,
    Forward,
    Goto,
    HoldKeys,
    KeyDown,
    KeyUp,
    ListTabs,
    MouseDown,
    MouseUp,
    Move,
    NewTab,
    PageText,
    Point,
    PointerPosition,
    PressKeys,
    ReadPage,
    Reload,
    Screenshot,
    Scroll,
    ScrollTo,
    SetValue,
    SwitchTab,
    TypeText,
    Zoom,
    offered,
)
from bench_core.agents.browser import BrowserEnvironment, connect_browser
from bench_core.browser import launch_chromium
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench_core.agents.records import Action
    from bench_core.browser import Chromium

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
pytest.importorskip("playwright", reason="Playwright is an extra")

PAGE = """<!doctype html><title>Controls</title><style>body{margin:0}</style>
<div style="height:100px"><input id=text aria-label="Your name"><input id=box type=checkbox aria-label=Agree>
<select id=list aria-label=Colour><option value=r>Red<option value=g>Green</select></div>
<div style="height:3000px">Long</div><button id=far>Far away</button>
<script>
window.log = [];
const parts = e => [e.type, e.button, Math.round(e.clientX), Math.round(e.clientY),
  (e.shiftKey ? 'S' : '') + (e.ctrlKey ? 'C' : '')].join(' ');
for (const kind of ['mousedown', 'mouseup', 'wheel']) addEventListener(kind, e => log.push(parts(e)));
addEventListener('keydown', e => log.push('keydown ' + e.key + (e.repeat ? ' again' : '')));
addEventListener('keyup', e => log.push('keyup ' + e.key));
addEventListener('change', e => log.push('change ' + e.target.id));
window.moves = [];
addEventListener('mousemove', e => moves.push([e.clientX, e.clientY]));
</script>"""
P = Point(x=200, y=300)


@pytest_asyncio.fixture(loop_scope="module")
async def live(chromium: Any) -> AsyncIterator[BrowserEnvironment]:
    context = await chromium.new_context(viewport={"width": 640, "height": 480})
    await context.new_page()
    browser = BrowserEnvironment(context, (640, 480))
    await page_of(browser).set_content(PAGE)
    yield browser
    await context.close()


def page_of(browser: BrowserEnvironment) -> Any:
    return browser._tabs.page()  # the page itself is not part of the interface


async def log_of(browser: BrowserEnvironment) -> list[str]:
    seen: list[str] = await page_of(browser).evaluate("() => log.splice(0)")
    return seen


async def done(browser: BrowserEnvironment, *actions: Action) -> list[str]:
    for action in actions:
        result = await browser.act(action)
        assert result.ok, (action, result.error)
    return await log_of(browser)


async def test_a_browser_offers_what_it_does(live: BrowserEnvironment) -> None:
    kinds = await offered(live)
    assert {"zoom", "close_tab", "read_page", "done"} <= kinds
    assert "code" not in kinds


async def test_the_pointer_stays_where_it_is_for_a_click_without_a_target(
    live: BrowserEnvironment,
) -> None:
    seen = await done(live, Move(target=P), Click(), Click(button="right", modifiers=("shift",)))
    assert [each for each in seen if "key" not in each] == [
        "mousedown 0 200 300 ", "mouseup 0 200 300 ",
        "mousedown 2 200 300 S", "mouseup 2 200 300 S",
    ]  # fmt: skip
    assert (await live.act(PointerPosition())).text == "X=200,Y=300"


async def test_a_key_that_does_not_exist_leaves_no_other_key_pressed(
    live: BrowserEnvironment,
) -> None:
    result = await live.act(PressKeys(keys=("ctrl", "shift", "nosuchkey")))
    assert not result.ok
    assert "nosuchkey" in str(result.error)
    await log_of(live)
    assert (await done(live, Click(target=P)))[0] == "mousedown 0 200 300 "


async def test_keys_have_the_names_that_models_know(live: BrowserEnvironment) -> None:
    names = {
        "KP_Enter": "Enter", "Control_L": "Control", "Shift_R": "Shift", "Super_L": "Meta",
        "Print": "PrintScreen", "Caps_Lock": "CapsLock", "Num_Lock": "NumLock", "Menu": "ContextMenu",
        "bracketleft": "[", "apostrophe": "'", "underscore": "_", "question": "?", "KP_7": "7",
        "numpad_add": "+", "KeyA": "a", "Digit1": "1", "ISO_Left_Tab": "Tab", "page_down": "PageDown",
        " ": " ", "f2": "F2", "Z": "Z",
    }  # fmt: skip
    for name, key in names.items():
        assert f"keydown {key}" in await done(live, PressKeys(keys=(name,))), name


@pytest.fixture
def site() -> Iterator[str]:
    """A site whose `/admin` leads elsewhere."""

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(302 if self.path == "/admin" else 200)
            self.send_header("Location", "/dashboard")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_start_pages_that_are_open_are_not_opened_again(site: str) -> None:
    starts = (site, f"{site}/admin", f"{site}/third")
    async with launch_chromium() as chromium:
        handle = BrowserHandle(cdp_url=chromium.cdp_url, start_urls=starts[:2])
        async with connect_browser(handle) as browser:
            urls = [tab.url for tab in (await browser.observe()).open_tabs]
            assert urls == [f"{site}/", f"{site}/dashboard"]
        async with connect_browser(handle.model_copy(update={"start_urls": starts})) as browser:
            urls = [tab.url for tab in (await browser.observe()).open_tabs]
            assert urls == [f"{site}/", f"{site}/dashboard", f"{site}/third"]


async def test_tabs_stand_in_the_order_of_the_start_pages_and_the_first_is_active(
    site: str,
) -> None:
    starts = (site, f"{site}/admin", f"{site}/third")
    async with launch_chromium() as chromium:
        handle = BrowserHandle(cdp_url=chromium.cdp_url, start_urls=starts)
        async with connect_browser(handle):
            pass
        for order in permutations(starts):
            turned = handle.model_copy(update={"start_urls": order})
            async with connect_browser(turned) as browser:
                seen = await browser.observe()
                wanted = [
                    {site: f"{site}/", f"{site}/admin": f"{site}/dashboard"}.get(each, each)
                    for each in order
                ]
                assert list(seen.tabs) == [tab.url for tab in seen.open_tabs] == wanted
                assert (seen.url, seen.active_tab) == (wanted[0], 0)


@pytest.mark.full_chromium
async def test_the_tab_that_is_seen_is_in_front(site: str) -> None:
    async with launch_chromium(OWN_PORT) as chromium:
        handle = BrowserHandle(cdp_url=chromium.cdp_url, start_urls=(f"{site}/first",))
        async with connect_browser(handle) as browser:
            async with page_of(browser).expect_popup() as popup:
                await page_of(browser).evaluate("url => { open(url) }", f"{site}/popup")
            await (await popup.value).wait_for_load_state()
            assert await _in_front(chromium) == f"{site}/popup"
            assert (await browser.observe()).url == f"{site}/first"
            assert await _in_front(chromium) == f"{site}/first"


async def _in_front(chromium: Chromium) -> str:
    """Return the page that was in front last, which a port of Chromium's own lists first."""
    url = f"http://127.0.0.1:{await own_port(chromium)}/json/list"
    with await asyncio.to_thread(urllib.request.urlopen, url) as listed:
        return str(next(each["url"] for each in json.load(listed) if each["type"] == "page"))


async def test_buttons_are_pressed_and_released_apart(live: BrowserEnvironment) -> None:
    seen = await done(live, MouseDown(target=P), Move(target=Point(x=210, y=310)), MouseUp())
    assert seen == ["mousedown 0 200 300 ", "mouseup 0 210 310 "]


async def test_side_buttons_are_the_fourth_and_the_fifth(live: BrowserEnvironment) -> None:
    seen = await done(live, Click(target=P, button="back"))
    assert seen == ["mousedown 3 200 300 ", "mouseup 3 200 300 "]


async def test_a_drag_follows_its_path_with_keys_held(live: BrowserEnvironment) -> None:
    path = (Point(x=300, y=300), Point(x=300, y=400))
    drag = Drag(start=P, path=path, end=Point(x=100, y=400), modifiers=("ctrl",))
    seen = await done(live, drag)
    assert "mousedown 0 200 300 C" in seen
    assert "mouseup 0 100 400 C" in seen
    moves = await page_of(live).evaluate("() => moves")
    assert [300, 300] in moves
    assert [300, 400] in moves


async def test_the_wheel_turns_with_keys_held(live: BrowserEnvironment) -> None:
    seen = await done(live, Scroll(target=P, dy=100, modifiers=("shift",)))
    assert "wheel 0 200 300 S" in seen


@pytest.mark.parametrize("keys", [("down",), ("Down",), ("ArrowDown",)])
async def test_keys_are_pressed_as_often_as_asked(
    live: BrowserEnvironment, keys: tuple[str, ...]
) -> None:
    seen = await done(live, PressKeys(keys=keys, repeat=4))
    assert seen.count("keydown ArrowDown") == 4


@pytest.mark.parametrize("keys", [("ctrl+a",), ("ctrl", "a"), ("Control+A",)])
async def test_a_combination_may_be_one_name(
    live: BrowserEnvironment, keys: tuple[str, ...]
) -> None:
    seen = await done(live, PressKeys(keys=keys))
    assert seen[0] == "keydown Control"
    assert seen[1].lower() == "keydown a"


async def test_keys_are_held_and_released(live: BrowserEnvironment) -> None:
    assert await done(live, HoldKeys(keys=("w",), seconds=0.1)) == ["keydown w", "keyup w"]
    seen = await done(live, KeyDown(key="shift"), Click(target=P), KeyUp(key="shift"))
    assert "mousedown 0 200 300 S" in seen
    assert seen[-1] == "keyup Shift"


async def test_a_zoom_is_a_larger_picture_of_a_part(live: BrowserEnvironment) -> None:
    result = await live.act(Zoom(region=(0, 0, 320, 120)))
    assert result.image is not None
    size = struct.unpack(">II", base64.b64decode(result.image.data)[16:24])
    assert size == (640, 240)
    outside = await live.act(Zoom(region=(0, 0, 641, 120)))
    assert "not on the screen" in str(outside.error)


async def test_tabs_are_opened_listed_switched_and_closed(live: BrowserEnvironment) -> None:
    opened = await live.act(NewTab())
    first, second = opened.tabs
    assert (first.title, first.active, second.active) == ("Controls", False, True)
    back = await live.act(ActivateTab(tab=first.id))
    assert [tab.active for tab in back.tabs] == [True, False]
    closed = await live.act(CloseTab(tab=second.id))
    assert [tab.id for tab in closed.tabs] == [first.id]
    assert not (await live.act(CloseTab())).ok
    assert "tab_9" in str((await live.act(ActivateTab(tab="tab_9"))).error)
    third = (await live.act(NewTab())).tabs[-1]
    assert third.id not in {first.id, second.id}
    assert len((await live.act(ListTabs())).tabs) == 2
    assert len((await live.observe()).open_tabs) == 2


async def test_only_a_tab_that_the_agent_brings_to_the_front_itself_is_a_change_it_asked_for(
    live: BrowserEnvironment,
) -> None:
    seen = await live.observe()
    box = ElementRef(element=next(each.id for each in seen.elements if each.role == "checkbox"))
    opened = await live.act(NewTab())
    assert (opened.asked, "in front is now the tab" in opened.changed) == (True, True)
    back = await live.act(SwitchTab(index=0))
    assert back.asked
    assert (await live.act(Click(target=box))).text == "clicked checkbox 'Agree'"
    assert not (await live.act(SwitchTab(index=0))).asked
    await page_of(live).evaluate("() => alert('Saved')")
    moved = await live.act(SwitchTab(index=1))
    assert (moved.asked, "dialog" in moved.changed) == (False, True)
    assert not (await live.act(CloseTab())).asked


async def test_a_page_that_is_loaded_again_is_not_said_to_be_another(
    live: BrowserEnvironment,
) -> None:
    await page_of(live).goto("data:text/html,<title>one</title>")
    await live.observe()
    assert (await live.act(Reload())).changed == "the page was reloaded"


async def test_typing_says_what_the_field_holds_and_that_enter_was_pressed(
    live: BrowserEnvironment,
) -> None:
    field = ElementRef(
        element=next(e.id for e in (await live.observe()).elements if e.role == "textbox")
    )

    async def typed(**given: Any) -> str:
        return (await live.act(TypeText(**given))).text

    name = "typed into textbox 'Your name'"
    assert await typed(text="Ada", target=field, enter=True) == f"{name}, then Enter"
    assert await typed(text=" L", target=field) == f"{name} (it holds 'Ada L')"
    assert await typed(text="!") == f"{name} (it holds 'Ada L!')"
    assert await typed(text="Bo", target=field, clear=True) == name
    await page_of(live).evaluate("() => { text.type = 'password' }")
    assert await typed(text="x", target=field) == name


async def test_a_path_alone_is_one_of_the_site_of_the_active_page(
    live: BrowserEnvironment, site: str
) -> None:
    await live.act(Goto(url=site))
    await live.act(Goto(url="/other?a=1"))
    assert (await live.observe()).url == f"{site.rstrip('/')}/other?a=1"


async def test_pages_are_left_and_come_back_to(live: BrowserEnvironment) -> None:
    page = page_of(live)
    await page.goto("data:text/html,<title>one</title>")
    await page.goto("data:text/html,<title>two</title>")
    for action, title in ((Back(), "one"), (Forward(), "two"), (Reload(), "two")):
        assert (await live.act(action)).ok
        assert (await live.observe()).title == title
    assert not (await live.act(Goto(url="file:///etc/passwd"))).ok


async def test_what_is_read_can_be_acted_on(live: BrowserEnvironment) -> None:
    outline = (await live.act(ReadPage())).text
    assert '] textbox "Your name"' in outline
    assert "Red | Green" in outline
    found = (await live.act(FindElements(query="far away button"))).text
    assert found.endswith('] button "Far away"')
    close = (await live.act(FindElements(query="far agreement"))).text.splitlines()
    assert close == ["no line has all of these words; the closest:", found]
    far = found.partition("[")[2].partition("]")[0]
    await done(live, ScrollTo(target=ElementRef(element=far)))
    assert await page_of(live).evaluate("() => scrollY") > 2000
    seen = await done(live, Click(target=ElementRef(element=far)))
    assert seen[0].startswith("mousedown 0")
    assert "Far away" in (await live.act(PageText())).text
    assert "Long" in outline
    assert "Long" not in (await live.act(ReadPage(interactive=True))).text


async def test_controls_are_given_values(live: BrowserEnvironment) -> None:
    values: dict[str, Any] = {"your name": "Ada", "agree": True, "colour": "Green"}
    for words, value in values.items():
        ref = (await live.act(FindElements(query=words))).text.partition("[")[2].partition("]")[0]
        seen = await done(live, SetValue(target=ElementRef(element=ref), value=value))
        assert any(each.startswith("change") for each in seen)
    page = page_of(live)
    assert await page.evaluate("() => [text.value, box.checked, list.value]") == ["Ada", True, "g"]
    wrong = await live.act(SetValue(target=ElementRef(element=ref), value="Blue"))
    assert 'no option "Blue"' in str(wrong.error)


async def test_a_reference_does_not_outlive_its_document(live: BrowserEnvironment) -> None:
    ref = (await live.act(FindElements(query="agree"))).text.partition("[")[2].partition("]")[0]
    await page_of(live).goto("data:text/html,<button>New</button>")
    gone = await live.act(Click(target=ElementRef(element=ref)))
    assert "is gone" in str(gone.error)


async def test_roles_are_those_chromium_computes(live: BrowserEnvironment) -> None:
    page = page_of(live)
    items = "".join(f"<div class=kind>{kind}</div>" for kind in KINDS)
    await page.set_viewport_size({"width": 800, "height": 4000})
    await page.set_content(f'<datalist id="dl"><option>a</datalist>{items}')
    session = await page.context.new_cdp_session(page)
    expected = []
    for number in range(len(KINDS)):
        node = f"document.querySelectorAll('.kind')[{number}]"
        found = await session.send(
            "Runtime.evaluate",
            {"expression": f"{node}.querySelector('summary') || {node}.firstElementChild"},
        )
        tree = await session.send(
            "Accessibility.getPartialAXTree",
            {"objectId": found["result"]["objectId"], "fetchRelatives": False},
        )
        expected.append(tree["nodes"][0]["role"]["value"])
    roles = [each.role for each in (await live.observe()).elements]
    assert len(expected) == 43
    assert list(zip(KINDS, roles, strict=True)) == list(zip(KINDS, expected, strict=True))


async def test_an_observed_text_box_is_one(live: BrowserEnvironment) -> None:
    box = next(each for each in (await live.observe()).elements if each.role == "textbox")
    await done(live, TypeText(text="hello", target=ElementRef(element=box.id)))
    again = next(each for each in (await live.observe()).elements if each.role == "textbox")
    assert (again.name, again.value) == ("Your name", "hello")


async def test_an_id_stands_for_one_node_of_one_tab_for_ever(live: BrowserEnvironment) -> None:
    first = {each.id: each.name for each in (await live.observe()).elements}
    assert {each.id: each.name for each in (await live.observe()).elements} == first
    agree = next(number for number, name in first.items() if name == "Agree")
    await live.act(NewTab())
    await page_of(live).set_content("<button onclick='document.title=1'>Other</button>")
    second = (await live.observe()).elements
    assert not first.keys() & {each.id for each in second}
    elsewhere = await live.act(Click(target=ElementRef(element=agree)))
    assert "is on another tab (tab_1" in str(elsewhere.error)
    found = (await live.act(FindElements(query="other"))).text
    assert found == f'[{second[0].id}] button "Other"'
    unknown = await live.act(Click(target=ElementRef(element="99999")))
    assert "there is no element '99999'" in str(unknown.error)


async def test_ids_are_counted_from_one_also_where_links_are_followed(
    live: BrowserEnvironment,
) -> None:
    page = page_of(live)
    seen: dict[str, str] = {}
    for number in range(4):
        await page.set_content(f"<a href='data:text/html,<p>{number}'>Link {number}</a>")
        (link,) = (await live.observe()).elements
        seen[link.id] = link.name
        assert (await live.act(Click(target=ElementRef(element=link.id)))).ok
        await live.observe()
    assert list(seen.values()) == [f"Link {number}" for number in range(4)]
    assert max(map(int, seen)) < 10


async def test_a_number_that_nobody_learned_is_given_to_one_node_only(
    live: BrowserEnvironment,
) -> None:
    page = page_of(live)
    await page.set_content("<p>One</p><p>Two</p><iframe srcdoc='<p>Three</p>'></iframe>")
    nodes, (main, frame) = live._nodes, page.frames
    script = "(refs, place) => refs.number(document.querySelectorAll('p')[place])"
    with pytest.raises(Exception, match="broken"):
        await nodes.ask(
            main, f"(refs, place) => {{ ({script})(refs, 0); throw Error('broken'); }}", 0
        )
    numbers = [
        await nodes.ask(*each)
        for each in ((frame, script, 0), (main, script, 0), (main, script, 1))
    ]
    assert len(set(numbers)) == 3
    assert numbers[1:] == [await nodes.ask(main, script, place) for place in (0, 1)]


async def test_frames_share_the_numbers_and_are_placed_in_their_page(
    live: BrowserEnvironment,
) -> None:
    page = page_of(live)
    inner = "<body style='margin:0'><button>In</button>"
    await page.set_content(
        f'<body style="margin:0"><iframe srcdoc="{inner}" style="border:5px solid;padding:3px;'
        'position:absolute;left:100px;top:50px;transform:scale(2);transform-origin:0 0"></iframe>'
        "<iframe style='display:none'></iframe>"
    )
    nodes, (main, frame, hidden) = live._nodes, page.frames
    script = "(refs, words) => refs.number(document.querySelector(words))"
    numbers = [await nodes.ask(main, script, "body"), await nodes.ask(frame, script, "button")]
    assert await nodes.ask(main, script, "body") == numbers[0] != numbers[1]
    placed = await nodes.placed(frame)
    assert placed is not None
    assert (placed.x, placed.y, placed.scale) == (116, 66, 2)
    assert placed.holder not in numbers
    assert await nodes.placed(hidden) is None


async def test_what_is_done_in_another_tab_leaves_the_active_one_in_front(
    live: BrowserEnvironment,
) -> None:
    first = (await live.observe()).open_tabs[0].id
    opened = (await live.act(NewTab())).tabs[-1].id
    text = await live.act(PageText(tab=first))
    assert "Long" in text.text
    assert [tab.id for tab in text.tabs if tab.active] == [opened]
    pressed = await live.act(Click(target=P, tab=first))
    assert [tab.id for tab in pressed.tabs if tab.active] == [opened]
    picture = await live.act(Screenshot(tab=first))
    assert picture.image != (await live.observe()).screenshot
    assert not (await live.act(PageText(tab="tab_9"))).ok
    await live.act(ActivateTab(tab=first))
    assert "mousedown 0 200 300 " in await log_of(live)


async def test_a_typed_tab_is_the_key_and_a_page_is_read_as_far_as_asked(
    live: BrowserEnvironment,
) -> None:
    page = page_of(live)
    await page.set_content(
        "<ul><li>One<ul><li>Two<ul><li>Three</ul></ul></ul><input id=a><input id=b>"
        "<div style='height:3000px'></div><p>Far"
    )
    await page.focus("#a")
    assert (await live.act(TypeText(text="x\ty"))).ok
    assert await page.evaluate("[a.value, b.value]") == ["x", "y"]
    one, two = [(await live.act(ReadPage(depth=depth))).text for depth in (1, 2)]
    assert ("Two" in one, "Two" in two, "Three" in two) == (False, True, False)
    assert "Far" in one
    assert "Far" not in (await live.act(ReadPage(visible=True))).text
