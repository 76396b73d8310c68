"""On pages that move, cover, draw anew and ask, an act is done to the element that it names, or not at all and told."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from hard_pages import HARD_PAGES, addresses

from bench_core.agents import (
    Click,
    Decision,
    Done,
    Drag,
    ElementRef,
    LoopAgent,
    MouseDown,
    MouseUp,
    Move,
    ScrollTo,
    SetValue,
    TypeText,
)
from bench_core.agents.browser import BrowserEnvironment
from bench_core.protocols import BrowserHandle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from hard_pages import HardPage

    from bench_core.agents.records import Action, ActionResult, Observation
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

pytest.importorskip("playwright", reason="Playwright is an extra")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
]
_VIEWPORT = (640, 480)
# A page's own listeners are on its elements and on its document; the window's capture comes before them.
_RECORDER = """
for (const kind of ['mousedown', 'mouseup', 'click', 'auxclick', 'mouseenter', 'keydown', 'input', 'change']) {
  document.addEventListener(kind, event => {
    const ids = event.composedPath().map(each => each.id).filter(Boolean);
    note(JSON.stringify([kind, event.composedPath()[0] === document ? ['document'] : ids, event.isTrusted]));
  }, true);
}
"""
_NUMBER = """(refs, id) => {
  const seek = root => root.getElementById(id)
    || [...root.querySelectorAll('*')].map(each => each.shadowRoot && seek(each.shadowRoot)).find(Boolean);
  const node = seek(document);
  return node ? [refs.number(node)] : [0];
}"""
_CONTENT = """(refs, number) => {
  const node = refs.node(number);
  return node && (/INPUT|SELECT/.test(node.tagName) ? node.value : node.textContent);
}"""


class Stage:
    """A hard page in a browser, and what its elements got."""

    def __init__(self, context: Any, page: HardPage) -> None:
        self.page = page
        self.context = context
        self.live = BrowserEnvironment(context, _VIEWPORT)
        self.events: list[tuple[str, list[str], bool]] = []
        self.tab: Any = None
        self.ids: dict[str, tuple[Any, str]] = {}

    async def show(self) -> None:
        """Open the page."""
        pages = addresses(self.page)

        async def answer(route: Any) -> None:
            path = urlsplit(route.request.url).path
            if path == "/slow":
                await asyncio.sleep(0.6)
            await route.fulfill(body=pages.get(path, ""), content_type="text/html")

        await self.context.expose_binding(
            "note", lambda _, line: self.events.append(tuple(json.loads(line)))
        )
        await self.context.add_init_script(_RECORDER)
        await self.context.route("**/*", answer)
        tab = await self.context.new_page()
        await tab.goto("http://page.test/page")
        await tab.wait_for_load_state()
        for name in ("t", "u", "d"):
            for frame in tab.frames:
                (number,) = await self.live._nodes.ask(frame, _NUMBER, name)
                if number:
                    self.ids[name] = (frame, str(number))
        self.tab = tab

    async def pass_time(self) -> None:
        """Let the page do what it does between the look and the act."""
        if self.page.script:
            await self.tab.evaluate(f"() => {{ setTimeout(() => {{ {self.page.script} }}) }}")
            await asyncio.sleep(0.1)
            if "open(" in self.page.script and len(self.context.pages) < 2:
                await self.context.wait_for_event("page")

    def act(self) -> Action:
        """Return what is to be done."""
        target = self.ref("t")
        value = self.page.value
        return {
            "click": lambda: Click(target=target),
            "double": lambda: Click(target=target, count=2),
            "right": lambda: Click(target=target, button="right"),
            "press": lambda: MouseDown(target=target),
            "hover": lambda: Move(target=target),
            "type": lambda: TypeText(target=target, text=str(value)),
            "clear": lambda: TypeText(target=target, text=str(value), clear=True),
            "set": lambda: SetValue(target=target, value=value),
            "drag": lambda: Drag(start=target, end=self.ref("d")),
            "scroll_to": lambda: ScrollTo(target=target),
        }[self.page.act]()  # fmt: skip

    def ref(self, name: str) -> ElementRef:
        return ElementRef(element=self.ids[name][1])

    def strangers(self, *meant: str) -> list[Any]:
        """Return the events that other elements got than those that were meant."""
        allowed = {*meant, *self.page.also}
        acts = {"mousedown", "mouseup", "click", "auxclick", "keydown", "input", "change"}
        if self.page.act == "drag":
            acts -= {"click"}  # of what holds both ends
        return [
            each
            for each in self.events
            if each[0] in acts and each[2] and not allowed & set(each[1])
        ]

    def got(self, name: str, kinds: set[str]) -> bool:
        """Whether an element got one of the events."""
        return any(kind in kinds and name in ids for kind, ids, _ in self.events)

    def check(self, result: ActionResult) -> None:
        """Hold a result against what the page's elements got, and against what is to come of it."""
        page = self.page
        told = " ".join(filter(None, (result.text, result.error, result.changed)))
        assert page.ok is None or result.ok is page.ok, told
        if result.ok:
            kinds = {
                "hover": {"mouseenter"}, "type": {"input"}, "clear": {"input"}, "press": {"mousedown"},
                "drag": {"mousedown"}, "set": {"change", "click", "input"}, "right": {"auxclick"},
            }.get(page.act, {"click"})  # fmt: skip
            assert any(self.got(name, kinds) for name in ("t", *page.also)), (told, self.events)
        if page.ok is not None or result.ok:
            assert page.words in told


@pytest_asyncio.fixture(loop_scope="module")
async def stage(chromium: Any, request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    context = await chromium.new_context(viewport={"width": _VIEWPORT[0], "height": _VIEWPORT[1]})
    try:
        shown = Stage(context, request.param)
        await shown.show()
        yield shown
    finally:
        await context.close()


_NOT_OF_THE_SHELL = {"an overlay that appears on hover", "drawn anew as the mouse comes"}
"""Chromium's headless shell moves its mouse in another way."""
_BY_OUTCOME = {
    (
        each.act,
        each.ok,
        bool(each.script) if each.ok is False else each.words.partition("'")[0],
    ): each
    for each in reversed(HARD_PAGES)
}
"""One page for each way in which a first act can end, which decides whether a second one is done."""
_OF_A_TURN = HARD_PAGES if os.environ.get("HARD_PAGES") == "all" else [*_BY_OUTCOME.values()]
"""`campaign_pages.py` tries all, with HARD_PAGES=all in the environment."""


def _on(pages: Iterable[HardPage]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("chromium", "stage"),
        [
            pytest.param("full", each, id=each.name, marks=pytest.mark.full_chromium)
            if each.name in _NOT_OF_THE_SHELL
            else pytest.param("any", each, id=each.name)
            for each in pages
        ],
        indirect=True,
    )


@_on(HARD_PAGES)
async def test_an_act_is_done_to_the_element_that_it_names_or_not_at_all(stage: Stage) -> None:
    await stage.live.observe()
    await stage.pass_time()
    result = await stage.live.act(stage.act())
    await asyncio.sleep(0.05)  # until the last events are told
    assert stage.strangers("t") == []
    stage.check(result)
    if stage.page.again is not None:
        frame, number = stage.ids["t"]
        assert await stage.live._nodes.ask(frame, _CONTENT, int(number)) == stage.page.again


@_on(_OF_A_TURN)
async def test_acts_of_one_turn_are_done_to_what_they_name_or_not_at_all(
    stage: Stage, task: AgentTask, context: TrialContext
) -> None:
    results: list[ActionResult] = []

    class Turn:
        async def act(self, observation: Observation) -> Decision:
            if observation.results:
                results.extend(observation.results)
                return Decision(actions=(Done(),))
            await stage.pass_time()
            ends = (MouseUp(),) if stage.page.act == "press" else ()
            return Decision(actions=(stage.act(), *ends, Click(target=stage.ref("u"))))

    handle = BrowserHandle(cdp_url="http://127.0.0.1:1", viewport=_VIEWPORT).with_live(
        lambda: stage.live
    )
    await LoopAgent("turn", lambda *_: Turn()).run(task, handle, context)
    await asyncio.sleep(0.05)  # until the last events are told
    assert stage.strangers("t", "u") == []
    stage.check(results[0])
    second = results[-1]
    assert second.ok == stage.got("u", {"click"}), second
    if not results[0].ok or results[0].changed:
        assert not second.ok
        assert not second.carried_out
