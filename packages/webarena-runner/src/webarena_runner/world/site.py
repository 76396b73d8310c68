"""The base of stand-in sites: sessions, login, tokens against forged requests, and state."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from webarena_runner.world.markup import Markup, hidden, tag
from webarena_runner.world.messages import Response, html, not_found

if TYPE_CHECKING:
    from webarena_runner.world.messages import Request
    from webarena_runner.world.router import Router

__all__ = ["Credentials", "Session", "Site", "Visit"]


_SESSIONS = 10_000  # a trial begins a few; the oldest ends for another


@dataclass(frozen=True)
class Credentials:
    """An account of a site."""

    user: str
    password: str


@dataclass
class Session:
    """One browser's session with a site; `user` is None until it logs in."""

    ident: str = field(default_factory=lambda: secrets.token_hex(16))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    user: str | None = None
    notices: list[str] = field(default_factory=list)

    def take_notices(self) -> list[str]:
        """Return the notices for the next page, and clear them."""
        taken, self.notices = self.notices, []
        return taken


@dataclass(frozen=True)
class Visit:
    """A request together with its session."""

    request: Request
    session: Session

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


class Site(ABC):
    """A stand-in site: routes over a state that `reset` restores.

    Attributes:
        name: The site's name in WebArena-Verified.
        hostname: A host of its own, because the cookies of two sites on one host would collide.
        entry: The path in the site's URL.
        account: The account for its tasks.
        login_path: Where the login form is.
        token_fields: Names under which forms send the session's token.
        auto_login_header: The header by which the benchmark's images log in without a form.
    """

    name: ClassVar[str]
    hostname: ClassVar[str]
    entry: ClassVar[str] = ""
    account: ClassVar[Credentials]
    login_path: ClassVar[str]
    session_cookie: ClassVar[str]
    token_fields: ClassVar[tuple[str, ...]]
    auto_login_header: ClassVar[str | None] = None
    routes: ClassVar[Router]

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._sessions: dict[str, Session] = {}
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
            if self.routes.find(request.method, request.path) is None:
                return not_found()  # a session started by a late favicon would end the login
            session, is_new = self._session_of(request)
            response = self._answer(Visit(request, session))
            if is_new or session.ident not in self._sessions:
                self._sessions[session.ident] = session
                if len(self._sessions) > _SESSIONS:
                    del self._sessions[next(iter(self._sessions))]
                response.with_cookie(self.session_cookie, session.ident)
            return response

    def _answer(self, visit: Visit) -> Response:
        request = visit.request
        found = self.routes.find(request.method, request.path)
        if found is None:
            return not_found()
        if request.method != "GET" and not self._token_is_right(visit):
            return self.refuse_forgery(visit)
        handler, values = found
        response: Response = handler(self, visit, **values)
        return response

    def refuse_forgery(self, visit: Visit) -> Response:
        """Answer a form whose token is missing or stale."""
        del visit
        return html("<!doctype html><title>Invalid token</title><h1>Invalid form token</h1>", 403)

    def log_in(self, visit: Visit, user: str, password: str) -> bool:
        """Log the session in when the password is right; it gets a new id."""
        if (user.lower(), password) != (self.account.user.lower(), self.account.password):
            return False
        self._sessions.pop(visit.session.ident, None)
        visit.session.ident = secrets.token_hex(16)
        visit.session.user = self.account.user
        return True

    def token_input(self, visit: Visit) -> Markup:
        """Return the hidden field with the session's token against forged requests."""
        return hidden(self.token_fields[0], visit.session.token)

    def form(self, visit: Visit, action: str, *children: Markup | None, **more: str) -> Markup:
        """Return a form that posts to `action` with the session's token."""
        more.setdefault("method", "post")
        return tag("form", self.token_input(visit), *children, action=action, **more)

    def _session_of(self, request: Request) -> tuple[Session, bool]:
        known = self._sessions.get(request.cookies.get(self.session_cookie, ""))
        session = known or Session()
        if session.user is None and self._may_pass_by_header(request):
            session.user = self.account.user
        return session, known is None

    def _may_pass_by_header(self, request: Request) -> bool:
        if self.auto_login_header is None:
            return False
        expected = f"{self.account.user}:{self.account.password}"
        return request.headers.get(self.auto_login_header.lower()) == expected

    def _token_is_right(self, visit: Visit) -> bool:
        sent = [visit.form.get(name) for name in self.token_fields]
        sent.append(visit.request.headers.get("x-csrf-token"))
        return visit.session.token in sent
