"""Configuration of the sites: URLs and accounts, from a file, the environment, or the defaults.

For webarena-verified it is converted to its own configuration, whose rules render the start URLs and
recognise the sites in recorded traffic.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, JsonValue, SecretStr, ValidationError, field_validator, model_validator
from typing_extensions import Self

from bench_core.errors import InputError
from bench_core.models import parse_yaml
from bench_core.records import Record
from bench_core.records.problems import problems_of
from webarena_runner.evaluator_loader import evaluator_module
from webarena_runner.site_facts import SITE_FACTS, SITES, SiteName

__all__ = [
    "Credentials",
    "EnvironmentConfig",
    "LoginWay",
    "SiteConfig",
    "config_template",
    "default_config",
    "load_config",
    "official_config",
    "shared_cookie_hosts",
]

# Cookies ignore ports: on one host these sites overwrite each other's session cookie (PHPSESSID of the shop
# and of reddit), so that a login on one ends the login on another.
_SAME_COOKIE = ("reddit", "shopping", "shopping_admin")
_READ_ONLY = frozenset({"map", "wikipedia"})


LoginWay = Literal["form", "header", "browser"]


class Credentials(Record):
    """A user name, and a password that is never shown in a repr, a log or a run folder."""

    username: str = Field(min_length=1)
    password: SecretStr


class SiteConfig(Record):
    """One site: all its URLs, of which the browser uses the first.

    Attributes:
        urls: Every alias (host name, address), so that the evaluator recognises recorded traffic.
        credentials: The account for the login; None for sites without accounts.
        login: How to log in: `form` over plain HTTP and, if that fails, in the trial's browser;
            `header` by the header of the images; `browser` in the browser only.
        local_storage: Entries that are set in the localStorage of every page of the site.
        reset_hook: A command (`{site}` is filled in), or a URL to POST to, that resets the site.
        data_dir: The data folder for the container of wikipedia.
        copies: The number of its containers that the provider `docker` runs here; see `site_copies`. None leaves the
            single one to webarena-verified's manager.
    """

    urls: tuple[str, ...] = Field(min_length=1)
    credentials: Credentials | None = None
    login: LoginWay = "form"
    local_storage: dict[str, str] = Field(default_factory=dict)
    reset_hook: str | None = Field(default=None, min_length=1)
    data_dir: Path | None = None
    copies: int | None = Field(default=None, ge=1, le=20)

    @field_validator("urls")
    @classmethod
    def _clean_urls(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme not in {"http", "https"} or not parts.hostname:
                raise ValueError(f"{url!r} is not a site URL: write it like 'http://host:7770'")
        return tuple(dict.fromkeys(url.rstrip("/") for url in urls))

    @property
    def url(self) -> str:
        """The URL the browser uses."""
        return self.urls[0]

    @property
    def origin(self) -> str:
        """Scheme, host and port of `url`."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class EnvironmentConfig(Record):
    """The sites of one WebArena environment."""

    schema_version: Literal[1] = 1
    sites: dict[SiteName, SiteConfig]

    @model_validator(mode="after")
    def _copies_help(self) -> Self:
        for name, site in self.sites.items():
            if (site.copies or 0) > 1 and name in _READ_ONLY:
                raise ValueError(
                    f"{name}: no task changes it, so its trials share one: at most `copies: 1`"
                )
            if site.copies and site.reset_hook:
                raise ValueError(
                    f"{name}: give either `copies`, which are made anew here, or `reset_hook`"
                )
        return self

    @model_validator(mode="before")
    @classmethod
    def _fill_defaults(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("sites"), dict):
            filled = {name: _filled(name, site) for name, site in data["sites"].items()}
            return {**data, "sites": filled}
        return data

    def site(self, name: str) -> SiteConfig:
        """Return one site.

        Raises:
            InputError: The site is not configured.
        """
        found = self.sites.get(name)  # type: ignore[call-overload]  # any name may be asked for
        if found is None:
            raise InputError(
                f"the site {name!r} has no URL: add it to the configuration or set "
                f"{_variable(name, 'URL')}"
            )
        return found  # type: ignore[no-any-return]  # see above

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return those of `names` that are not configured."""
        return sorted(set(names) - set(self.sites))

    def public(self) -> dict[str, JsonValue]:
        """Return the sites' URLs without credentials, for a run's record."""
        return {name: list(site.urls) for name, site in sorted(self.sites.items())}

    def described(self) -> dict[str, JsonValue]:
        """Return everything in the form of a file for `load_config`, with passwords blanked."""
        sites: dict[str, JsonValue] = {}
        for name, site in sorted(self.sites.items()):
            described: dict[str, JsonValue] = {"url": site.url}
            if site.urls[1:]:
                described["aliases"] = list(site.urls[1:])
            if site.credentials:
                account = {"username": site.credentials.username, "password": "***"}
                described |= {**account, "login": site.login}
            for each in ("local_storage", "reset_hook", "data_dir", "copies"):
                if value := getattr(site, each):
                    described[each] = str(value) if isinstance(value, Path) else value
            sites[str(name)] = described
        return {"sites": sites}

    def official(self) -> dict[str, JsonValue]:
        """Return webarena-verified's configuration, without credentials."""
        return {
            "environments": {
                f"__{name.upper()}__": {"urls": list(site.urls), "active_url_idx": 0}
                for name, site in sorted(self.sites.items())
            }
        }

    def render(self, urls: Sequence[str], sites: Sequence[str]) -> list[str]:
        """Replace `__SITE__` placeholders in `urls` by webarena-verified's own rules.

        Raises:
            InputError: A site is not configured.
        """
        for name in sites:
            self.site(name)
        site_of = evaluator_module("types.task").WebArenaSite
        rendered = official_config(self).render_url(list(urls), [site_of(s) for s in sites])
        return [str(url) for url in rendered]


def config_template(host: str = "localhost") -> str:
    """Return a commented file for all six sites on `host`, to be edited."""
    config = default_config(host)
    blocks = [_template_block(name, config.site(name)) for name in SITES]
    return _TEMPLATE_HEAD + "".join(blocks)


def load_config(
    path: Path | None = None, environ: Mapping[str, str] | None = None
) -> EnvironmentConfig:
    """Read the environment from a YAML or JSON file and from variables, which override the file.

    The file is `sites: {shopping: {url: …, aliases: […], username: …, password: …}}` or
    webarena-verified's own configuration. The variables are `WEBARENA_<SITE>_URL` (several URLs
    separated by commas, the first is used), `WEBARENA_<SITE>_USERNAME` and
    `WEBARENA_<SITE>_PASSWORD`; `WA_<SITE>`, which BrowserGym reads, is accepted as a URL.

    Raises:
        InputError: The file cannot be read or has another content.
    """
    environ = os.environ if environ is None else environ
    sites = _read_file(path) if path else {}
    for name in SITES:
        given: dict[str, Any] = {}
        urls = environ.get(_variable(name, "URL")) or environ.get(f"WA_{name.upper()}")
        if urls:
            first, *others = [url.strip() for url in urls.split(",") if url.strip()]
            given.update(url=first, aliases=others)
        for key in ("username", "password"):
            if value := environ.get(_variable(name, key)):
                given[key] = value
        if given:
            sites[name] = {**sites.get(name, {}), **given}
    if not sites:
        raise InputError(
            "no site is configured: give a file with --config, or set "
            f"{_variable('shopping', 'URL')} and its like"
        )
    return _validated(sites, str(path) if path else "the environment variables")


def default_config(host: str = "localhost") -> EnvironmentConfig:
    """Return all six sites on the ports of webarena-verified's containers.

    On `localhost` the sites that share a cookie name get host names of their own
    (`reddit.localhost`): browsers resolve those to the same machine and keep the cookies apart.
    """
    sites = {}
    for name, facts in SITE_FACTS.items():
        own = f"{name.replace('_', '-')}.localhost"
        hosts = [own, "localhost", "127.0.0.1"] if host == "localhost" else [host]
        ports = (facts.port, *facts.other_ports)
        sites[name] = {"urls": [f"http://{each}:{port}" for port in ports for each in hosts]}
    return _validated(sites, "the defaults")


def official_config(config: EnvironmentConfig) -> Any:
    """Return `config` as a `webarena_verified.types.config.WebArenaVerifiedConfig`."""
    return evaluator_module("types.config").WebArenaVerifiedConfig.model_validate(config.official())


def shared_cookie_hosts(config: EnvironmentConfig) -> dict[str, list[str]]:
    """Return the host names on which several sites would overwrite each other's session cookie."""
    hosts: dict[str, list[str]] = {}
    for name in _SAME_COOKIE:
        if name in config.sites:
            hosts.setdefault(str(urlsplit(config.site(name).url).hostname), []).append(name)
    return {host: names for host, names in hosts.items() if len(names) > 1}


_TEMPLATE_HEAD = """\
# The URLs and accounts of the sites; see docs/webarena.md.
# The first URL is the one the browser uses; `aliases` are other names of the same site, by which
# the evaluator recognises recorded traffic. Variables override this file: WEBARENA_<SITE>_URL,
# WEBARENA_<SITE>_USERNAME, WEBARENA_<SITE>_PASSWORD. Passwords that are not given here are those
# documented with the images.
sites:
"""
_NOTES = {
    "map": "webarena-verified's compose file publishes the map on 3030 instead of 3000: put the right one first",
    "shopping_admin": "the tasks expect /admin to belong to the URL",
    "wikipedia": "the tasks expect the whole path of the landing page",
}


def _template_block(name: SiteName, site: SiteConfig) -> str:
    lines = [f"  # {_NOTES[name]}"] if name in _NOTES else []
    lines += [f"  {name}:", f"    url: {site.url}"]
    if site.urls[1:]:
        lines.append(f"    aliases: [{', '.join(site.urls[1:])}]")
    if site.credentials:
        lines += [f"    username: {site.credentials.username}", "    # password: from the variable"]
    lines.append("    # reset_hook: ssh sites.example reset-site {site}")
    if name == "wikipedia":
        lines.append("    # data_dir: /data/wikipedia")
    return "\n".join(lines) + "\n"


def _validated(sites: dict[str, Any], source: str) -> EnvironmentConfig:
    try:
        return EnvironmentConfig.model_validate({"sites": sites})
    except ValidationError as error:
        raise InputError(f"{source}: {problems_of(error, EnvironmentConfig)}") from error


def _filled(name: str, site: Any) -> Any:
    """Return the full form of a site, with defaults, from a short form or a bare URL."""
    if not isinstance(site, str | dict):
        return site
    site, facts = _mapping(site), SITE_FACTS.get(name)
    short = {"url", "aliases", "username", "password"}
    full = {key: value for key, value in site.items() if key not in short}
    if site.get("url"):
        full["urls"] = [site["url"], *site.get("aliases", ())]
    if full.get("urls"):
        # without `/admin` in the URL every network check of the shop's back office scores 0
        path = facts.base_path if facts else ""
        full["urls"] = [
            url.rstrip("/") + path
            if path and isinstance(url, str) and not urlsplit(url).path.strip("/")
            else url
            for url in full["urls"]
        ]
    account = facts.account if facts else None
    if full.get("credentials") is None and account:
        username, password = account
        full["credentials"] = {
            "username": site.get("username") or username,
            "password": site.get("password") or password,
        }
    return full


def _variable(name: str, what: str) -> str:
    return f"WEBARENA_{name.upper()}_{what.upper()}"


def _read_file(path: Path) -> dict[str, Any]:
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read the configuration {path}: {what}") from error
    if isinstance(data, dict) and isinstance(data.get("environments"), dict):
        # its keys are `__SHOPPING__` or `shopping`
        sites: dict[str, Any] = {}
        for key, entry in data["environments"].items():
            if isinstance(entry, dict) and isinstance(entry.get("urls"), list):
                urls, active = entry["urls"], entry.get("active_url_idx") or 0
                account = entry.get("credentials") or {}
                site = {each: account[each] for each in ("username", "password") if each in account}
                site["urls"] = [*urls[active : active + 1], *urls[:active], *urls[active + 1 :]]
            else:
                site = {"urls": entry}
            sites[str(key).strip("_").lower()] = site
        return sites
    if not isinstance(data, dict) or not isinstance(data.get("sites"), dict):
        raise InputError(
            f"{path} has no 'sites': `webarena-runner config init` writes one of the right form"
        )
    for name, site in data["sites"].items():
        if not isinstance(site, str | dict):
            raise InputError(f"{path}: {name} is {site!r}, not a URL or a mapping with one")
    return {str(name): _mapping(site) for name, site in data["sites"].items()}


def _mapping(site: Any) -> dict[str, Any]:
    return {"url": site} if isinstance(site, str) else dict(site)
