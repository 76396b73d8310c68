"""A chat model that follows a script: no key, no network, the same every time.

The script names elements by text and attributes; they are looked up in browser-use's live
selector map when their turn comes, so a script survives changes of layout. Example::

    def script():
        yield fill("I am a robot", name="user_biography[biography]")
        page = yield click("Save")
        yield answer({"task_type": "MUTATE", "status": "SUCCESS"})

    chat = ScriptedChat(script())
    agent = browser_use.Agent(task="...", llm=chat, browser_session=session)
    chat.attach(session)
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from bench_core.browser_use.elements import Element, Find, Page, elements_of
from bench_core.errors import AgentError

__all__ = [
    "Action",
    "Script",
    "ScriptError",
    "ScriptedChat",
    "Turn",
    "act",
    "answer",
    "click",
    "fill",
    "go",
    "press",
]


class ScriptError(AgentError):
    """A script does not fit the page, or ended before the agent was done."""


@dataclass(frozen=True)
class Action:
    """One of browser-use's actions; `target` becomes its `index` when it is used."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    target: Find | None = None


Turn = Action | tuple[Action, ...]
"""One answer of the model: one action, or several that browser-use carries out in a row."""

Script = Iterable[Turn] | Generator[Turn, Page, None]
"""Turns in order; a generator is sent the `Page` before each further turn."""


def act(name: str, target: Find | None = None, **parameters: Any) -> Action:
    """Return any of browser-use's actions by name."""
    return Action(name, parameters, target)


def click(
    text: str | None = None, *, tag: str | None = None, nth: int = 0, **attributes: str
) -> Action:
    """Click the element; `data_url` means the attribute `data-url`, `class_` means `class`."""
    return act("click", Find(text, tag, _spelled(attributes), nth))


def fill(
    value: str,
    label: str | None = None,
    *,
    tag: str | None = None,
    nth: int = 0,
    **attributes: str,
) -> Action:
    """Replace the text of an input."""
    target = Find(label, tag, _spelled(attributes), nth)
    return act("input", target, text=value, clear=True)


def go(url: str, *, new_tab: bool = False) -> Action:
    """Open a URL."""
    return act("navigate", url=url, new_tab=new_tab)


def press(keys: str) -> Action:
    """Press a key or a combination, e.g. `Enter`."""
    return act("send_keys", keys=keys)


def answer(data: dict[str, Any], *, success: bool = True) -> Action:
    """Finish with the structured answer `data`."""
    return act("done", success=success, data=data)


def _spelled(attributes: dict[str, str]) -> dict[str, str]:
    return {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}


class ScriptedChat:
    """A chat model for `browser_use.Agent` that follows `script` and counts no tokens.

    An element that is not there yet is waited for, `patience` times one second; then the script
    is wrong and `ScriptError` says so.
    """

    _verified_api_keys = True
    model = "scripted"

    def __init__(self, script: Script, *, patience: int = 3) -> None:
        self._turns: Iterator[Turn] = iter(script)
        self._patience = patience
        self._session: Any = None
        self._pending: tuple[Action, ...] | None = None
        self._waited = 0
        self.turns = 0

    @property
    def provider(self) -> str:
        """The provider's name, as browser-use asks for it."""
        return "scripted"

    @property
    def name(self) -> str:
        """The model's name, as browser-use asks for it."""
        return self.model

    @property
    def model_name(self) -> str:
        """The model's name under browser-use's older spelling."""
        return self.model

    def attach(self, session: Any) -> None:
        """Look elements up in this browser session."""
        self._session = session

    async def ainvoke(self, messages: Any, output_format: Any = None, **options: Any) -> Any:
        """Answer with the next turn; without an output format, with an empty text."""
        del messages, options
        if output_format is None:
            return _completion("")
        page = await self._page()
        actions = [{each.name: values} for each, values in self._next(page)]
        thought = {
            "thinking": None,
            "evaluation_previous_goal": "",
            "memory": "",
            "next_goal": f"turn {self.turns} of the script",
            "action": actions,
        }
        known = output_format.model_fields
        return _completion(
            output_format.model_validate({k: v for k, v in thought.items() if k in known})
        )

    def _next(self, page: Page) -> list[tuple[Action, dict[str, Any]]]:
        if self._pending is None:
            turn = self._turn(page)
            self._pending = turn if isinstance(turn, tuple) else (turn,)
            self.turns += 1
            self._waited = 0
        missing = [each.target for each in self._pending if _is_missing(each, page)]
        if missing:
            return self._wait_for(missing[0], page)
        actions, self._pending = self._pending, None
        return [(each, _parameters(each, page)) for each in actions]

    def _turn(self, page: Page) -> Turn:
        try:
            if self.turns and isinstance(self._turns, Generator):
                turn: Turn = self._turns.send(page)
                return turn
            return next(self._turns)
        except StopIteration:
            raise ScriptError(
                f"the script ended after {self.turns} turns, but the agent is not done; "
                "end it with answer(...)"
            ) from None

    def _wait_for(self, target: Find | None, page: Page) -> list[tuple[Action, dict[str, Any]]]:
        self._waited += 1
        if self._waited > self._patience:
            raise ScriptError(
                f"turn {self.turns} of the script looks for {target} on {page.url or 'the page'}, "
                f"which has {_inventory(page.elements)}"
            )
        return [(Action("wait"), {"seconds": 1})]

    async def _page(self) -> Page:
        if self._session is None:
            return Page()
        elements = elements_of(await self._session.get_selector_map())
        return Page(
            url=await self._session.get_current_page_url(),
            title=await self._session.get_current_page_title(),
            text=await _text_of(self._session),
            elements=elements,
            # browser-use names a tab by the last four characters of its target.
            tabs={each.target_id[-4:]: each.url for each in await self._session.get_tabs()},
        )


def _is_missing(action: Action, page: Page) -> bool:
    return action.target is not None and action.target.among(page.elements) is None


def _parameters(action: Action, page: Page) -> dict[str, Any]:
    found = action.target.among(page.elements) if action.target else None
    return {"index": found.index, **action.parameters} if found else dict(action.parameters)


def _inventory(elements: tuple[Element, ...]) -> str:
    shown = [f"<{each.tag}> {each.text[:40]!r}" for each in elements[:12]]
    return ", ".join(shown) + (", ..." if len(elements) > len(shown) else "") or "no elements"


async def _text_of(session: Any, timeout_s: float = 2.0) -> str:
    """Return the page's text; empty when a busy page does not say in time."""
    try:
        attached = await session.get_or_create_cdp_session()
        result = await asyncio.wait_for(
            attached.cdp_client.send.Runtime.evaluate(
                params={"expression": "document.body?.innerText ?? ''", "returnByValue": True},
                session_id=attached.session_id,
            ),
            timeout_s,
        )
    except (asyncio.TimeoutError, ConnectionError, RuntimeError, ValueError):
        return ""
    return str(result.get("result", {}).get("value", ""))


def _completion(value: Any) -> Any:
    from browser_use.llm.views import (
        ChatInvokeCompletion,
        ChatInvokeUsage,
    )

    nothing = ChatInvokeUsage(
        prompt_tokens=0,
        prompt_cached_tokens=0,
        prompt_cache_creation_tokens=0,
        prompt_image_tokens=0,
        completion_tokens=0,
        total_tokens=0,
    )
    return ChatInvokeCompletion(completion=value, usage=nothing)
