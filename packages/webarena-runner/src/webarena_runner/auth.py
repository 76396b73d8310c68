"""Logging in to the sites by their own forms over plain HTTP, and proving that it worked.

No browser is needed: the form is fetched, its hidden inputs (Magento's `form_key`, Postmill's
`_csrf_token`, GitLab's `authenticity_token`) are sent back with the user's name and password, and
a page only a logged-in user sees is read with the cookies that came of it. Every trial logs in
anew, so that one trial's logout never logs another one out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin

from bench_core.errors import EnvironmentFaultError
from webarena_runner.sites import SITE_FACTS
from webarena_runner.web import Cookie, Page, WebClient

if TYPE_CHECKING:
    from collections.abc import Iterable

    from webarena_runner.config import Credentials, EnvironmentConfig, SiteConfig

__all__ = ["SiteSession", "cdp_cookies", "is_logged_in", "log_in", "log_in_all"]

_OK = 200
_TEXT_INPUTS = frozenset({"text", "email", ""})


@dataclass(frozen=True)
class SiteSession:
    """The cookies of one logged-in user on one site."""

    site: str
    username: str
    cookies: tuple[Cookie, ...]


@dataclass
class _Form:
    """A form of a page: where it goes and its inputs as (type, name, value)."""

    action: str
    inputs: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def asks_for_password(self) -> bool:
        return any(kind == "password" for kind, _, _ in self.inputs)

    def filled(self, credentials: Credentials) -> list[tuple[str, str]]:
        """Return what a browser would send: hidden inputs as they came, then name and password."""
        pairs = [(name, value) for kind, name, value in self.inputs if kind == "hidden"]
        password = next(i for i, each in enumerate(self.inputs) if each[0] == "password")
        before = [name for kind, name, _ in self.inputs[:password] if kind in _TEXT_INPUTS]
        if before:
            pairs.append((before[-1], credentials.username))
        pairs.append((self.inputs[password][1], credentials.password.get_secret_value()))
        return pairs


class _Forms(HTMLParser):
    """Collects the forms of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(_Form(given.get("action", "")))
            self._open = True
        elif tag == "input" and self._open and given.get("name"):
            kind = given.get("type", "").lower()
            self.forms[-1].inputs.append((kind, given["name"], given.get("value", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._open = False


async def log_in_all(
    config: EnvironmentConfig, sites: Iterable[str], timeout_s: float = 20.0
) -> list[SiteSession]:
    """Log in to every site of `sites` that has accounts, at once; raises like `log_in`."""
    names = [name for name in sorted(set(sites)) if SITE_FACTS[name].login_path is not None]
    return list(
        await asyncio.gather(
            *(asyncio.to_thread(log_in, config.site(name), name, timeout_s) for name in names)
        )
    )


def log_in(site: SiteConfig, name: str, timeout_s: float = 20.0) -> SiteSession:
    """Log in to one site and check it with a page only a logged-in user sees.

    Raises:
        EnvironmentFaultError: The site does not answer, has no login form where its image has
            one, or does not accept the credentials.
    """
    facts = SITE_FACTS[name]
    credentials = site.credentials
    if credentials is None or facts.login_path is None:
        raise EnvironmentFaultError(f"the site {name!r} has no account to log in with")
    client = WebClient(timeout_s)
    try:
        page = client.get(site.url + facts.login_path)
        form = _login_form(page, name)
        client.post(urljoin(page.url, form.action or page.url), form.filled(credentials))
        session = SiteSession(name, credentials.username, tuple(client.cookies))
        logged_in = is_logged_in(site, session, timeout_s)
    except EnvironmentFaultError as error:
        raise EnvironmentFaultError(f"cannot log in to the site {name!r}: {error}") from error
    if not logged_in:
        raise EnvironmentFaultError(
            f"the site {name!r} at {site.url} did not accept the user {credentials.username!r}: "
            f"check its username and password in the configuration"
        )
    return session


def is_logged_in(site: SiteConfig, session: SiteSession, timeout_s: float = 20.0) -> bool:
    """Return whether the session's cookies open a page only a logged-in user sees.

    Raises:
        EnvironmentFaultError: The site does not answer.
    """
    client = WebClient(timeout_s)
    client.cookies = list(session.cookies)
    path = SITE_FACTS[session.site].private_path.format(username=quote(session.username))
    page = client.get(site.url + path)
    asked_again = any(form.asks_for_password for form in _forms(page))
    return page.status == _OK and not (asked_again and _looks_like_login(page, site, session.site))


def cdp_cookies(sessions: Iterable[SiteSession]) -> list[dict[str, Any]]:
    """Return the sessions' cookies as parameters of CDP's `Storage.setCookies`."""
    return [_cdp_cookie(cookie) for session in sessions for cookie in session.cookies]


def _login_form(page: Page, name: str) -> _Form:
    for form in _forms(page):
        if form.asks_for_password:
            return form
    raise EnvironmentFaultError(
        f"{page.url} (status {page.status}) shows no login form; is this really {name}?"
    )


def _forms(page: Page) -> list[_Form]:
    parser = _Forms()
    parser.feed(page.text)
    return parser.forms


def _looks_like_login(page: Page, site: SiteConfig, name: str) -> bool:
    """Tell a login page from a private page that lets users change their password."""
    login_url = site.url + (SITE_FACTS[name].login_path or "")
    one_password = all(
        sum(kind == "password" for kind, _, _ in form.inputs) <= 1 for form in _forms(page)
    )
    return page.url.startswith(login_url) or one_password


def _cdp_cookie(cookie: Cookie) -> dict[str, Any]:
    """Leave out what makes Chromium drop a cookie: `expires: 0`, `None` without `secure`."""
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
