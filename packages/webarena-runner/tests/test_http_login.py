from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qs

import pytest

from bench_core.errors import EnvironmentFaultError
from webarena_runner.config import EnvironmentConfig
from webarena_runner.login.http_login import (
    cdp_cookies,
    enter_all,
    is_logged_in,
    log_in,
    require_user,
)
from webarena_runner.site_checks import check_sites
from webarena_runner.web import WebClient, parse_cookie

if TYPE_CHECKING:
    from collections.abc import Iterator

LOGIN = """<form action="/search"><input name="q"></form>
<form action="/login_check" method="post">
<input type="hidden" name="_csrf_token" value="tok&amp;en">
<input name="_username"><input type="password" name="_password">
<button name="enter" value="now">Log in</button><input type="submit" name="later"></form>
<form action="/register" method="post"><input name="mail"><input type="password" name="new">
<input type="password" name="again"><button name="register">Register</button></form>"""


class Forum(BaseHTTPRequestHandler):
    """A site with a login form that wants its hidden token back, as Postmill does, and the button that was pressed,
    beside a registration."""

    seen: ClassVar[list[dict[str, list[str]]]] = []

    def do_GET(self) -> None:
        if self.path in {"/login", "/enter"}:
            self.reply(200, LOGIN, ["pre=1; path=/", "gone=1; Max-Age=0"])
        elif self.path == "/broken":
            self.reply(500, "down")
        elif self.path == "/loop":
            self.reply(302, "", location="/loop")
        elif "PHPSESSID=s1" in self.headers.get("Cookie", ""):
            self.reply(200, "your biography")
        else:
            self.reply(302, "", location="/enter")  # not where a login is asked for

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.seen.append(form)
        wanted = {"_csrf_token": ["tok&en"], "_password": ["test1234"], "enter": ["now"]}
        right = form == {**wanted, "_username": form.get("_username")}
        cookie = ["PHPSESSID=s1; path=/; HttpOnly; SameSite=lax"] if right else []
        self.reply(302, "", cookie, location="/")

    def reply(
        self, status: int, body: str, cookies: list[str] | None = None, location: str = ""
    ) -> None:
        self.send_response(status)
        for cookie in cookies or []:
            self.send_header("Set-Cookie", cookie)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def forum() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Forum)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://reddit.localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def sites(**given: Any) -> EnvironmentConfig:
    return EnvironmentConfig.model_validate({"sites": given})


@pytest.fixture
def closed() -> Iterator[str]:
    """A port that refuses connections, and that nobody else can open meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_login_sends_hidden_inputs_back_and_proves_itself(forum: str) -> None:
    session = log_in(sites(reddit=forum).site("reddit"), "reddit")
    assert session.username == "MarvelsGrantMan136"
    assert {cookie.name for cookie in session.cookies} == {"pre", "PHPSESSID"}
    assert Forum.seen[-1] == {
        "_csrf_token": ["tok&en"],
        "_username": ["MarvelsGrantMan136"],
        "_password": ["test1234"],
        "enter": ["now"],
    }


def test_wrong_password_is_an_environment_fault_that_names_the_user(forum: str) -> None:
    config = sites(reddit={"url": forum, "password": "wrong-one"})
    with pytest.raises(EnvironmentFaultError, match="'MarvelsGrantMan136'") as caught:
        log_in(config.site("reddit"), "reddit")
    assert "wrong-one" not in str(caught.value)


def test_expired_session_is_noticed(forum: str) -> None:
    site = sites(reddit=forum).site("reddit")
    session = log_in(site, "reddit")
    stale = type(session)(session.site, session.username, cookies=session.cookies[:1])
    assert is_logged_in(site, session)
    assert not is_logged_in(site, stale)


async def test_sites_without_accounts_are_skipped(forum: str) -> None:
    config = sites(reddit=forum, map=forum, wikipedia=forum)
    sessions, live = await enter_all(config, ["reddit", "map", "wikipedia"])
    assert [session.site for session in sessions] == ["reddit"]
    assert live == []


def test_site_that_is_down_is_named(closed: str) -> None:
    config = sites(reddit=closed)
    with pytest.raises(EnvironmentFaultError, match=r"'reddit'.*cannot be reached"):
        log_in(config.site("reddit"), "reddit")


def test_site_that_never_answers_is_given_up(silent: str) -> None:
    config = sites(reddit=silent)
    with pytest.raises(EnvironmentFaultError, match=r"'reddit'.*did not answer within 0\.3 s"):
        log_in(config.site("reddit"), "reddit", timeout_s=0.3)


def test_page_without_login_form_is_named(forum: str) -> None:
    config = sites(shopping_admin=f"{forum}/broken")
    with pytest.raises(EnvironmentFaultError, match=r"broken \(status 500\) shows no login form"):
        log_in(config.site("shopping_admin"), "shopping_admin")


async def test_health_names_the_site_that_is_down(forum: str, silent: str, closed: str) -> None:
    config = sites(
        reddit=forum,
        shopping=closed,
        gitlab=silent,
        shopping_admin=f"{forum}/broken",
    )
    found = await check_sites(config, config.sites, timeout_s=5.0)
    down = {
        name: " ".join(map(str, each))
        for name, each in found.items()
        if any(f.is_down for f in each)
    }
    assert set(down) == {"shopping", "gitlab", "shopping_admin"}
    assert "cannot be reached" in down["shopping"]
    assert "did not answer" in down["gitlab"]
    assert "status 500" in down["shopping_admin"]


def test_endless_redirects_are_a_fault(forum: str) -> None:
    with pytest.raises(EnvironmentFaultError, match="redirects more than"):
        WebClient().get(f"{forum}/loop")


def test_redirects_carry_the_cookies_they_set(forum: str) -> None:
    client = WebClient()
    page = client.get(f"{forum}/private")
    assert page.url == f"{forum}/enter"
    assert [cookie.name for cookie in client.cookies] == ["pre"]


def test_body_that_trickles_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()
        thread = threading.Thread(target=_trickle, args=(listener, done))
        thread.start()
        with pytest.raises(EnvironmentFaultError, match="did not answer"):
            WebClient(timeout_s=0.4).get(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        done.set()
        thread.join()


def _trickle(listener: socket.socket, done: threading.Event) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        with contextlib.suppress(OSError):  # the client leaves in the middle
            while not done.wait(0.05):
                connection.sendall(b".")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=b", {"value": "b", "domain": "shop.test", "path": "/x", "host_only": True}),
        (
            "a=b; Domain=.shop.test; Path=/",
            {"domain": "shop.test", "path": "/", "host_only": False},
        ),
        ("a=b=c; Secure; HttpOnly", {"value": "b=c", "secure": True, "http_only": True}),
        ("a=b; Expires=Wed, 21-Oct-2099 07:28:00 GMT", {"expires": 4096250880.0}),
        ("a=b; Expires=nonsense; SameSite=Lax", {"expires": None, "same_site": "Lax"}),
        ("a=", {"value": ""}),
    ],
)
def test_set_cookie_lines_are_read_as_browsers_do(line: str, expected: dict[str, Any]) -> None:
    cookie = parse_cookie(line, "http://shop.test:7770/x/y")
    assert {name: getattr(cookie, name) for name in expected} == expected


@pytest.mark.parametrize("line", ["", "novalue", "=x; path=/"])
def test_unusable_cookie_lines_are_dropped(line: str) -> None:
    assert parse_cookie(line, "http://shop.test/") is None


def test_cookies_for_the_browser_keep_what_chromium_needs(forum: str) -> None:
    session = log_in(sites(reddit=forum).site("reddit"), "reddit")
    by_name = {cookie["name"]: cookie for cookie in cdp_cookies([session])}
    assert by_name["PHPSESSID"] == {
        "name": "PHPSESSID",
        "value": "s1",
        "domain": "reddit.localhost",
        "path": "/",
        "secure": False,
        "httpOnly": True,
        "sameSite": "Lax",
    }


def test_cookie_values_do_not_show_in_reprs(forum: str) -> None:
    assert "s1" not in repr(log_in(sites(reddit=forum).site("reddit"), "reddit").cookies)


@pytest.mark.parametrize(
    ("url", "is_sent"),
    [("http://shop.test/", False), ("https://shop.test/", True), ("http://shop.localhost/", True)],
)
def test_secure_cookies_go_where_a_browser_sends_them(url: str, *, is_sent: bool) -> None:
    cookie = parse_cookie("a=1; Secure", url)
    assert cookie is not None
    assert cookie.goes_to(url) == is_sent


GITLAB = 'gon.current_user_id=2;gon.current_username="root"'
CUSTOMER = """<div class="box box-information"><div class="box-content"><p>
  Emma Lopez<br>emma.lopez@gmail.com<br></p></div></div><p>help@shop.test</p>"""
ADMIN = """<span class="admin-user-account-text">
  operator </span>"""


@pytest.mark.parametrize(
    ("name", "user", "page", "other"),
    [
        ("gitlab", "byteblaze", GITLAB, "root"),
        ("gitlab", "Root", GITLAB, None),
        ("gitlab", "root@gitlab.test", GITLAB, None),  # what it is shown by is a name
        ("gitlab", "byteblaze", "<p>To-Do List</p>", None),
        ("shopping", "emma.lopez@gmail.com", CUSTOMER, None),
        ("shopping", "anna@gmail.com", CUSTOMER, "emma.lopez@gmail.com"),
        ("shopping_admin", "admin", ADMIN, "operator"),
        ("shopping_admin", "operator", ADMIN, None),
    ],
)
def test_page_that_is_shown_to_another_user_is_refused(
    name: str, user: str, page: str, other: str | None
) -> None:
    if other is None:
        require_user(name, user, page)
        return
    with pytest.raises(EnvironmentFaultError, match=f"lets '{other}' in instead of '{user}'"):
        require_user(name, user, page)
