"""Login through the browser, if a form over HTTP is not enough, and cookies of logins for it.

Cookies are read back after they were set, because Chromium drops some without an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from websockets.exceptions import WebSocketException

from bench_core.errors import EnvironmentFaultError
from webarena_runner.config import SiteConfig
from webarena_runner.login.http_login import require_user
from webarena_runner.site_facts import SITE_FACTS

_POLL_S = 0.1

_FILL = Path(__file__).parent.parent / "scripts" / "log_in.js"
_LEFT = "document.readyState === 'complete' && !window.proctorWasHere"
# a form that changes a password asks for several; a login page may also have a registration
_STATE = """document.readyState !== 'complete' ? null
  : performance.getEntriesByType('navigation')[0]?.responseStatus >= 400
  || [document, ...document.forms].some(each => each.querySelectorAll('input[type=password]').length === 1)
  ? 'out' : 'in'"""


async def inject_cookies(
    ws_url: str, cookies: Sequence[Mapping[str, Any]], context_id: str | None = None
) -> None:
    """Set `cookies`, parameters of CDP's `Storage.setCookies`, for all tabs of the browser.

    With a `context_id` they are set for those of that browser context alone.

    Raises:
        EnvironmentFaultError: The browser cannot be reached, or did not keep one of them.
    """
    from cdp_use.client import CDPClient  # only needed where a browser runs

    within = {} if context_id is None else {"browserContextId": context_id}
    try:
        async with CDPClient(ws_url) as cdp:
            await cdp.send_raw("Storage.setCookies", {"cookies": list(cookies), **within})
            # `setCookies` reports success even for a cookie that Chromium drops
            kept = (await cdp.send_raw("Storage.getCookies", within))["cookies"]
    except (OSError, RuntimeError, WebSocketException) as error:
        raise EnvironmentFaultError(f"cookies cannot be set in the browser: {error}") from error
    present = {_identity(cookie) for cookie in kept}
    lost = [cookie for cookie in cookies if _identity(cookie) not in present]
    if lost:
        names = ", ".join(f"{cookie['name']} of {cookie['domain']}" for cookie in lost)
        raise EnvironmentFaultError(f"the browser did not keep the login cookies {names}")


async def log_in_live(
    ws_url: str,
    name: str,
    site: SiteConfig,
    timeout_s: float = 30.0,
    *,
    context_id: str | None = None,
) -> None:
    """Log in to a site in the first tab of the browser, or of one of its contexts, which is left blank.

    Raises:
        EnvironmentFaultError: The page has no form, or the site does not accept the user.
    """
    from cdp_use.client import CDPClient  # only needed if a browser runs

    try:
        async with asyncio.timeout(timeout_s), CDPClient(ws_url) as cdp:
            tab = _Tab(cdp, await _attached(cdp, context_id))
            facts = SITE_FACTS[name]
            if site.credentials is None or facts.login_path is None:
                raise EnvironmentFaultError(f"the site {name!r} has no account to log in with")
            user, password = site.credentials.username, site.credentials.password.get_secret_value()
            await tab.go(site.url + facts.login_path)
            script = (
                _FILL.read_text(encoding="utf-8")
                .replace("USER", json.dumps(user))
                .replace("PASSWORD", json.dumps(password))
            )
            if await tab.until(script) != "sent":
                raise EnvironmentFaultError(f"{site.url}{facts.login_path} shows no login form")
            await tab.until(_LEFT)
            await tab.go(site.url + facts.private_path.format(username=quote(user)))
            if await tab.until(_STATE) == "out":
                raise EnvironmentFaultError(
                    f"the site {name!r} at {site.url} did not accept the user {user!r} in the browser"
                )
            require_user(name, user, str(await tab.evaluate("document.documentElement.outerHTML")))
            await tab.go("about:blank")
    except TimeoutError:
        raise EnvironmentFaultError(
            f"logging in to the site {name!r} in the browser took more than {timeout_s:g} s"
        ) from None
    except (OSError, RuntimeError, WebSocketException) as error:
        raise EnvironmentFaultError(f"cannot log in to the site {name!r}: {error}") from error


class _Tab:
    """One tab, on a DevTools connection of its own."""

    def __init__(self, cdp: Any, session: str) -> None:
        self._cdp = cdp
        self._session = session

    async def go(self, url: str) -> None:
        await self.evaluate("window.proctorIsLeaving = true")
        answer = await self._cdp.send_raw("Page.navigate", {"url": url}, self._session)
        if answer.get("errorText"):
            raise EnvironmentFaultError(f"{url} cannot be opened: {answer['errorText']}")
        await self.until("document.readyState === 'complete' && !window.proctorIsLeaving")

    async def until(self, script: str) -> Any:
        """Evaluate a script until its value is neither null nor false."""
        while not (answer := await self.evaluate(script)):  # noqa: ASYNC110  # asks the page
            await asyncio.sleep(_POLL_S)
        return answer

    async def evaluate(self, script: str) -> Any:
        question = {"expression": script, "returnByValue": True}
        try:
            answer = await self._cdp.send_raw("Runtime.evaluate", question, self._session)
        except RuntimeError:  # between two documents there is nothing to evaluate in
            return None
        return answer.get("result", {}).get("value")


async def _attached(cdp: Any, context_id: str | None) -> str:
    targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
    page = next(
        each["targetId"]
        for each in targets
        if each["type"] == "page" and context_id in {None, each.get("browserContextId")}
    )
    attached = await cdp.send_raw("Target.attachToTarget", {"targetId": page, "flatten": True})
    return str(attached["sessionId"])


def _identity(cookie: Mapping[str, Any]) -> tuple[str, str, str, str]:
    # Chromium returns the domain of a cookie for subdomains with a dot
    domain = str(cookie["domain"]).lstrip(".")
    return str(cookie["name"]), domain, str(cookie["path"]), str(cookie["value"])
