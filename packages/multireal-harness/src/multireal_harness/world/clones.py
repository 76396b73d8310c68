"""The pages of the built-in apps: single-page apps whose whole state is in the browser."""

from __future__ import annotations

import functools
from importlib import resources

APPS = ("calendar", "dining", "mail", "travel")
"""The names of the apps."""


def page(app: str, fault: str = "") -> bytes:
    """Return the one page of an app; `fault` makes its `/finish` misbehave.

    Args:
        app: One of `APPS`.
        fault: `invalid_json` truncates the JSON of `/finish`, `no_pre` shows it without its `<pre>`.
    """
    style, core, own = _asset("style.css"), _asset("core.js"), _asset(f"{app}.js")
    return (
        f'<!doctype html><html lang="en" data-app="{app}" data-history="complete" data-fault="{fault}"><head>'
        # the icon keeps Chromium from requesting /favicon.ico, which the server answers with the app itself
        f'<meta charset="utf-8"><title>{app.title()}</title><link rel="icon" href="data:,">'
        f"<style>{style}</style></head>"
        f'<body><div id="app"></div><script>{core}\n{own}</script></body></html>'
    ).encode()


@functools.cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")
