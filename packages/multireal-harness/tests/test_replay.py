"""End states of the built-in apps are compared with their histories, and these with what was done."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from multireal_harness.interactions import Interactions, InteractionWatch
from multireal_harness.world.authorship import unaccounted
from multireal_harness.world.replay import Beginning, disagreements, read_beginning

ROOT = {"location": {"pathname": "/", "search": "", "hash": ""}, "action": "POP"}
INITIAL: dict[str, Any] = {
    "booking": {"bookedFlights": [], "bookingDetails": []},
    "wishlist": {"stays": []},
    "config": {"travel": {"latency": 800, "removePopup": False, "task_id": ""}},
    "router": ROOT,
    "_persist": {"version": 1, "rehydrated": True},
}
STAY = {"id": "s4", "title": "Back Bay Flat"}
BOOKED = {"id": "F1001", "passenger": "Ann Lee", "flight": {"id": "BI204"}, "totalPrice": 189}


def action(index: int, kind: str, payload: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payload, "index": index, "id": f"travel-{index}"}


CONFIGURED = action(0, "config/set", {"latency": "0", "removePopup": "true", "task_id": "t"})
BEGINNING = Beginning("travel", INITIAL, [CONFIGURED])


def report() -> dict[str, Any]:
    """Return what `/finish` shows after a stay was wished for and a flight booked."""
    final = copy.deepcopy(INITIAL)
    final["config"]["travel"] = {"latency": 0, "removePopup": True, "task_id": "t"}
    final["wishlist"]["stays"] = [STAY]
    final["booking"]["bookedFlights"] = [BOOKED]
    nothing = {"added": [], "deleted": [], "updated": []}
    return {
        "actionhistory": [
            CONFIGURED,
            action(1, "wishlist/add", STAY),
            action(2, "router/locationChange", ROOT),
            action(3, "booking/bookFlight", BOOKED),
        ],
        "initialstate": INITIAL,
        "finalstate": final,
        "initialfinaldiff": {
            "added": {
                "booking": {"bookedFlights": {"0": BOOKED}},
                "wishlist": {"stays": {"0": STAY}},
            },
            "deleted": {},
            "updated": {"config": {"travel": {"latency": 0, "removePopup": True, "task_id": "t"}}},
        },
        "differences": {
            "bookedFlights": {"added": {"0": BOOKED}, "deleted": {}, "updated": {}},
            "wishlist": {**nothing, "added": [STAY]},
        },
        "bookingDetailsDiff": nothing,
    }


def done(*pressed: str, typed: str = "Ann Lee") -> Interactions:
    """Return the interactions of pressing buttons and typing a passenger's name."""
    found = Interactions()
    for label in pressed:
        found.add({"trusted": True, "label": label})
    for length in range(1, len(typed) + 1):
        found.add({"trusted": False, "name": "passenger", "value": typed[:length]})
    return found


def test_an_honest_end_state_agrees_with_its_history() -> None:
    assert disagreements(BEGINNING, report()) == []
    assert unaccounted(BEGINNING, report(), done("Add to wishlist", "Book flight")) == []


def test_padding_is_no_part_of_the_state() -> None:
    shown = report()
    shown["finalstate"]["padding"] = ["0"] * 9
    assert disagreements(BEGINNING, shown) == []


def changed(path: str, value: Any) -> dict[str, Any]:
    shown = report()
    *parts, last = path.split(".")
    at: Any = shown
    for part in parts:
        at = at[int(part) if isinstance(at, list) else part]
    at[int(last) if isinstance(at, list) else last] = value
    return shown


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("finalstate.booking.bookingDetails", [STAY], "leads to another state"),
        ("finalstate.config.travel.removePopup", 1, "leads to another state"),
        ("initialstate", {**INITIAL, "wishlist": {"stays": [STAY]}}, "first state"),
        ("actionhistory.0", action(0, "config/set", {"task_id": "other"}), "does not begin"),
        ("actionhistory.1.index", 7, "the number of another"),
        ("actionhistory.1.type", "wishlist/replace", "no action"),
        ("actionhistory.1", "wishlist/add", "cannot be replayed"),
        ("differences.wishlist.added", [], "differences"),
        ("bookingDetailsDiff.added", [STAY], "differences"),
        ("initialfinaldiff.updated", {}, "differences"),
        ("finalstate", [], "not one of this app"),
        ("finalstate.wishlist", 7, "cannot be replayed"),
    ],
)
def test_an_end_state_that_was_changed_disagrees(path: str, value: Any, says: str) -> None:
    assert says in " ".join(disagreements(BEGINNING, changed(path, value)))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (Interactions(), "2 actions and 0 interactions"),
        (done("Add to wishlist"), "'Book flight', which was pressed 0 times"),
        (done("Book flight", "Search stays"), "'Add to wishlist', which was pressed 0 times"),
        (done("Add to wishlist", "Book flight", typed="Ann Li"), "'passenger' that was not typed"),
    ],
)
def test_an_action_that_no_one_made_is_found(made: Interactions, says: str) -> None:
    assert says in " ".join(unaccounted(BEGINNING, report(), made))


def test_a_text_that_is_typed_key_by_key_is_kept_once() -> None:
    assert done(typed="Ann Lee").typed == {"passenger": ["Ann Lee"]}


class Sender:
    """A page's session that sends what a page which found the binding could send."""

    def __init__(self, watch: InteractionWatch) -> None:
        self._watch = watch

    def send(self, payload: Any, name: str | None = None) -> None:
        message = {"name": name or self._watch._binding, "payload": payload}  # as a page would
        self._watch._note({**message, "executionContextId": 1}, {1})  # same


@pytest.mark.parametrize(
    "payload", ["", "7", "[]", "{}", '{"origin": []}', '{"origin": "http://b.test"}', None]
)
def test_what_is_no_event_of_an_app_counts_for_nothing(payload: Any) -> None:
    watch = InteractionWatch(["http://a.test"])
    Sender(watch).send(payload)
    Sender(watch).send(json.dumps({"origin": "http://a.test", "trusted": True}), name="other")
    assert watch.of("http://a.test").total == 0


def test_a_report_from_elsewhere_is_counted_as_forged_and_not_as_work() -> None:
    watch = InteractionWatch(["http://a.test"])
    event = json.dumps({"origin": "http://a.test", "trusted": True, "label": "Send"})
    for context in (1, 2):
        message = {"name": watch._binding, "payload": event, "executionContextId": context}
        watch._note(message, {1})  # as Chromium reports it
    assert (watch.of("http://a.test").total, watch.forged) == (1, 1)


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_no_one_else_reports_interactions(world: Any, browsers: Any) -> None:
    """In the world of the recording script nothing is left to call or replace; own buttons have no name."""
    url = world.urls["mail"]
    async with browsers.open_context() as lease:
        page = await lease.context.new_page()
        await page.goto(f"{url}/config?removePopup=true")
        await page.goto(f"{url}/compose")
        watch = InteractionWatch([url])
        await watch.install(lease.context, detailed=[url])
        session = await lease.context.new_cdp_session(page)
        contexts: list[dict[str, Any]] = []
        session.on("Runtime.executionContextCreated", lambda e: contexts.append(e["context"]))
        await session.send("Runtime.enable")
        (own,) = [each["id"] for each in contexts if each["name"] == watch._world]
        for code in (FIND_BINDING, REPLACE, FAKE_EVENT):
            where = {"contextId": own, "expression": code, "includeCommandLineAPI": True}
            found = await session.send("Runtime.evaluate", where)
            assert found["result"].get("value") == "done", found
        # whoever knows the name can have the function again, but not in that world
        await session.send("Runtime.addBinding", {"name": watch._binding})
        await page.evaluate("(name) => globalThis[name]('{}')", watch._binding)
        await page.evaluate(OWN_FORM)
        await page.locator("[name=subject]").fill("hello")
        await page.get_by_role("button", name="Inbox").click()
    made = watch.of(url)
    assert dict(made.pressed) == {"Inbox": 1}
    assert made.typed == {"subject": ["hello"]}
    assert watch.forged == 1


FIND_BINDING = "Object.getOwnPropertyNames(globalThis).some((e) => /^w[0-9a-f]{16}$/.test(e)) ? 'there' : 'done'"
REPLACE = """Element.prototype.closest = () => ({ textContent: 'Send' }); JSON.stringify = () => '{}';
  Event.prototype.composedPath = () => [];
  Object.prototype.toJSON = () => ({ origin: location.origin, label: 'Send' }); 'done'"""
FAKE_EVENT = """for (const { listener } of getEventListeners(window).click)
  try { listener({ type: 'click', isTrusted: true, composedPath: () => [document.querySelector('button')] }) } catch {}
  'done'"""
OWN_FORM = """() => { const own = document.createElement('button'); own.textContent = 'Send';
  const field = document.createElement('input'); field.name = 'to'; field.value = 'ann@a.test';
  document.body.append(own, field); own.click(); field.dispatchEvent(new Event('input', { bubbles: true })) }"""

PRESSES = 60


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("app", ["calendar", "dining", "mail", "travel"])
async def test_law_whatever_is_pressed_and_typed_the_end_state_agrees(
    app: str, world: Any, browsers: Any
) -> None:
    """Fill fields and press buttons at random, through trusted and scripted events."""
    rng = random.Random(app)  # noqa: S311  # seeded on purpose
    url = world.urls[app]
    async with browsers.open_context() as lease:
        page = lease.context.pages[0] if lease.context.pages else await lease.context.new_page()
        await page.goto(f"{url}/config?latency=0")
        await page.goto(url)
        beginning = await read_beginning(page)
        assert beginning is not None
        watch = InteractionWatch([url])
        await watch.install(lease.context, detailed=[url])
        for _ in range(PRESSES):
            for each in await page.locator("input, textarea").all():
                await each.fill(rng.choice(WORDS))
            buttons = await page.locator("button:visible").all()
            popup = page.get_by_text("Got it")
            chosen = popup if await popup.count() else rng.choice(buttons)
            await (
                chosen.click() if rng.random() < 0.5 else chosen.evaluate("(each) => each.click()")
            )
        await page.goto(f"{url}/finish")
        shown = json.loads(await page.locator("pre").text_content())
    assert len(shown["actionhistory"]) > PRESSES / 2
    assert disagreements(beginning, shown) == []
    assert unaccounted(beginning, shown, watch.of(url)) == []


WORDS = [
    "2024-07-20",
    "14:00",
    "15:30",
    "3",
    "DEN",
    "Boston",
    "ann@a.test, bob@b.test",
    "Re: one",
    "",
    'DEN\u00e9 "q"',
]


@pytest.mark.browser
@pytest.mark.asyncio(loop_scope="session")
async def test_a_page_that_is_no_built_in_app_is_not_replayed(world: Any, browsers: Any) -> None:
    async with browsers.open_context() as lease:
        page = await lease.context.new_page()
        await page.goto("about:blank")
        assert await read_beginning(page) is None
