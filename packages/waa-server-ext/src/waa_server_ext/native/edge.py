"""Microsoft Edge: preferences, favorites, history, cookies, shortcuts, installed apps."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from waa_server_ext.native.context import EvaluationContext
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


@getter("edge.py")
def url_shortcuts_on_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The .url shortcuts on the desktop: name to text.

    Fails as: raises if a shortcut cannot be read, which counts as zero.
    """
    if env.platform != "Windows":
        return []
    return {name: text.decode("utf-8") for name, text in shortcuts(env, ".url").items()}


@getter("edge.py")
def data_delete_automacally_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    """Whether data is deleted when Edge closes: 1.0 and 0.0.

    Fails as: 0.0.

    Oddities: Exactly seven of the eight kinds of data must be cleared, app data not.
    """
    return float(
        _preference(
            env,
            lambda data: float(data["browser"].get("clear_data_on_exit", None) == _CLEARED_ON_EXIT),
            0.0,
        )
    )


@getter("edge.py")
def default_search_engine_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The name of the default search engine.

    Fails as: 'Unknown', also for an engine that the user added.
    """
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


@getter("edge.py")
def edge_font_size(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The font sizes of web pages.

    Fails as: Edge's defaults.
    """
    return _preference(
        env,
        lambda data: data.get("webkit", {}).get("webprefs", dict(FONT_SIZES)),
        dict(FONT_SIZES),
    )


@getter("edge.py")
def enable_enhanced_safety_browsing_from_edge(
    env: EvaluationContext, config: Mapping[str, Any]
) -> float:
    """Whether enhanced security is on: 1.0 and 0.0.

    Fails as: 0.0.
    """
    return float(
        _preference(env, lambda data: bool(data["edge"]["super_duper_secure_mode"]["enabled"]), 0.0)
    )


@getter("edge.py")
def enable_do_not_track_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    """Whether pages are asked not to track: 1.0 and 0.0.

    Fails as: 0.0.
    """
    return float(_preference(env, lambda data: bool(data.get("enable_do_not_track", {})), 0.0))


@getter("edge.py")
def profile_name_from_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The name of the profile.

    Fails as: None.
    """
    return _preference(env, lambda data: data.get("profile", {}).get("name", None), None)


@getter("edge.py")
def favorites(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The roots of the favorites.

    Fails as: an empty list without the file; raises for anything but JSON.
    """
    return bookmark_roots(env, _FAVORITES)


@getter("edge.py")
def history_for_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Edge's history: URL, title and time of each page.

    Fails as: None for an absent, locked or damaged store.
    """
    return visited(env, locate(env, HISTORY), config["dest"])


@getter("edge.py")
def cookie_data_for_edge(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The rows of Edge's cookie store.

    Fails as: None for an absent, locked or damaged store.

    Oddities: Ends Edge on the VM first, because it holds the store open.
    """
    path = cookie_path(env, config, _COOKIES)
    ended = or_else(None, env.python, "import os; os.system('taskkill /F /IM msedge.exe /T')")
    return None if ended is None else cookies(env, path, config["dest"])


@getter("msedge.py")
def edge_home_page(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The home page without scheme and slashes.

    Fails as: 'error', 'False' without a home page.
    """
    path = env.python(
        "import os; print(os.path.join(os.getenv('LOCALAPPDATA'), "
        "'Microsoft/Edge/User Data/Default/Secure Preferences'))"
    ).strip()
    return or_else("error", lambda: _home_page(preferences(env, path)))


@getter("msedge.py")
def validate_pwa_installed(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a pwabuilder app is installed: 'app_installed' and 'app_not_installed'.

    Fails as: 'error' if the VM fails.
    """
    return str(or_else("error", _pwa, env))


@getter("msedge.py")
def edge_default_download_folder(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The folder that downloads go to.

    Fails as: 'error', 'False' without a folder.
    """
    path = env.python(
        "import os; print(os.path.join(os.getenv('LOCALAPPDATA'), "
        "'Microsoft/Edge/User Data/Default/Preferences'))"
    ).strip()
    return or_else(
        "error",
        lambda: preferences(env, path).get("download", {}).get("default_directory", {}) or "False",
    )


@metric("edge.py")
def check_edge_font_size(font_size: Any, rule: Mapping[str, Any]) -> float:
    """Whether the default font size is a value, or from one (included) to another (excluded).

    Fails as: KeyError without a font size.
    """
    size = font_size["default_font_size"]
    if rule["type"] == "value":
        return float(size == rule["value"])
    if rule["type"] == "range":
        return float(rule["min"] <= size < rule["max"])
    raise TypeError(f"{rule['type']} not support yet!")


@metric("edge.py")
def is_url_shortcut_on_desktop(shortcuts: Any, rule: Mapping[str, Any]) -> float:
    """Whether a .url shortcut contains the URL.

    Fails as: AttributeError for a list.
    """
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
