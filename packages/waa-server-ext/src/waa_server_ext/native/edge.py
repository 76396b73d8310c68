"""Microsoft Edge: preferences, favorites, history, cookies, shortcuts, installed apps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from waa_server_ext.native.explorer import shortcuts
from waa_server_ext.native.profiles import (
    FONT_SIZES,
    Location,
    bookmark_roots,
    cookie_path,
    cookies,
    history_of,
    locate,
    preference,
    preferences,
    visited,
)
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import getter, metric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from waa_server_ext.native.context import EvaluationContext

_ON_WINDOWS: dict[str, Location] = {
    "Windows": ("LOCALAPPDATA", ("Microsoft/Edge/User Data/Default/Preferences",))
}
_FAVORITES: dict[str, Location] = {
    "Windows": ("LOCALAPPDATA", ("Microsoft/Edge/User Data/Default/Bookmarks",)),
    "Darwin": ("HOME", ("Library/Application Support/Microsoft Edge/Default/Bookmarks",)),
    "Linux": ("HOME", (".config/microsoft-edge/Default/Bookmarks",)),
}
HISTORY = history_of(("Microsoft", "Edge", "User Data"), "Microsoft/Edge", "microsoft-edge")
_COOKIES: dict[str, Location] = {
    "Windows": ("LOCALAPPDATA", ("Microsoft/Edge/User Data/Default/Network/Cookies",)),
    "Darwin": ("HOME", ("Library/Application Support/Microsoft/Edge/Default/Cookies",)),
    "Linux": ("HOME", (".config/microsoft-edge/Default/Cookies",)),
}
_ENGINES = {
    "485bf7d3-0215-45af-87dc-538868000001": "Bing",
    "485bf7d3-0215-45af-87dc-538868000002": "Yahoo!",
    "485bf7d3-0215-45af-87dc-538868000003": "Google",
    "485bf7d3-0215-45af-87dc-538868000092": "DuckDuckGo",
    "485bf7d3-0215-45af-87dc-538868000015": "Yandex",
}
"""Edge's identifiers of its prepopulated search engines."""
_CLEARED_ON_EXIT = {
    "browsing_history": True,
    "cache": True,
    "cookies": True,
    "download_history": True,
    "form_data": True,
    "hosted_apps_data": False,
    "passwords": True,
    "site_settings": True,
}
_INSTALLED = (
    'powershell -Command "Get-AppxPackage | Select-Object Name,PackageFullName | ConvertTo-Json"'
)


@getter(failure="raises where a shortcut cannot be read, which counts as zero", source="edge.py")
def url_shortcuts_on_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The .url shortcuts on the desktop: name to text."""
    if env.platform != "Windows":
        return []
    return {name: text.decode("utf-8") for name, text in shortcuts(env, ".url").items()}


@getter(
    failure="0.0",
    source="edge.py",
    notes="Exactly seven of the eight kinds of data must be cleared, app data not.",
)
def data_delete_automacally_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    """Whether data is deleted when Edge closes: 1.0 and 0.0."""
    return float(
        _preference(
            env,
            lambda data: float(data["browser"].get("clear_data_on_exit", None) == _CLEARED_ON_EXIT),
            0.0,
        )
    )


@getter(
    failure="'Unknown', also for an engine that the user added",
    source="edge.py",
)
def default_search_engine_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The name of the default search engine."""
    return _preference(env, _engine, "Unknown")


@default_search_engine_from_edge.differs("fixed", "an engine that the user added has its own name")
def _engine_fixed(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    def pick(data: Any) -> Any:
        known = _engine(data)
        own = data.get("default_search_provider_data", {}).get("template_url_data", {})
        return own.get("short_name", known) if known == "Unknown" else known

    name = _preference(env, pick, "Unknown")
    if name not in (*_ENGINES.values(), "Unknown"):
        env.note(f"fixed: the search engine {name!r} was added by the user")
    return name


@getter(failure="Edge's defaults", source="edge.py")
def edge_font_size(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The font sizes of web pages."""
    return _preference(
        env,
        lambda data: data.get("webkit", {}).get("webprefs", dict(FONT_SIZES)),
        dict(FONT_SIZES),
    )


@getter(failure="0.0", source="edge.py")
def enable_enhanced_safety_browsing_from_edge(
    env: EvaluationContext, config: Mapping[str, Any]
) -> float:
    """Whether enhanced security is on: 1.0 and 0.0."""
    return float(
        _preference(env, lambda data: bool(data["edge"]["super_duper_secure_mode"]["enabled"]), 0.0)
    )


@getter(failure="0.0", source="edge.py")
def enable_do_not_track_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    """Whether pages are asked not to track: 1.0 and 0.0."""
    return float(_preference(env, lambda data: bool(data.get("enable_do_not_track", {})), 0.0))


@getter(failure="None", source="edge.py")
def profile_name_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The name of the profile."""
    return _preference(env, lambda data: data.get("profile", {}).get("name", None), None)


@getter(failure="an empty list without the file; raises for what is no JSON", source="edge.py")
def favorites(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The roots of the favorites."""
    return bookmark_roots(env, _FAVORITES)


@getter(failure="None for an absent, locked or damaged store", source="edge.py")
def history_for_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Edge's history: URL, title and time of each page."""
    return visited(env, locate(env, HISTORY), config["dest"])


@getter(
    failure="None for an absent, locked or damaged store",
    source="edge.py",
    notes="Ends Edge on the VM first, because it holds the store open.",
)
def cookie_data_for_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The rows of Edge's cookie store."""
    path = cookie_path(env, config, _COOKIES)
    ended = or_else(None, env.python, "import os; os.system('taskkill /F /IM msedge.exe /T')")
    return None if ended is None else cookies(env, path, config["dest"])


@getter(failure="'error', 'False' without a home page", source="msedge.py")
def edge_home_page(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The home page without scheme and slashes."""
    path = env.python(
        "import os; print(os.path.join(os.getenv('LOCALAPPDATA'), "
        "'Microsoft/Edge/User Data/Default/Secure Preferences'))"
    ).strip()
    return or_else("error", lambda: _home_page(preferences(env, path)))


@getter(failure="'error' where the VM fails", source="msedge.py")
def validate_pwa_installed(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a pwabuilder app is installed: 'app_installed' and 'app_not_installed'."""
    return str(or_else("error", _pwa, env))


@getter(failure="'error', 'False' without a folder", source="msedge.py")
def edge_default_download_folder(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The folder that downloads go to."""
    path = env.python(
        "import os; print(os.path.join(os.getenv('LOCALAPPDATA'), "
        "'Microsoft/Edge/User Data/Default/Preferences'))"
    ).strip()
    return or_else(
        "error",
        lambda: preferences(env, path).get("download", {}).get("default_directory", {}) or "False",
    )


@metric(failure="KeyError without a font size", source="edge.py")
def check_edge_font_size(font_size: Any, rule: Mapping[str, Any]) -> float:
    """Whether the default font size is a value, or from one (included) to another (excluded)."""
    size = font_size["default_font_size"]
    if rule["type"] == "value":
        return float(size == rule["value"])
    if rule["type"] == "range":
        return float(rule["min"] <= size < rule["max"])
    raise TypeError(f"{rule['type']} not support yet!")


@metric(failure="AttributeError for a list", source="edge.py")
def is_url_shortcut_on_desktop(shortcuts: Any, rule: Mapping[str, Any]) -> float:
    """Whether a .url shortcut contains the URL."""
    if rule["type"] != "url":
        raise TypeError(f"{rule['type']} not support yet!")
    return float(any(rule["url_content"] in text for text in shortcuts.values()))


def _preference(env: EvaluationContext, pick: Callable[[Any], Any], default: Any) -> Any:
    return preference(env, _ON_WINDOWS, pick, default)


def _engine(data: Any) -> str:
    guid = data.get("default_search_provider", {}).get("synced_guid")
    return _ENGINES.get(guid, "Unknown")


def _home_page(data: Any) -> str:
    page = data.get("homepage", {})
    if not page:
        return "False"
    return str(page.replace("https://", "").replace("http://", "").replace("/", ""))


def _pwa(env: EvaluationContext) -> str:
    output = env.shell(_INSTALLED)["output"]
    packages = json.loads(output) if output else []
    found = any("pwabuilder" in package["Name"].lower() for package in packages)
    return "app_installed" if found else "app_not_installed"
