"""Faults of sites, as a server that stands in front of a stand-in site and changes what it answers."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trustme
from attempts import attempt
from cdp_use.client import CDPClient

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

    def __str__(self) -> str:
        return self.name


@dataclass(eq=False)
class Front:
    """The server of a site with a defect, and a second one with the same site at another port."""

    world: BuiltInWorld
    site: Any
    defect: SiteDefect | None
    at_work: bool = False
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


@contextmanager
def fronted(
    world: BuiltInWorld, name: str, defect: SiteDefect | None
) -> Iterator[tuple[Front, EnvironmentConfig]]:
    """Serve one site of a world with a defect; the configuration lists its plain address alone."""
    site = world.sites[name]
    site.reset()
    front = Front(world, site, defect)
    front.server, front.other = SiteServer(front, site.hostname), SiteServer(site, site.hostname)
    if defect is not None and defect.secure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        AUTHORITY.issue_cert(site.hostname).configure_cert(context)
        http = front.server._http
        http.socket = context.wrap_socket(
            http.socket, server_side=True, do_handshake_on_connect=False
        )
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
        ignore_certificate_errors=secure and "self-signed" not in str(front.defect),
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
    SiteDefect("HSTS of another service", "gitlab", to_https, late=True),
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
