"""Login to the sites by their own forms over plain HTTP, with a check that it worked.

No browser is needed: the form is fetched, its hidden inputs (Magento's `form_key`, Postmill's
`_csrf_token`, GitLab's `authenticity_token`) are sent back with user name and password, and a page
that only a logged-in user sees is read with the resulting cookies. Unless logins are stored in files
every trial logs in itself, so that no trial's logout ends the login of another.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin

from bench_core.errors import EnvironmentFaultError
from webarena_runner.config import Credentials, EnvironmentConfig, SiteConfig
from webarena_runner.login.cookie_files import SiteSession, read_cookies, write_cookies
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.web import Cookie, WebClient

_OK = 200
_LOGIN = re.compile(r"log_?in|sign_?in", re.IGNORECASE)
_TEXT_INPUTS = frozenset({"text", "email", ""})


@dataclass
class _Form:
    """A form of a page: its action and its inputs as (type, name, value)."""

    action: str
    inputs: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def asks_for_password(self) -> bool:
        return any(kind == "password" for kind, _, _ in self.inputs)

    def filled(self, credentials: Credentials) -> list[tuple[str, str]]:
        """Return the fields that a browser would send: hidden inputs, name and password, the first button."""
        pairs = [(name, value) for kind, name, value in self.inputs if kind == "hidden"]
        # the fields' names differ from site to site; the last text input before the password is the user's
        password = next(i for i, each in enumerate(self.inputs) if each[0] == "password")
        before = [name for kind, name, _ in self.inputs[:password] if kind in _TEXT_INPUTS]
        if before:
            pairs.append((before[-1], credentials.username))
        pairs.append((self.inputs[password][1], credentials.password.get_secret_value()))
        # the button that Enter presses: by its name django-oscar tells a login from a registration
        buttons = [(name, value) for kind, name, value in self.inputs if kind == "submit"]
        return [*pairs, *(each for each in buttons[:1] if each[0])]


class _Forms(HTMLParser):
    """Parser that collects the forms of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(_Form(given.get("action", "")))
            self._open = True
        elif tag in {"input", "button"} and self._open:
            kind = given.get("type", "submit" if tag == "button" else "").lower()
            if given.get("name") or kind == "submit":
                self.forms[-1].inputs.append((kind, given.get("name", ""), given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = False


class LoginRefusedError(EnvironmentFaultError):
    """A site answers, but shows no login form or does not accept the user."""


async def enter_all(
    config: EnvironmentConfig,
    sites: Iterable[str],
    timeout_s: float = 20.0,
    folder: Path | None = None,
) -> tuple[list[SiteSession], list[str]]:
    """Log in to every site of `sites` that has accounts, at once; see `enter`.

    Returns the logins, and the names of the sites where the browser must log in: those configured
    so, and those whose form does not work over plain HTTP.
    """
    # map and wikipedia have no accounts
    names = [name for name in sorted(set(sites)) if SITE_FACTS[name].login_path is not None]
    live = [name for name in names if config.site(name).login == "browser"]
    plain = [name for name in names if name not in live]
    entered = await asyncio.gather(
        *(asyncio.to_thread(enter, config.site(name), name, timeout_s, folder) for name in plain),
        return_exceptions=True,
    )
    sessions: list[SiteSession] = []
    for name, result in zip(plain, entered, strict=True):
        if isinstance(result, SiteSession):
            sessions.append(result)
        elif isinstance(result, LoginRefusedError) and config.site(name).login == "form":
            # a form that needs scripts may still work in the browser
            live.append(name)
        elif isinstance(result, BaseException):
            raise result
    return sessions, live


def enter(
    site: SiteConfig, name: str, timeout_s: float = 20.0, folder: Path | None = None
) -> SiteSession:
    """Return a working login: the one stored in `folder`, or a new one, which is stored there.

    Raises:
        LoginRefusedError: The site does not let the user in.
        EnvironmentFaultError: The site does not answer.
        InputError: The file in `folder` is not a login.
    """
    if folder is None:
        return log_in(site, name, timeout_s)
    kept = kept_login(site, name, folder)
    if kept is not None and is_logged_in(site, kept, timeout_s):
        return kept
    session = log_in(site, name, timeout_s)
    write_cookies(folder, session, site.url)
    return session


def kept_login(site: SiteConfig, name: str, folder: Path) -> SiteSession | None:
    """Return the login stored in `folder`; None if it is another user's or site's, or has expired."""
    kept = read_cookies(folder, name)
    user = site.credentials.username if site.credentials else None
    if kept is None or kept.stale or (kept.url, kept.username) != (site.url, user):
        return None
    return SiteSession(name, kept.username, kept.as_cookies())


def log_in(site: SiteConfig, name: str, timeout_s: float = 20.0) -> SiteSession:
    """Log in to one site and check it with a page that only a logged-in user sees.

    Raises:
        LoginRefusedError: The site has no login form where its image has one, or does not accept
            the credentials.
        EnvironmentFaultError: The site does not answer.
    """
    facts = SITE_FACTS[name]
    if site.credentials is None or facts.login_path is None:
        raise LoginRefusedError(f"the site {name!r} has no account to log in with")
    by_header = site.login == "header"
    try:
        session = (_by_header if by_header else _by_form)(site, name, site.credentials, timeout_s)
        logged_in = is_logged_in(site, session, timeout_s)
    except EnvironmentFaultError as error:
        raise type(error)(f"cannot log in to the site {name!r}: {error}") from error
    if not logged_in:
        raise LoginRefusedError(
            f"the site {name!r} at {site.url} did not accept the user "
            f"{site.credentials.username!r}: check its username and password in the configuration"
        )
    return session


def _by_form(
    site: SiteConfig, name: str, credentials: Credentials, timeout_s: float
) -> SiteSession:
    client = WebClient(timeout_s)
    page = client.get(f"{site.url}{SITE_FACTS[name].login_path}")
    form = next((each for each in _forms(page.text) if each.asks_for_password), None)
    if form is None:
        raise LoginRefusedError(
            f"{page.url} (status {page.status}) shows no login form; is this really {name}?"
        )
    # a form without an action is sent to its own page
    client.post(urljoin(page.url, form.action or page.url), form.filled(credentials))
    return SiteSession(name, credentials.username, tuple(client.cookies))


def _by_header(
    site: SiteConfig, name: str, credentials: Credentials, timeout_s: float
) -> SiteSession:
    """Request a private page with the login header once, and use the session cookies of the response.

    As an extra header of the browser it would be missing in tabs that the agent opens itself.
    """
    header = SITE_FACTS[name].login_header
    if header is None:
        raise LoginRefusedError(f"the image of {name!r} has no login header: use login: form")
    value = f"{credentials.username}:{credentials.password.get_secret_value()}"
    client = WebClient(timeout_s, {header: value})
    client.get(site.url + SITE_FACTS[name].private_path.format(username=credentials.username))
    return SiteSession(name, credentials.username, tuple(client.cookies))


def is_logged_in(site: SiteConfig, session: SiteSession, timeout_s: float = 20.0) -> bool:
    """Return whether the session's cookies open a page that only a logged-in user sees.

    Raises:
        EnvironmentFaultError: The site does not answer, or shows the page to another user.
    """
    client = WebClient(timeout_s)
    client.cookies = list(session.cookies)
    path = SITE_FACTS[session.site].private_path.format(username=quote(session.username))
    page = client.get(site.url + path)
    at_login = page.url.startswith(site.url + (SITE_FACTS[session.site].login_path or ""))
    asks = any(form.asks_for_password for form in _forms(page.text))
    require_user(session.site, session.username, page.text)
    return page.status == _OK and not (at_login and asks) and not shows_login(page.text)


def require_user(name: str, user: str, text: str) -> None:
    """Refuse a page that is shown to another user than `user`, as where a proxy logs everyone in.

    Raises:
        EnvironmentFaultError: It names another one.
    """
    pattern = SITE_FACTS[name].private_user
    found = re.search(pattern, text, re.DOTALL) if pattern else None
    shown = found[1] if found else user
    # who logs in by an e-mail address may be shown by a name
    if shown.lower() != user.lower() and ("@" in shown) == ("@" in user):
        raise EnvironmentFaultError(f"the site {name!r} lets {shown!r} in instead of {user!r}")


def shows_login(text: str) -> bool:
    """Return whether a page has a login form: one password, for an address that says so or for its own.

    Sites show it at any address, with status 200, with or without a registration. A page on which a
    password is changed asks for several in one form, or sends it elsewhere.
    """
    return any(
        sum(kind == "password" for kind, _, _ in form.inputs) == 1
        and (not form.action or _LOGIN.search(form.action))
        for form in _forms(text)
    )


def cdp_cookies(sessions: Iterable[SiteSession]) -> list[dict[str, Any]]:
    """Return the sessions' cookies as parameters of CDP's `Storage.setCookies`."""
    return [_cdp_cookie(cookie) for session in sessions for cookie in session.cookies]


def _forms(text: str) -> list[_Form]:
    parser = _Forms()
    parser.feed(text)
    return parser.forms


def _cdp_cookie(cookie: Cookie) -> dict[str, Any]:
    """Return a cookie without attributes that Chromium rejects: `expires: 0`, `None` without `secure`."""
    params: dict[str, Any] = {
        "name": cookie.name,
        "value": cookie.value,
        "domain": cookie.domain if cookie.host_only else f".{cookie.domain}",
        "path": cookie.path,
        "secure": cookie.secure,
        "httpOnly": cookie.http_only,
    }
    if cookie.expires is not None:
        params["expires"] = cookie.expires
    same_site = (cookie.same_site or "").capitalize()
    if same_site in {"Strict", "Lax"} or (same_site == "None" and cookie.secure):
        params["sameSite"] = same_site
    return params
