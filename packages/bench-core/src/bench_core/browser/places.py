"""Which URLs are not for an agent: files of this machine, ports and paths of the harness."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench_core.records.integrity import IntegrityCode
from bench_core.serving.hosts import address_of, is_loopback

WEB_SCHEMES = frozenset({"http", "https", "data", "blob", "javascript", "about"})
"""Schemes that an agent may open; `about:` only for pages without content."""

_EMPTY_PAGES = frozenset({"about:blank", "about:srcdoc"})
# Chromium's own new tab, which clients ask for by name, and its list of downloads, which are denied
_ORDINARY = re.compile(r"chrome://(newtab|new-tab-page(-third-party)?|downloads)/?")
_SOURCE = "view-source:"
"""Before the URL of a page whose source is shown."""
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
# Chromium drops these from a URL wherever they are, and controls and spaces before it
_DROPPED = re.compile(r"[\t\r\n]")
_BEFORE = "".join(map(chr, range(0x21)))
_UNSPECIFIED = frozenset({"0.0.0.0", "::"})  # noqa: S104  # they lead to this machine, too


def is_local_page(url: str) -> bool:
    r"""Return whether a URL leads to files of this machine or to pages of the browser itself.

    >>> is_local_page(" FI\nLE:///etc/passwd"), is_local_page("view-source:http://shop.test/")
    (True, False)
    """
    plain = _shown(url).casefold()
    found = _SCHEME.match(plain)
    if found is None:
        return False
    if found[1] not in WEB_SCHEMES:
        # a host and port without a scheme is not a URL, and nothing opens it
        is_address = plain[found.end() :].split("/")[0].isdigit()
        return not is_address and _ORDINARY.fullmatch(plain) is None
    if found[1] == "about":
        return re.split(r"[?#]", plain, maxsplit=1)[0] not in _EMPTY_PAGES
    return plain.startswith("blob:file:")


@dataclass(frozen=True)
class Places:
    """The URLs around a trial that belong to the harness alone.

    Attributes:
        ports: Ports of this machine that no agent may open, with the integrity code of opening each.
        origins: Origins with some paths that are the harness's.
        guards: Whether a URL of one of them is such a path.
        sites: URLs of the trial's sites; without any, all sites may be the trial's.
    """

    ports: Mapping[int, IntegrityCode] = field(default_factory=dict)
    origins: tuple[str, ...] = ()
    guards: Callable[[str], bool] | None = None
    sites: tuple[str, ...] = ()

    def code_of(self, url: str) -> IntegrityCode | None:
        """Return the integrity code of a URL that an agent opens; None if it is allowed."""
        if is_local_page(url):
            return IntegrityCode.LOCAL_PAGE
        url = _shown(url)
        address = address_of(url)
        own = is_loopback(address.host) or address.host in _UNSPECIFIED
        if own and address.port is not None and address.port in self.ports:
            return self.ports[address.port]
        home = bool(address.host) and address in map(address_of, self.origins)
        if self.guards is not None and home and self.guards(url):
            return IntegrityCode.GUARDED_PATH
        return None

    def is_elsewhere(self, url: str) -> bool:
        """Return whether a URL is on a host of the web that has nothing to do with the trial's sites."""
        host = address_of(url).host
        own = (address_of(each).host for each in self.sites)
        return bool(self.sites and host) and not (
            is_loopback(host) or any(host == each or host.endswith(f".{each}") for each in own)
        )

    @property
    def patterns(self) -> tuple[str, ...]:
        """The URLs among which some are refused, as patterns of the DevTools protocol."""
        ports = (f"*://*:{port}/*" for port in self.ports)
        # a user name before the host and a dot after it lead to the same server
        named = (f"{each.replace('://', '://*@')}/*" for each in self.origins)
        dotted = (re.sub(r"(:\d+)?$", r".\1/*", each, count=1) for each in self.origins)
        return ("file://*", *ports, *(f"{each}/*" for each in self.origins), *named, *dotted)


def _shown(url: str) -> str:
    """Return the URL as Chromium reads it; for a view of a page's source, the page's own URL."""
    plain = _DROPPED.sub("", url).lstrip(_BEFORE)
    source = plain.casefold().startswith(_SOURCE)
    return plain[len(_SOURCE) :].lstrip(_BEFORE) if source else plain
