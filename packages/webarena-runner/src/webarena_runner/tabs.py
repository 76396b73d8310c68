"""The tabs with which a trial starts: one per start URL, in order, the first in front."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from bench_core.errors import EnvironmentFaultError

_SETTLE_S = 10.0
_POLL_S = 0.05
_TOO_MANY, _SERVER_ERROR = 429, 500
_LOOK = """({
  loaded: document.readyState === 'complete',
  shown: document.body !== null && document.body.hasChildNodes(),
  status: performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0,
})"""


async def open_tabs(
    ws_url: str,
    urls: Sequence[str],
    timeout_s: float = 60.0,
    *,
    before: Callable[[str], Awaitable[None]] | None = None,
    context_id: str | None = None,
) -> None:
    """Open `urls` one after the other over a separate DevTools connection.

    `before` is awaited with each tab's id before anything is opened in it. The tabs are those of the
    browser context `context_id`, by default of the browser's own.

    A page counts as open when the site has answered and something of it is shown; a page that still
    loads after ten seconds continues to load while the agent works.

    Raises:
        EnvironmentFaultError: A site refuses, answers with 429, a status from 500 on or an empty page, or does
            not answer within `timeout_s`.
    """
    from cdp_use.client import CDPClient  # only needed where a browser runs

    async with CDPClient(ws_url) as cdp:
        targets = [await _target(cdp, context_id, is_first=not index) for index in range(len(urls))]
        # in the task's order, as webarena-verified's own agent for people opens them
        for target, url in zip(targets, urls, strict=True):
            if before is not None:
                await before(target)
            attached = await cdp.send_raw(
                "Target.attachToTarget", {"targetId": target, "flatten": True}
            )
            session = attached["sessionId"]
            try:
                answer = await asyncio.wait_for(
                    cdp.send_raw("Page.navigate", {"url": url}, session), timeout_s
                )
            except asyncio.TimeoutError:
                raise EnvironmentFaultError(
                    f"the start page {url} did not answer within {timeout_s:g} s"
                ) from None
            except (ConnectionError, RuntimeError) as error:
                raise EnvironmentFaultError(
                    f"the start page {url} cannot be opened: {error}"
                ) from error
            if answer.get("errorText"):
                raise EnvironmentFaultError(
                    f"the start page {url} cannot be opened: {answer['errorText']}"
                )
            await _settle(cdp, session, url, timeout_s)
            await cdp.send_raw("Target.detachFromTarget", {"sessionId": session})
        # a new tab comes to the front, and agents begin in the front one
        await cdp.send_raw("Target.activateTarget", {"targetId": targets[0]})


async def _target(cdp: Any, context_id: str | None, *, is_first: bool) -> str:
    """Return the tab that is there from the start, or a new one."""
    if is_first:
        found = await cdp.send_raw("Target.getTargets")
        for target in found["targetInfos"]:
            if target["type"] == "page" and context_id in {None, target.get("browserContextId")}:
                return str(target["targetId"])
    within = {} if context_id is None else {"browserContextId": context_id}
    created = await cdp.send_raw("Target.createTarget", {"url": "about:blank", **within})
    return str(created["targetId"])


async def _settle(cdp: Any, session: str, url: str, timeout_s: float) -> None:
    """Wait until the page has loaded, with a limit: a page with a busy script never answers."""
    began = asyncio.get_running_loop().time()
    question = {"expression": _LOOK, "returnByValue": True}
    while (past := asyncio.get_running_loop().time() - began) < timeout_s:
        try:
            asking = cdp.send_raw("Runtime.evaluate", question, session)
            answer = await asyncio.wait_for(asking, max(_SETTLE_S - past, _POLL_S))
        except asyncio.TimeoutError:
            return
        except RuntimeError:  # between two documents there is nothing to evaluate in
            answer = {}
        seen = answer.get("result", {}).get("value") or {}
        if seen.get("status"):  # 0 is the status of the document before it
            if seen["status"] == _TOO_MANY or seen["status"] >= _SERVER_ERROR:
                raise EnvironmentFaultError(
                    f"the start page {url} answers with status {seen['status']}"
                )
            if seen["loaded"] and not seen["shown"]:
                raise EnvironmentFaultError(f"the start page {url} is empty")
            if seen["loaded"]:
                return
        if past > _SETTLE_S and seen.get("shown", True):
            return
        await asyncio.sleep(_POLL_S)
    raise EnvironmentFaultError(f"the start page {url} shows nothing after {timeout_s:g} s")
