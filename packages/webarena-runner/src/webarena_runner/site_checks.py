"""The health of sites: a few known requests to each, where they end and what they say.

`doctor`, `sites status`, the checks before a run and every trial ask the same. Faults of a trial's sites
are stored next to its traffic, because a score may depend on them.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Literal
from urllib.parse import urljoin, urlsplit

from bench_core.errors import EnvironmentFaultError
from bench_core.records import Record
from webarena_runner.config import EnvironmentConfig, SiteConfig
from webarena_runner.login.http_login import LoginRefusedError, log_in
from webarena_runner.site_facts import SITE_FACTS, KnownRequest
from webarena_runner.web import Cookie, FetchedPage, WebClient

_BAD_REQUEST = 400
_SLOW_S = 10.0
_CLOCK_S = 3600.0
_LANGUAGE = re.compile(r"<html\b[^>]*?\blang\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
_REFRESH = re.compile(
    r"<meta\b[^>]*http-equiv=[\"']?refresh\b[^>]*\burl=[\"']?([^\"'>\s]+)", re.IGNORECASE
)
_LOADS_NOTHING = re.compile(r"\b(script|connect|style)-src 'none'", re.IGNORECASE)
# Parts that a page loads: a pattern of their URLs, and the Content-Type that browsers accept for each.
_PARTS = {
    "stylesheets": (r"<link\b(?=[^>]*\brel=[\"']?stylesheet\b)[^>]*\bhref=[\"']?([^\"'>\s]+)", "text/css"),
    "scripts": (r"<script\b[^>]*\bsrc=[\"']?([^\"'>\s]+)", "script"),
}  # fmt: skip
_MOST_ASKED = 5
_TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
# Pages that stand in the way of a site, and not about the thing that they name.
_IN_THE_WAY = re.compile(
    r"\b(under|down for|scheduled|closed for|in) maintenance\b|^maintenance( mode)?$"
    r"|\b(temporarily|service) unavailable\b|\bbe (right )?back soon\b|^just a moment\b"
    r"|^(captcha|attention required|access denied|403 forbidden|too many requests|security check)\b"
    r"|\b(are you a (robot|human)|verify (that )?you are (a )?human|not a robot)\b"
    r"|^welcome to nginx|apache2? .*default page|^index of /$|^it works!?$",
    re.IGNORECASE,
)

_FINDS_NOTHING = re.compile(
    r"\b(returned no results|no results (were )?found|could.?n.t find any|nothing (to see )?here)\b",
    re.IGNORECASE,
)

Concern = Literal["address", "answer", "speed", "page"]
"""`address`: pages are at a URL that is not listed; `answer`: no answer, or an error in its place; `speed`: it
took long; `page`: the answer is not the page of the benchmark's site."""


class SiteFault(Record):
    """A fault of a site.

    Attributes:
        request: The known request that shows it; `front page` and `login` are needed for everything.
        fix: A way out; None if only the site's own log says more.
    """

    site: str
    request: str
    concern: Concern
    detail: str
    fix: str | None = None

    @property
    def is_down(self) -> bool:
        """Whether no trial can use the site."""
        return self.concern in {"answer", "page"} and self.request in {"front page", "login"}

    def __str__(self) -> str:
        return self.detail if self.fix is None else f"{self.detail}: {self.fix}"


async def check_sites(
    config: EnvironmentConfig,
    names: Iterable[str],
    timeout_s: float = 20.0,
    *,
    accounts: bool = True,
    starts: Iterable[str] = (),
) -> dict[str, list[SiteFault]]:
    """Return the faults of each site; see `site_faults`."""
    wanted = sorted(set(names))

    def look(name: str) -> list[SiteFault]:
        return list(site_faults(config, name, timeout_s, accounts=accounts, starts=starts))

    found = await asyncio.gather(*(asyncio.to_thread(look, name) for name in wanted))
    return dict(zip(wanted, found, strict=True))


def site_faults(
    config: EnvironmentConfig,
    name: str,
    timeout_s: float = 20.0,
    *,
    accounts: bool = True,
    starts: Iterable[str] = (),
) -> Iterator[SiteFault]:
    """Yield faults of a site, up to one that makes it unusable.

    Args:
        config: The URLs and accounts of the sites.
        name: The site's.
        timeout_s: Longest time of one request.
        accounts: Whether its user must be able to log in.
        starts: Start URLs of tasks, as in their definitions, of which a few of the site's are asked for.
    """
    site, facts = config.site(name), SITE_FACTS[name]
    if not site.url.endswith(facts.base_path):
        yield SiteFault(
            site=name, request="front page", concern="address",
            detail=f"{site.url} does not end with {facts.base_path}, which the tasks expect",
            fix=f"write the URL as {site.origin}{facts.base_path}",
        )  # fmt: skip
    said: set[tuple[str, str]] = set()
    for known in facts.known:
        for fault in _asked(site, name, known, timeout_s):
            if (fault.concern, fault.fix or fault.detail) not in said:
                yield fault
            said.add((fault.concern, fault.fix or fault.detail))
            if fault.is_down:
                return
    cookies: Sequence[Cookie] = ()
    if accounts and facts.login_path is not None and site.login != "browser":
        try:
            cookies = log_in(site, name, timeout_s).cookies
        except EnvironmentFaultError as error:
            refused = isinstance(error, LoginRefusedError)
            yield SiteFault(
                site=name, request="login", concern="page" if refused else "answer", detail=str(error),
                fix="check username, password and that the image is the right one" if refused else None,
            )  # fmt: skip
            return
    mark = f"__{name.upper()}__"
    paths = sorted({each.removeprefix(mark) for each in starts if each.startswith(mark)})
    for path in paths[:: len(paths) // _MOST_ASKED + 1]:
        known = KnownRequest("start page of a task", path)
        found = _asked(site, name, known, timeout_s, cookies)
        yield from (each for each in found if each.concern == "answer")


def unlisted_root(site: SiteConfig, url: str, asked: str | None = None) -> str | None:
    """Return the root of `url`, a page of the site, if it is missing among the site's URLs; else None.

    The evaluator compares the text of scheme, host and port: two names of one computer differ. If the
    page was `asked` for elsewhere, a path that the site puts in front of its own counts, too.
    """
    ended = urlsplit(url)
    origin = f"{ended.scheme}://{ended.netloc}".lower()
    here = [root for root in site.urls if "/".join(root.split("/")[:3]).lower() == origin]
    if not here:
        base = urlsplit(site.url).path.rstrip("/")
        return origin + (base if ended.path.startswith(base) else "")
    if asked is None:
        return None
    path, base = urlsplit(asked).path, urlsplit(site.url).path.rstrip("/")
    if base and path.startswith(base) and not ended.path.startswith(base):
        return origin + ended.path.rstrip("/")
    prefix = ended.path.removesuffix(path) if path.strip("/") else ended.path
    is_put_in_front = prefix not in {"", ended.path} and f"{origin}{prefix}" not in site.urls
    return origin + prefix if is_put_in_front else None


def told(name: str, asked: str, url: str, root: str) -> tuple[str, str]:
    """Say that pages of a site are at a URL that is not listed, and the line that lists it."""
    where = f"{asked} leads to {url}, which is below none of the URLs of {name}"
    line = f"add `aliases: [{root}]` to {name} in the configuration"
    return f"{where}: the evaluator does not count it", f"{line}, or mend the site's own base URL"


def foreign_page(text: str) -> str | None:
    """Return the title of a page that replaces a site's page, such as one about maintenance; else None."""
    found = _TITLE.search(text)
    title = " ".join(found.group(1).split()) if found else ""
    return title if _IN_THE_WAY.search(title) else None


def _asked(
    site: SiteConfig,
    name: str,
    known: KnownRequest,
    timeout_s: float,
    cookies: Sequence[Cookie] = (),
) -> Iterator[SiteFault]:
    """Ask one known request and yield the faults of the answer."""
    asked = (site.origin if known.from_root else site.url) + known.path
    began = time.monotonic()

    def fault(concern: Concern, detail: str, fix: str | None = None) -> SiteFault:
        return SiteFault(
            site=name,
            request=known.name,
            concern=concern,
            detail=f"{known.name}: {detail}",
            fix=fix,
        )

    client = WebClient(timeout_s)
    client.cookies = list(cookies)
    page = None
    try:
        page = client.get(asked)
    except EnvironmentFaultError as error:
        start = f"start the site, e.g. `webarena-runner sites start --config FILE --site {name}`"
        yield fault("answer", str(error), start)
    took = time.monotonic() - began
    refresh = None if page is None else _REFRESH.search(page.text)
    ended = client.at if refresh is None else urljoin(client.at, unescape(refresh.group(1)))
    if root := unlisted_root(site, ended, asked):
        yield fault("address", *told(name, asked, ended, root))
    if page is None:
        return
    if page.status >= _BAD_REQUEST:
        yield fault("answer", f"{page.url} answers with status {page.status}")
        return
    if why := _not_its_page(page, known):
        yield fault("page", f"{page.url} {why}")
    if took > _SLOW_S:
        yield fault("speed", f"{asked} took {took:.0f} s")
    for request, detail, fix in _shown(page, known, client):
        yield SiteFault(
            site=name, request=request, concern="page", detail=f"{page.url} {detail}", fix=fix
        )


def _shown(
    page: FetchedPage, known: KnownRequest, client: WebClient
) -> Iterator[tuple[str, str, str | None]]:
    """Yield faults in a page's data or, for a front page, in its language, parts and server clock."""
    if known.name == "search" and _FINDS_NOTHING.search(page.text):
        yield "data", "finds nothing: its data may be missing", None
    if known.name != "front page":
        return
    language = _LANGUAGE.search(page.text)
    if language and language.group(1).lower().partition("-")[0] != "en":
        said = f"is in the language {language.group(1)!r}, and the tasks are in English"
        yield "language", said, None
    own = rf"(src|href|action)=[\"']?http://{re.escape(urlsplit(page.url).hostname or '')}\b"
    if page.url.startswith("https:") and re.search(own, page.text):
        refused = "loads parts of itself over http, which browsers refuse"
        yield "mixed content", refused, "mend the site's own base URL"
    if policy := _LOADS_NOTHING.search(page.header("content-security-policy")):
        said = f"is sent with the policy {policy.group()!r}, by which browsers refuse what it needs"
        yield "policy", said, "let the server or the proxy before it send no such header"
    for name, (pattern, kind) in _PARTS.items():
        found = re.findall(pattern, page.text, re.IGNORECASE)
        urls = (urljoin(page.url, unescape(each)) for each in found)
        parts = [e for e in urls if urlsplit(e).netloc == urlsplit(page.url).netloc][:_MOST_ASKED]
        # a working site may lack one or another
        if parts and not any(_is_served(client, each, kind) for each in parts):
            yield (
                name,
                f"has {name} that its server does not have as such: {', '.join(parts)}",
                None,
            )
    off = _clock_error(page)
    if abs(off) > _CLOCK_S:
        said = f"is served by a clock that is {abs(off) / 3600:.1f} h {'ahead' if off > 0 else 'behind'}"
        yield "clock", said, "set it: cookies and dates of the site depend on it"


def _is_served(client: WebClient, url: str, kind: str) -> bool:
    try:
        page = client.get(url)
    except EnvironmentFaultError:
        return False
    return page.status < _BAD_REQUEST and kind in page.header("content-type")


def _not_its_page(page: FetchedPage, known: KnownRequest) -> str | None:
    """Say why an answer to a known request is not that of the site's image; None if it is."""
    kind = page.header("content-type").partition(";")[0].strip().lower()
    if not kind.startswith(known.type):
        return f"is {kind or 'of no type'} instead of {known.type}"
    if known.shows and not re.search(known.shows, page.text):
        return f"does not contain what {known.name} is known by"
    title = foreign_page(page.text) if known.type == "text/html" else None
    return f"is titled {title!r}" if title else None


def _clock_error(page: FetchedPage) -> float:
    """Return the seconds by which the server's clock is ahead of this computer's; 0 if unknown."""
    try:
        return parsedate_to_datetime(page.header("date")).timestamp() - time.time()
    except (ValueError, TypeError):
        return 0.0
