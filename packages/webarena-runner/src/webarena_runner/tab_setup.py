"""DevTools commands for every tab of a trial before its first request: headers, localStorage, scripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from webarena_runner.config import EnvironmentConfig, SiteConfig
from webarena_runner.site_facts import SITE_FACTS

Command = tuple[str, "Mapping[str, Any]"]

_SCRIPTS = Path(__file__).parent / "scripts"


def tab_setup(
    config: EnvironmentConfig, sites: Iterable[str], *, contact_probe: bool = False
) -> list[Command]:
    """Return the DevTools commands for the tabs of a trial on `sites`."""
    names = sorted(set(sites))
    commands: list[Command] = []
    if headers := login_headers(config, names):
        commands.append(("Network.setExtraHTTPHeaders", {"headers": headers}))
    scripts = [
        _script("local_storage", config.site(name), ENTRIES=config.site(name).local_storage)
        for name in names
        if config.site(name).local_storage
    ]
    if contact_probe and "shopping" in names:
        scripts.append(_script("contact_probe", config.site("shopping")))
    if scripts:
        commands.append(("Page.enable", {}))
    commands += [("Page.addScriptToEvaluateOnNewDocument", {"source": each}) for each in scripts]
    return commands


def login_headers(config: EnvironmentConfig, sites: Iterable[str]) -> dict[str, str]:
    """Return the login headers of those of `sites` that are configured for them."""
    headers = {}
    for name in sites:
        site, header = config.site(name), SITE_FACTS[name].login_header
        if site.login == "header" and header and site.credentials:
            password = site.credentials.password.get_secret_value()
            headers[header] = f"{site.credentials.username}:{password}"
    return headers


def _script(file: str, site: SiteConfig, **values: Any) -> str:
    """Return a script with its names in capitals filled in, in its own scope."""
    source = (_SCRIPTS / f"{file}.js").read_text(encoding="utf-8")
    origins = sorted({"/".join(url.split("/")[:3]) for url in site.urls})
    for name, value in {"ORIGINS": origins, **values}.items():
        source = source.replace(name, json.dumps(value))
    return f"(() => {{\n{source}}})();"
