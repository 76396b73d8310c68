"""The base of stand-in sites: sessions, login, tokens against forged requests, and state."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from webarena_runner.world.files import asset
from webarena_runner.world.markup import Markup, Node, document, hidden, tag
from webarena_runner.world.messages import Request, Response, html, not_found, redirect
from webarena_runner.world.router import Router

_SESSIONS = 10_000  # a trial begins a few; the oldest ends for another


@dataclass(frozen=True)
class SiteAccount:
    """An account of a site."""

    user: str
    password: str


@dataclass
class VisitorSession:
    """One browser's session with a site; `user` is None until it logs in."""

    ident: str = field(default_factory=lambda: secrets.token_hex(16))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    user: str | None = None
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Visit:
    """A request together with its session."""

    request: Request
    session: VisitorSession

    @property
    def user(self) -> str | None:
        """The user who is logged in."""
        return self.session.user

    @property
    def form(self) -> dict[str, str]:
        """The fields of the submitted form."""
        return self.request.form

    @property
    def query(self) -> dict[str, str]:
        """The parameters of the URL."""
        return self.request.query


class StandInSite(ABC):
    """A stand-in site: routes over a state that `reset` restores.

    Attributes:
        name: The site's name in WebArena-Verified.
        hostname: A host of its own, because the cookies of two sites on one host would collide.
        entry: The path in the site's URL.
        colours: Of links and of the bar at the top.
        account: The account for its tasks.
        login_path: The path of the login form.
        token_fields: Names under which forms send the session's token.
        auto_login_header: The header by which the benchmark's images log in without a form.
    """

    name: ClassVar[str]
    hostname: ClassVar[str]
    entry: ClassVar[str] = ""
    colours: ClassVar[tuple[str, str]]
    account: ClassVar[SiteAccount]
    login_path: ClassVar[str]
    session_cookie: ClassVar[str]
    token_fields: ClassVar[tuple[str, ...]]
    auto_login_header: ClassVar[str | None] = None
    routes: ClassVar[Router]

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, VisitorSession] = {}
        self.populate()

    @abstractmethod
    def populate(self) -> None:
        """Set the site's state to the initial one of every trial."""

    def reset(self) -> None:
        """Discard sessions and all changes."""
        with self._lock:
            self._sessions.clear()
            self.populate()

    def expire_sessions(self) -> None:
        """End all sessions, as a site does when they time out."""
        with self._lock:
            self._sessions.clear()

    def handle(self, request: Request) -> Response:
        """Answer one request; requests of one site take turns."""
        with self._lock:
            found = self.routes.find(request.method, request.path)
            if found is None:
                return not_found()  # a session started by a late favicon would end the login
            known = self._sessions.get(request.cookies.get(self.session_cookie, ""))
            session = known or VisitorSession()
            if session.user is None and self._may_pass_by_header(request):
                session.user = self.account.user
            visit = Visit(request, session)
            handler, values = found
            response: Response
            if request.method != "GET" and not self._token_is_right(visit):
                forged = "<!doctype html><title>Invalid token</title><h1>Invalid form token</h1>"
                response = html(forged, 403)
            else:
                response = handler(self, visit, **values)
            # a login gives the session a new id
            if known is None or session.ident not in self._sessions:
                self._sessions[session.ident] = session
                if len(self._sessions) > _SESSIONS:
                    oldest = next(iter(self._sessions))
                    del self._sessions[oldest]
                response.with_cookie(self.session_cookie, session.ident)
            return response

    def log_in(
        self, visit: Visit, user_field: str, password_field: str, *, home: str, refusal: str
    ) -> Response:
        """Log the session in when the password in the form is right; it gets a new id."""
        given = visit.form.get(user_field, "").lower(), visit.form.get(password_field, "")
        if given != (self.account.user.lower(), self.account.password):
            visit.session.notices.append(refusal)
            return redirect(self.login_path)
        self._sessions.pop(visit.session.ident, None)
        visit.session.ident = secrets.token_hex(16)
        visit.session.user = self.account.user
        return redirect(home)

    def token_input(self, visit: Visit) -> Markup:
        """Return the hidden field with the session's token against forged requests."""
        return hidden(self.token_fields[0], visit.session.token)

    def form(self, visit: Visit, action: str, *children: Markup | None, **more: str) -> Markup:
        """Return a form that posts to `action` with the session's token."""
        more.setdefault("method", "post")
        return tag("form", self.token_input(visit), *children, action=action, **more)

    def page(
        self,
        visit: Visit,
        title: str,
        *body: Node,
        header: Iterable[Node] = (),
        footer: Node = None,
        window: str | None = None,
        script: str = "",
    ) -> Response:
        """Answer with a page of the site, which shows the session's notices once.

        Args:
            visit: The request.
            title: The heading.
            body: Content below the heading.
            header: Content above the heading.
            footer: Content at the end.
            window: The title of the window, if it is not the heading.
            script: Runs at the end of the page.
        """
        notices = [tag("p", each, class_="notice") for each in visit.session.notices]
        visit.session.notices.clear()
        main = tag("main", *notices, tag("h1", title), *body)
        accent, ink = self.colours
        css = f":root {{ --accent: {accent}; --ink: {ink}; }}\n{asset('style.css')}"
        return html(document(window or title, css, *header, main, footer, script=script))

    def _may_pass_by_header(self, request: Request) -> bool:
        if self.auto_login_header is None:
            return False
        expected = f"{self.account.user}:{self.account.password}"
        return request.headers.get(self.auto_login_header.lower()) == expected

    def _token_is_right(self, visit: Visit) -> bool:
        sent = [visit.form.get(name) for name in self.token_fields]
        sent.append(visit.request.headers.get("x-csrf-token"))
        return visit.session.token in sent
