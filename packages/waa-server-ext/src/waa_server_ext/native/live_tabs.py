"""Pages in the VM's browser, over its debugging port."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from waa_server_ext.native.cdp import CdpBrowser, CdpTab
from waa_server_ext.native.context import OK, EvaluationContext
from waa_server_ext.native.registry import getter
from waa_server_ext.native.tabs import active_url
from waa_server_ext.native.urls import same_url
from waa_server_ext.vm.client import browser_path

_LAUNCH = {"command": ["google-chrome", "--remote-debugging-port=1337"], "shell": False}
_LAUNCHED_PAUSE_S = 5.0  # upstream's own wait for Chrome
_NAVIGATION_S = 60.0
_NO_ANSWER = 500


@getter("chrome.py", needs=("websockets",))
def open_tabs_info(env: EvaluationContext, config: Mapping[str, Any]) -> list[dict[str, str]]:
    """Title and URL of every open page.

    Fails as: an empty list if no browser can be reached, even after starting Chrome.

    Oddities: Waits for each page until its network is quiet; one that is not within 30 s counts by
    its URL.
    """
    found: list[dict[str, str]] = _recorded(env, "open_tabs_info", config, lambda: _tabs(env))
    return found


@getter("chrome.py", needs=("websockets",))
def page_info(env: EvaluationContext, config: Mapping[str, Any]) -> dict[str, str]:
    """Title, URL and HTML of a page that is opened for this.

    Fails as: raises if no browser can be reached, which counts as zero.

    Oddities: Opens the page in the user's own profile.
    """
    url, state = config["url"], config.get("load_state", "load")
    found: dict[str, str] = _recorded(env, "page_info", config, lambda: _page(env, url, state))
    return found


@getter("chrome.py", needs=("defusedxml", "websockets"))
def active_tab_info(env: EvaluationContext, config: Mapping[str, Any]) -> dict[str, str] | None:
    """Title, URL and HTML of the page in the active tab.

    Fails as: None without an address bar, a browser or the page.

    Oddities: The URL of the address bar is opened once more, in a fresh profile, so content behind a
    login or a form is not seen.
    """
    url = active_url(env, config)
    if url is None:
        return None
    found: dict[str, str] | None = _recorded(
        env, "active_tab_info", config, lambda: _opened_again(env, url)
    )
    return found


@getter("chrome.py", needs=("websockets",))
def pdf_from_url(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """A page of the web printed to a PDF file; its local path.

    Fails as: raises if no browser or page can be reached.

    Oddities: Only a headless Chrome prints; others refuse, as upstream.
    """
    path, url = env.scratch_path(config["dest"]), config["path"]
    printed = _recorded(env, "pdf_from_url", config, lambda: _printed(env, url))
    path.write_bytes(base64.b64decode(printed))
    return str(path)


def open_tabs(env: EvaluationContext, urls: Sequence[str], *, tries: int, wait_s: float) -> bool:
    """Open pages in the browser and close the first tab; return whether the browser could be reached."""
    from waa_server_ext.native.cdp import CdpError

    with _with_retries(env, tries, wait_s) as browser:
        if browser is None:
            return False
        first = [each["targetId"] for each in browser.tabs()][:1]
        for index, url in enumerate(urls):
            target = browser.call("Target.createTarget", url="about:blank")["targetId"]
            with contextlib.suppress(CdpError):  # a page that does not load is an open tab, too
                browser.attach(target).goto(url, _NAVIGATION_S)
            # only once another is open: a browser ends with its last tab
            if index == 0 and first:
                browser.close_tab(first[0])
    return True


def close_tabs(env: EvaluationContext, urls: Sequence[str], *, tries: int, wait_s: float) -> bool:
    """Close one tab of each page; return whether the browser could be reached."""
    with _with_retries(env, tries, wait_s) as browser:
        if browser is None:
            return False
        for url in urls:
            fitting = (each for each in browser.tabs() if same_url(each["url"], url))
            found = next(fitting, None)
            if found is not None:
                browser.close_tab(found["targetId"])
    return True


@contextlib.contextmanager
def _with_retries(env: EvaluationContext, tries: int, wait_s: float) -> Iterator[CdpBrowser | None]:
    from waa_server_ext.native.cdp import CdpError

    for left in reversed(range(tries)):
        try:
            browser = _connect(env)
        except CdpError:
            if left:
                env.pause(wait_s)
            continue
        with contextlib.closing(browser):
            yield browser
        return
    yield None


def _recorded(
    env: EvaluationContext, name: str, config: Mapping[str, Any], ask: Callable[[], Any]
) -> Any:
    """Return the open browser's answer and record it; in a replay, return the recorded one.

    Raises:
        CdpError: The browser did not answer, now or in the recording.
        VmTransportError: The transcript does not contain the question.
    """
    from waa_server_ext.native.cdp import CdpError

    if env.replayed:
        held = env.vm.post(browser_path(name), json=dict(config))
        if held.status != OK:
            raise CdpError(held.json())
        return held.json()
    try:
        answer = ask()
    except CdpError as error:
        # recorded as well, so that scoring again without the VM fails in the same way
        env.vm.record_browser(name, dict(config), _NO_ANSWER, str(error))
        raise
    env.vm.record_browser(name, dict(config), OK, answer)
    return answer


def _tabs(env: EvaluationContext) -> list[dict[str, str]]:
    from waa_server_ext.native.cdp import CdpError

    try:
        browser = _reach(env)
    except CdpError:
        return []
    with contextlib.closing(browser):
        return [_tab_info(browser, each) for each in browser.tabs()]


def _page(env: EvaluationContext, url: str, state: str) -> dict[str, str]:
    from waa_server_ext.native.cdp import CdpError

    with contextlib.closing(_reach(env)) as browser, browser.new_tab(private=False) as tab:
        tab.goto(url)
        try:
            tab.wait_for(state)
            return _described(tab, tab.title())
        except CdpError:
            return _described(tab, "Error encountered")


def _opened_again(env: EvaluationContext, url: str) -> dict[str, str] | None:
    from waa_server_ext.native.cdp import CdpError

    try:
        browser = _connect(env)
    except CdpError:
        return None
    with contextlib.closing(browser), browser.new_tab(private=True) as tab:
        try:
            tab.goto(url)
        except CdpError:
            return None
        tab.wait_for("load")
        return _described(tab, tab.title())


def _printed(env: EvaluationContext, url: str) -> str:
    """Return a page printed to PDF, in base64."""
    with contextlib.closing(_reach(env)) as browser, browser.new_tab(private=True) as tab:
        tab.goto(url)
        return base64.b64encode(tab.pdf()).decode("ascii")


def _reach(env: EvaluationContext) -> CdpBrowser:
    """Connect to the browser; if none is running, have Chrome started and try once more."""
    from waa_server_ext.native.cdp import CdpError

    try:
        return _connect(env)
    except CdpError:
        env.vm.post("/setup/launch", json=_LAUNCH)
        env.pause(_LAUNCHED_PAUSE_S)
        return _connect(env)


def _connect(env: EvaluationContext) -> CdpBrowser:
    """Connect to the VM's browser.

    Raises:
        CdpError: No browser answers there.
        EvaluationError: Another VM's browser might answer.
    """
    from waa_server_ext.native.cdp import browser_address, connect

    return connect(*browser_address(env.vm.vm, env.cdp))


def _tab_info(browser: CdpBrowser, target: Mapping[str, Any]) -> dict[str, str]:
    from waa_server_ext.native.cdp import CdpError

    try:
        tab = browser.attach(target["targetId"])
        tab.wait_for("networkidle")
        return {"title": tab.title(), "url": tab.url()}
    except CdpError:
        # upstream's own title for a page that fails
        return {"title": "Error encountered", "url": target["url"]}


def _described(tab: CdpTab, title: str) -> dict[str, str]:
    return {"title": title, "url": tab.url(), "content": tab.content()}
