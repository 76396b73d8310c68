"""DevTools commands for every tab of a trial before its first request: headers, localStorage, scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webarena_runner.site_facts import SITE_FACTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from webarena_runner.config import EnvironmentConfig, SiteConfig

__all__ = ["login_headers", "tab_setup"]

Command = tuple[str, "Mapping[str, Any]"]

# Eight tasks check a contact form that was filled in but not sent, by a request that a script of older
# images makes. Browsers refuse port 6666: the request is recorded with status -1, and goes nowhere.
# browser-use types key by key, about 86 requests for one message, of which the evaluator reads the last.
_CONTACT_PROBE = """
if (ORIGINS.includes(location.origin)) {
  const report = (form) => {
    const body = {form_id: 'contact-form'};
    for (const each of form.querySelectorAll('input:not([type=hidden]), textarea'))
      if (each.name) body[each.name] = each.value;
    fetch(`http://${location.hostname}:6666/dummy_bin`, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
    }).catch(() => {});
  };
  document.addEventListener('input', (event) => {
    const form = event.target.closest?.('#contact-form, form.contact');
    if (form) report(form);
  });
}
"""
_LOCAL_STORAGE = """
if (ORIGINS.includes(location.origin)) {
  for (const [name, value] of Object.entries(ENTRIES))
    if (localStorage.getItem(name) === null) localStorage.setItem(name, value);
}
"""


def tab_setup(
    config: EnvironmentConfig, sites: Iterable[str], *, contact_probe: bool = False
) -> list[Command]:
    """Return the DevTools commands for the tabs of a trial on `sites`."""
    names = sorted(set(sites))
    commands: list[Command] = []
    if headers := login_headers(config, names):
        commands.append(("Network.setExtraHTTPHeaders", {"headers": headers}))
    scripts = [
        _script(_LOCAL_STORAGE, config.site(name), ENTRIES=config.site(name).local_storage)
        for name in names
        if config.site(name).local_storage
    ]
    if contact_probe and "shopping" in names:
        scripts.append(_script(_CONTACT_PROBE, config.site("shopping")))
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


def _script(source: str, site: SiteConfig, **values: Any) -> str:
    """Return a script with its names in capitals filled in, in a scope of its own."""
    filled = {"ORIGINS": _origins(site), **values}
    for name, value in filled.items():
        source = source.replace(name, json.dumps(value))
    return f"(() => {{{source}}})();"


def _origins(site: SiteConfig) -> list[str]:
    return sorted({"/".join(url.split("/")[:3]) for url in site.urls})
