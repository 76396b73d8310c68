"""Faults of sites, as a server that stands in front of a stand-in site and changes what it answers."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import socket
import ssl
import struct
import threading
import time
from base64 import b64encode
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import trustme
from attempts import attempt
from cdp_use.client import CDPClient
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificate
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived

from bench_core.browser import ChromiumOptions, websocket_url
from bench_core.records import AgentOutcome
from webarena_runner.config import EnvironmentConfig
from webarena_runner.environment import EnvironmentSettings
from webarena_runner.world.launch import Environment, environment_of
from webarena_runner.world.messages import Request, Response, html, json_response, redirect
from webarena_runner.world.server import FaultKind, SiteServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.protocols import BrowserHandle
    from bench_core.records import TrialResult
    from webarena_runner.world import BuiltInWorld

    Change = Callable[["Front", Request], Response | None]

TASKS = {"gitlab": 44, "shopping": 260, "reddit": 399, "map": 70}
PAGES = {
    "gitlab": "/dashboard/todos",
    "shopping": "/video-games.html",
    "reddit": "/user/MarvelsGrantMan136/edit_biography",
    "map": "/search?query=Carnegie",
}
ANSWERS = {
    "gitlab": {"task_type": "NAVIGATE", "status": "SUCCESS"},
    "shopping": {"task_type": "NAVIGATE", "status": "SUCCESS"},
    "reddit": {"task_type": "MUTATE", "status": "SUCCESS"},
    "map": {"task_type": "RETRIEVE", "status": "SUCCESS", "retrieved_data": ["00000"]},
}
SCRIPTS = {
    "reddit": """(() => {
      const field = document.querySelector('[name="user_biography[biography]"]');
      if (!field) return;
      field.value = 'I am a robot';
      document.documentElement.dataset.left = 'yes';
      field.form.submit();
    })()""",
    "map": """Promise.all(['/tile/1/0/0.png', '/nominatim/search?q=x', '/osrm/routed-car/route/v1/driving/1,2;3,4']
      .map(each => fetch(each).catch(() => 0)))""",
}


@dataclass(eq=False)
class SiteDefect:
    """One fault of one site.

    Attributes:
        change: What the server answers instead; None leaves the site's own answer.
        late: Whether it begins only while the agent works, so that nothing can find it beforehand.
        secure: Whether the site is served over TLS, by a certificate that only tests trust.
        certain: Whether `doctor` and the checks before a run must find it.
        broken: What the server does while the agent works.
        moved: The address that is configured, from that of the server.
        hostile: How the connection of a page, or its websocket, breaks while the agent works; TLS has HTTP/2 where
            it is one of a stream.
    """

    name: str
    site: str
    change: Change
    late: bool = False
    secure: bool = False
    certain: bool = True
    limit_s: float = 60.0
    broken: FaultKind | None = None
    moved: Callable[[str], str] = str
    hostile: Literal["reset", "stream reset", "goaway", "socket"] | None = None

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Front:
    """The server of a site with a defect, and a second one with the same site at another port."""

    world: BuiltInWorld
    site: Any
    defect: SiteDefect | None
    at_work: bool = False
    connection: threading.local = field(default_factory=threading.local)
    server: SiteServer = field(init=False)
    other: SiteServer = field(init=False)

    def handle(self, request: Request) -> Response:
        # a browser says where a request comes from; the runner's own checks do not
        if self.defect is not None and (self.at_work or not self.defect.late):
            changed = self.defect.change(self, request)
            if changed is not None:
                return changed
        response: Response = self.site.handle(request)
        return response

    def own(self, request: Request) -> Response:
        """The answer of the site without the defect."""
        response: Response = self.site.handle(request)
        return response

    @property
    def port(self) -> str:
        return self.server.origin.rpartition(":")[2]


@dataclass(eq=False)
class Connections:
    """The connections of a front: TLS and plain text at one port, with HTTP/2 where one is to break."""

    front: Front

    def take_over(self) -> None:
        """Let the front's server answer by these."""
        http = self.front.server._http
        handler = type("AnyHost", (http.RequestHandlerClass,), {"any_host": True})
        http.RequestHandlerClass = handler  # type: ignore[assignment]
        self._answer = http.finish_request
        self._http2 = self.front.defect is not None and self.front.defect.hostile not in {
            None,
            "reset",
            "socket",
        }
        http.finish_request = self.finish_request  # type: ignore[method-assign]

    def finish_request(self, request: socket.socket, client: Any) -> None:
        """Answer a connection as it begins."""
        self.front.connection.secure = False
        if request.recv(1, socket.MSG_PEEK) == b"\x16":
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            CERTIFICATE.configure_cert(context)
            if self._http2:
                context.set_alpn_protocols(["h2", "http/1.1"])
            self.front.connection.secure = True
            with suppress(OSError), context.wrap_socket(request, server_side=True) as secure:
                if secure.selected_alpn_protocol() == "h2":
                    self._answer_http2(secure)
                else:
                    self._answer(secure, client)
        elif self.front.at_work and self.front.defect.hostile == "reset":  # type: ignore[union-attr]
            request.recv(65536)
            request.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 999\r\n\r\n<p>a"
            )
            _break(request)
        elif request.recv(11, socket.MSG_PEEK) == b"GET /socket":
            key = request.recv(65536).partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
            accepted = hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()  # noqa: S324  # RFC 6455
            request.sendall(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Accept: " + b64encode(accepted) + b"\r\n\r\n\x81\x02hi"
            )
            _break(request)
        else:
            self._answer(request, client)

    def _answer_http2(self, secure: ssl.SSLSocket) -> None:
        """Answer GET requests over HTTP/2, and break the first page of an agent at its middle."""
        state = H2Connection(H2Configuration(client_side=False))
        state.initiate_connection()
        secure.sendall(state.data_to_send())
        while data := secure.recv(65536):
            for event in state.receive_data(data):
                if not isinstance(event, RequestReceived):
                    continue
                headers = {k.decode(): v.decode() for k, v in event.headers}
                headers["host"] = headers[":authority"]
                found = self.front.handle(Request(headers[":method"], headers[":path"], headers))
                answer = [
                    (":status", str(found.status)),
                    *((k.lower(), v) for k, v in found.headers),
                ]
                state.send_headers(event.stream_id, answer)
                broken = self.front.at_work and headers.get("sec-fetch-dest") == "document"
                state.send_data(event.stream_id, found.body[: 99 if broken else None], not broken)
                if broken and self.front.defect.hostile == "goaway":  # type: ignore[union-attr]
                    state.close_connection(ErrorCodes.ENHANCE_YOUR_CALM)
                    secure.sendall(state.data_to_send())
                    return
                if broken:
                    state.reset_stream(event.stream_id, ErrorCodes.INTERNAL_ERROR)
            secure.sendall(state.data_to_send())


def _break(connection: socket.socket) -> None:
    """Reset a connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@contextmanager
def fronted(
    world: BuiltInWorld, name: str, defect: SiteDefect | None
) -> Iterator[tuple[Front, EnvironmentConfig]]:
    """Serve one site of a world with a defect; the configuration lists its plain address alone."""
    site = world.sites[name]
    site.reset()
    front = Front(world, site, defect)
    front.server, front.other = SiteServer(front, site.hostname), SiteServer(site, site.hostname)
    if defect is not None and (defect.secure or defect.hostile):
        Connections(front).take_over()
    front.server.start()
    front.other.start()
    config = environment_of(world).config
    url = front.server.origin
    if defect is not None and defect.secure:
        url = url.replace("http:", "https:")
    if defect is not None:
        url = defect.moved(url)
    changed = config.site(name).model_copy(update={"urls": (url,)})
    sites = {**config.sites, name: changed}
    try:
        yield front, config.model_copy(update={"sites": sites})
    finally:
        front.server.stop()
        front.other.stop()


AUTHORITY = trustme.CA()
CERTIFICATE = AUTHORITY.issue_cert(
    *(f"{each}.{end}" for each in TASKS for end in ("localhost", "test"))
)


def trusted() -> str:
    """Return Chromium's switch that trusts the certificate, so that it counts as one without errors."""
    key = load_pem_x509_certificate(CERTIFICATE.cert_chain_pems[0].bytes()).public_key()
    written = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    digest = b64encode(hashlib.sha256(written).digest()).decode()
    return f"--ignore-certificate-errors-spki-list={digest}"


async def honest_trial(
    world: BuiltInWorld, folder: Path, front: Front, config: EnvironmentConfig, name: str
) -> TrialResult:
    """Run a trial by an agent that opens what the task asks for, and says what it sees."""
    site = config.site(name)
    limit_s = 60.0 if front.defect is None else front.defect.limit_s

    async def deed(_task: Any, browser: BrowserHandle, _context: Any) -> AgentOutcome:
        front.at_work = True
        if front.defect is not None and front.defect.broken is not None:
            front.server.faults.switch_on(front.defect.broken)
        async with CDPClient(await websocket_url(browser.cdp_url)) as cdp:
            targets = (await cdp.send_raw("Target.getTargets"))["targetInfos"]
            page = next(each["targetId"] for each in targets if each["type"] == "page")
            order = {"targetId": page, "flatten": True}
            session = (await cdp.send_raw("Target.attachToTarget", order))["sessionId"]
            opening = cdp.send_raw("Page.navigate", {"url": site.url + PAGES[name]}, session)
            await asyncio.wait({asyncio.ensure_future(opening)}, timeout=limit_s)
            await at_rest(cdp, session)
            if script := SCRIPTS.get(name):
                order = {"expression": script, "awaitPromise": True, "returnByValue": True}
                await cdp.send_raw("Runtime.evaluate", order, session)
                await at_rest(cdp, session)
        return AgentOutcome(answer=ANSWERS[name], steps=1)

    secure = front.defect is not None and front.defect.secure
    options = ChromiumOptions(
        host_resolver_rules="MAP *.test 127.0.0.1",
        extra_arguments=(trusted(),) if secure and "self-signed" not in str(front.defect) else (),
    )
    return await attempt(
        world, folder, deed, TASKS[name], time_limit_s=limit_s,
        environment=Environment(config, shared=False),
        settings=EnvironmentSettings(close_s=1.0, site_s=5.0, start_page_s=10.0, chromium=options),
    )  # fmt: skip


async def at_rest(cdp: Any, session: str) -> None:
    """Wait, for a while, until the page has loaded and a form has gone where it was sent."""
    question = {
        "expression": "document.readyState === 'complete' && !document.documentElement.dataset.left",
        "returnByValue": True,
    }
    for _ in range(400):
        try:
            answer = await cdp.send_raw("Runtime.evaluate", question, session)
        except RuntimeError:  # between two documents
            answer = {}
        if answer.get("result", {}).get("value"):
            break
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.4)  # a page that goes on by itself begins to


def to_host(host: str) -> Change:
    """Redirect every request that does not name `host`, as a site with another base URL does."""

    def change(front: Front, request: Request) -> Response | None:
        target = f"{host}:{front.port}"
        return (
            None
            if request.headers.get("host") == target
            else redirect(f"http://{target}{request.target}")
        )

    return change


def to_other_port(front: Front, request: Request) -> Response | None:
    return redirect(front.other.origin + request.target)


def to_https(front: Front, request: Request) -> Response | None:
    return Response(
        307,
        b"",
        [("Location", f"{front.server.origin}{request.target}".replace("http:", "https:"))],
    )


def hsts(front: Front, request: Request) -> Response | None:
    """Lead from the plain front page to TLS, where browsers are told to use nothing else."""
    if getattr(front.connection, "secure", False):
        return headed("Strict-Transport-Security", lambda: "max-age=600")(front, request)
    return redirect(f"https://{request.headers['host']}/") if request.path == "/" else None


def to_prefix(front: Front, request: Request) -> Response | None:
    if not request.target.startswith("/us/"):
        return redirect(f"/us{request.target}")
    return front.own(Request(request.method, request.target[3:], request.headers, request.body))


def answering(
    status: int, *paths: str, text: str = "<!doctype html><title>Error</title>broken"
) -> Change:
    """Answer below `paths` with a status and a page."""

    def change(_: Front, request: Request) -> Response | None:
        return html(text, status) if request.path.startswith(paths or ("/",)) else None

    return change


def rewritten(old: bytes, new: bytes) -> Change:
    """Change what pages contain."""

    def change(front: Front, request: Request) -> Response | None:
        response = front.own(request)
        response.body = response.body.replace(old, new)
        return response

    return change


def typed(kind: str, *paths: str) -> Change:
    """Give answers below `paths` another Content-Type."""

    def change(front: Front, request: Request) -> Response | None:
        response = front.own(request)
        if request.path.startswith(paths or ("/",)):
            response.headers = [each for each in response.headers if each[0] != "Content-Type"]
            response.headers.append(("Content-Type", kind))
        return response

    return change


def headed(name: str, value: Callable[[], str]) -> Change:
    """Add a header to every answer."""

    def change(front: Front, request: Request) -> Response | None:
        response = front.own(request)
        response.headers.append((name, value()))
        return response

    return change


def expired(front: Front, request: Request) -> Response | None:
    front.site.expire_sessions()
    return None


def slow(seconds: float) -> Change:
    def change(_: Front, _request: Request) -> Response | None:
        time.sleep(seconds)
        return None

    return change


def absolute_links(front: Front, request: Request) -> Response | None:
    """Send a script with every page that goes to the same page at another name."""
    response = front.own(request)
    name = f"www.{front.site.hostname}:{front.port}"
    if request.headers.get("host") != name and request.method == "GET":
        script = f"<script>if (location.host != {json.dumps(name)}) location.host = {json.dumps(name)}</script>"
        response.body = response.body + script.encode()
    return response


def meta_refresh(front: Front, request: Request) -> Response | None:
    name = f"www.{front.site.hostname}:{front.port}"
    if request.headers.get("host") == name or request.method != "GET":
        return None
    return html(
        f'<!doctype html><meta http-equiv=refresh content="0;url=http://{name}{request.target}">'
    )


_MAINTENANCE = "<!doctype html><html lang=en><title>Down for maintenance</title><h1>Back soon</h1>"
_CAPTCHA = (
    "<!doctype html><html lang=en><title>Just a moment...</title><h1>Verify you are human</h1>"
)
_DAYS = 3 * 86400.0


def _clock() -> str:
    return formatdate(time.time() + _DAYS, usegmt=True)


DEFECTS = [
    SiteDefect("redirect by host", "shopping", to_host("shop.localhost")),
    SiteDefect("redirect by www", "gitlab", to_host("www.gitlab.localhost")),
    SiteDefect("redirect by port", "reddit", to_other_port),
    SiteDefect("redirect by scheme", "shopping", to_https),
    SiteDefect("redirect by path", "gitlab", to_prefix),
    SiteDefect("redirect by host, late", "gitlab", to_host("www.gitlab.localhost"), late=True),
    SiteDefect("redirect of a map", "map", to_host("www.map.localhost")),
    SiteDefect("HSTS", "shopping", hsts, secure=True, moved=lambda url: url.replace("https:", "http:").replace(".localhost", ".test")),
    SiteDefect("login ends", "gitlab", expired, late=True),
    SiteDefect("login form is gone", "reddit", answering(200, "/login", text=_MAINTENANCE)),
    SiteDefect("slow", "shopping", slow(1.0), limit_s=6.0),
    SiteDefect("slow, late", "gitlab", slow(4.0), late=True, limit_s=3.0),
    SiteDefect("5xx on one route", "shopping", answering(502, "/video-games"), certain=False),
    SiteDefect("5xx everywhere", "reddit", answering(503)),
    SiteDefect("429, late", "shopping", answering(429), late=True),
    SiteDefect("pages are plain text", "shopping", typed("text/plain")),
    SiteDefect("one page is a download", "shopping", typed("application/octet-stream", "/video-games"), certain=False),
    SiteDefect("mixed content", "gitlab", rewritten(b"</body>", b"<img src=http://gitlab.localhost/x></body>"), secure=True),
    SiteDefect("self-signed TLS", "gitlab", lambda *_: None, secure=True),
    SiteDefect("captcha", "reddit", answering(200, text=_CAPTCHA)),
    SiteDefect("captcha, late", "gitlab", answering(403, text=_CAPTCHA), late=True),
    SiteDefect("maintenance with 200", "map", answering(200, text=_MAINTENANCE)),
    SiteDefect("maintenance with 200, late", "gitlab", answering(200, text=_MAINTENANCE), late=True),
    SiteDefect("another language", "shopping", rewritten(b'lang="en"', b'lang="de"')),
    SiteDefect("clock", "map", headed("Date", _clock)),
    SiteDefect("scripts may load nothing", "map", headed("Content-Security-Policy", lambda: "connect-src 'none'")),
    SiteDefect("search is dead", "shopping", answering(500, "/catalogsearch/")),
    SiteDefect("repositories are dead", "gitlab", answering(500, "/a11yproject/")),
    SiteDefect("tiles are dead", "map", answering(500, "/tile/")),
    SiteDefect("router is dead", "map", answering(502, "/osrm/")),
    SiteDefect("geocoder finds nothing", "map", lambda _, r: json_response([]) if "/nominatim" in r.path else None),
]  # fmt: skip
"""The thirty of the matrix."""


def to_login(front: Front, request: Request) -> Response | None:
    """Send everyone to the login page, as a site does whose sessions are not kept."""
    return (
        None if request.path.startswith(front.site.login_path) else redirect(front.site.login_path)
    )


def forms_elsewhere(front: Front, request: Request) -> Response | None:
    """Let forms post to the site's other name."""
    response = front.own(request)
    other = f"http://www.{front.site.hostname}:{front.port}/user/".encode()
    response.body = response.body.replace(b'action="/user/', b'action="' + other)
    return response


def secure_cookies(front: Front, request: Request) -> Response | None:
    response = front.own(request)
    response.headers = [
        (name, f"{value}; Secure" if name == "Set-Cookie" else value)
        for name, value in response.headers
    ]
    return response


def other_site(front: Front, request: Request) -> Response | None:
    """Answer as another application does that took the port."""
    return html("<!doctype html><html lang=en><title>Grafana</title><h1>Dashboards</h1>")


def post_fails(_: Front, request: Request) -> Response | None:
    return (
        html("<title>Error</title>", 500)
        if request.method == "POST" and "user" in request.path
        else None
    )


_DATABASE = (
    "<!doctype html><html lang=en><title>Error</title>SQLSTATE[HY000] [2002] Connection refused"
)

FURTHER = [
    SiteDefect("redirects in a circle", "shopping", lambda _, r: redirect(r.target)),
    SiteDefect("moved by meta refresh", "gitlab", meta_refresh),
    SiteDefect("moved by a script", "shopping", absolute_links, certain=False),
    SiteDefect("another application at its port", "shopping", other_site),
    SiteDefect("cookies are secure on http", "gitlab", secure_cookies, certain=False),
    SiteDefect("database error with 200, late", "gitlab", answering(200, text=_DATABASE), late=True),
    SiteDefect("sessions are not kept, late", "gitlab", to_login, late=True),
    SiteDefect("content is no gzip", "shopping", headed("Content-Encoding", lambda: "gzip"), late=True),
    SiteDefect("changes fail", "reddit", post_fails, certain=False),
    SiteDefect("forms post to another name", "reddit", forms_elsewhere, certain=False),
]  # fmt: skip
"""Ten that were written down only when the checks were finished."""


def by_cookie(front: Front, request: Request) -> Response | None:
    """Redirect whoever has been here before, as a site does that keeps a choice of store in a cookie."""
    name = f"www.{front.site.hostname}:{front.port}"
    if request.headers.get("host") == name:
        return None
    if "store=" in request.headers.get("cookie", ""):
        return redirect(f"http://{name}{request.target}")
    response = front.own(request)
    response.headers.append(("Set-Cookie", "store=default; Path=/"))
    return response


def login_in_its_place(front: Front, request: Request) -> Response | None:
    """Show the login form at any address, with status 200."""
    if request.path.startswith(front.site.login_path):
        return None
    return front.own(Request("GET", front.site.login_path, {}, b""))


def without_data(_: Front, request: Request) -> Response | None:
    page = "<!doctype html><html lang=en><title>Shop</title><body>"
    if request.path.startswith("/catalogsearch/"):
        return html(page + "Your search returned no results.")
    return html(page + "Not found", 404) if request.path.startswith("/video-games") else None


def read_only(_: Front, request: Request) -> Response | None:
    page = (
        "<!doctype html><html lang=en><title>Edit</title>SQLSTATE[25006]: Read only sql transaction"
    )
    return html(page) if request.method == "POST" and "/user/" in request.path else None


def _own(_: Front, _request: Request) -> Response | None:
    return None


OTHERS = [
    SiteDefect("redirect by a cookie", "shopping", by_cookie),
    SiteDefect("login form in place of pages, late", "reddit", login_in_its_place, late=True),
    SiteDefect("429 on one route", "shopping", answering(429, "/video-games"), certain=False),
    SiteDefect("pages are cut off, late", "shopping", _own, late=True, broken="cut"),
    SiteDefect("connections are dropped, late", "reddit", _own, late=True, broken="drop"),
    SiteDefect("answers are no HTTP, late", "gitlab", _own, late=True, broken="garbage"),
    SiteDefect("no such name", "gitlab", _own, moved=lambda url: url.replace(".localhost", ".invalid")),
    SiteDefect("IPv6 alone", "map", _own, moved=lambda url: f"http://[::1]:{url.rpartition(':')[2]}"),
    SiteDefect("another site of the benchmark", "shopping", lambda front, r: front.world.sites["reddit"].handle(r)),
    SiteDefect("no data", "shopping", without_data),
    SiteDefect("data base is read-only", "reddit", read_only, certain=False),
]  # fmt: skip
"""Written down after all of the above were found."""


def for_browsers(_: Front, request: Request) -> Response | None:
    """Refuse automated browsers, as a proxy against robots does."""
    robot = "HeadlessChrome" in request.headers.get("user-agent", "")
    return html("<title>403 Forbidden</title><h1>403 Forbidden</h1>", 403) if robot else None


def basic(_: Front, request: Request) -> Response | None:
    response = html("<title>401</title>", 401)
    response.headers.append(("WWW-Authenticate", 'Basic realm="staging"'))
    return response


def broken_gzip(front: Front, request: Request) -> Response | None:
    response = front.own(request)
    response.headers.append(("Content-Encoding", "gzip"))
    response.body = gzip.compress(response.body)[:60]
    return response


def expired_cookies(front: Front, request: Request) -> Response | None:
    """Set cookies that have expired, as a server does whose clock is far behind."""
    response = front.own(request)
    response.headers = [
        (name, f"{value}; Expires=Mon, 01 Jan 2024 00:00:00 GMT" if name == "Set-Cookie" else value)
        for name, value in response.headers
    ]
    return response


def on_change(status: int, text: str) -> Change:
    """Answer a change of the user's with a status and a page."""

    def change(_: Front, request: Request) -> Response | None:
        is_change = request.method == "POST" and "/user/" in request.path
        return html(text, status) if is_change else None

    return change


def forms_to_tls(front: Front, request: Request) -> Response | None:
    response = front.own(request)
    other = f"https://{request.headers['host']}/user/".encode()
    response.body = response.body.replace(b'action="/user/', b'action="' + other)
    return response


_HEAD = "<!doctype html><html lang=en><title>Edit</title>"
HELD_OUT = [
    SiteDefect("HTTP/2 stream is reset, late", "gitlab", _own, late=True, secure=True, hostile="stream reset"),
    SiteDefect("HTTP/2 connection goes away, late", "shopping", _own, late=True, secure=True, hostile="goaway"),
    SiteDefect("connection is reset in a page, late", "reddit", _own, late=True, hostile="reset"),
    SiteDefect("robots are refused", "reddit", for_browsers, certain=False),
    SiteDefect("login as another user", "reddit", answering(403, "/user/")),
    SiteDefect("basic authentication in front", "gitlab", basic),
    SiteDefect("basic authentication in front of a map", "map", basic),
    SiteDefect("gzip is broken", "shopping", broken_gzip),
    SiteDefect("parked domain, late", "gitlab", answering(200, text=f"{_HEAD}This domain is for sale"), late=True),
    SiteDefect("cookies have expired", "gitlab", expired_cookies),
    SiteDefect("forms are refused as forged", "reddit", on_change(200, f"{_HEAD}The CSRF token is invalid."), certain=False),
    SiteDefect("forms are refused as forged with 422", "reddit", on_change(422, f"{_HEAD}The change you requested was rejected."), certain=False),
    SiteDefect("disk is full", "reddit", on_change(200, f"{_HEAD}write: No space left on device"), certain=False),
    SiteDefect("changes are white pages", "reddit", on_change(200, ""), certain=False),
    SiteDefect("a proxy refuses changes", "reddit", on_change(413, "<title>413 Request Entity Too Large</title>"), certain=False),
    SiteDefect("another character set", "map", typed("text/html; charset=utf-16")),
    SiteDefect("a backend never answers, late", "map", _own, late=True, broken="stall", limit_s=8.0),
    SiteDefect("forms post to TLS", "reddit", forms_to_tls, certain=False),
    SiteDefect("white pages", "shopping", answering(200, text="")),
]  # fmt: skip
"""Written down after all of the above were found, too."""


def with_parts(tag: str, *answers: Response) -> Change:
    """Let pages load parts of themselves, and answer for the first, the second and so on; `%s` is where one is."""
    loaded = "".join(tag % f"/static/{number}" for number in range(len(answers))).encode()

    def change(front: Front, request: Request) -> Response | None:
        if request.path.startswith("/static/"):
            return answers[int(request.path[-1])]
        response = front.own(request)
        response.body = response.body.replace(b"<title>", loaded + b"<title>")
        return response

    return change


def another_account(front: Front, request: Request) -> Response | None:
    """Let every user in as someone else, as a proxy does that logs in by itself."""
    response = front.own(request)
    for each in front.site._sessions.values():
        other = "other@gmail.com" if front.site.name == "shopping" else "root"
        each.user = each.user and other
    return response


_STYLE, _SCRIPT = "<link rel=stylesheet href=%s>", "<script src='%s'></script>"
_GONE = html("<title>Not Found</title>", 404)
STYLED = Response(200, b"h1 { color: teal }", [("Content-Type", "text/css")])
ONE_STYLE_MISSING = SiteDefect(
    "one of two stylesheets is missing", "shopping", with_parts(_STYLE, _GONE, STYLED)
)
BANNER = """<div id=banner style="position:fixed;inset:0;z-index:9;background:white"><p>We value your privacy
<button onclick="banner.remove()" style="position:fixed;left:100px;top:100px;width:120px;height:50px">Accept all</button>
</div></body>"""
_SOCKET = b"<script>new WebSocket(`ws://${location.host}/socket`).onclose = () => document.title += '!'</script></body>"
LATER = [
    SiteDefect("stylesheets are missing", "shopping", with_parts(_STYLE, _GONE, _GONE)),
    SiteDefect("stylesheets are refused", "gitlab", with_parts(_STYLE, html("<title>403</title>", 403))),
    SiteDefect("stylesheets are pages", "map", with_parts(_STYLE, html("<title>One page</title>"))),
    SiteDefect("styles may not be loaded", "reddit", headed("Content-Security-Policy", lambda: "style-src 'none'")),
    SiteDefect("scripts are missing", "reddit", with_parts(_SCRIPT, _GONE)),
    SiteDefect("login as another account", "gitlab", another_account),
    SiteDefect("login as another customer", "shopping", another_account),
    SiteDefect("a product is missing", "shopping", answering(404, "/ciclon-energy")),
    SiteDefect("submissions are missing", "reddit", answering(404, "/f/")),
    SiteDefect("a websocket dies", "gitlab", rewritten(b"</body>", _SOCKET), certain=False, hostile="socket"),
    SiteDefect("a cookie banner covers pages", "reddit", rewritten(b"</body>", BANNER.encode()), certain=False),
]  # fmt: skip
"""Written down last. An agent can do its task in spite of the last two, so that the site is not blamed."""
