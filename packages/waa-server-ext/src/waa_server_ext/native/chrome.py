"""Google Chrome: preferences, bookmarks, history, cookies, shortcuts."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from bench_core.errors import EvaluationError
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
    visited,
)
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import getter, metric
from waa_server_ext.native.urls import same_url


def _profile(file: str) -> dict[str, Location]:
    return {
        "Windows": ("LOCALAPPDATA", (f"Google/Chrome/User Data/{file}",)),
        "Darwin": ("HOME", (f"Library/Application Support/Google/Chrome/{file}",)),
        "Linux": ("HOME", (f".config/google-chrome/{file}",)),
    }


_PREFERENCES = _profile("Default/Preferences")
_LOCAL_STATE = _profile("Local State")
_BOOKMARKS = _profile("Default/Bookmarks")
_COOKIES = {
    **_profile("Default/Cookies"),
    "Windows": ("LOCALAPPDATA", ("Google/Chrome/User Data/Default/Network/Cookies",)),
}
HISTORY = history_of(("Google", "Chrome", "User Data"), "Google/Chrome", "google-chrome")
_ENGINES = {
    "485bf7d3-0215-45af-87dc-538868000001": "Google",
    "485bf7d3-0215-45af-87dc-538868000003": "Bing",
    "485bf7d3-0215-45af-87dc-538868000002": "Yahoo!",
    "485bf7d3-0215-45af-87dc-538868000092": "DuckDuckGo",
}
"""Chromium's identifiers of its prepopulated search engines."""


@getter("chrome.py")
def default_search_engine(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """The name of the default search engine.

    Fails as: 'Google'.
    """
    return str(preference(env, _PREFERENCES, _engine, "Google"))


@default_search_engine.differs("fixed", "'Microsoft Bing', as Chrome now says, is 'Bing'")
def _default_search_engine_fixed(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    name = str(preference(env, _PREFERENCES, _engine, "Google"))
    if name == "Microsoft Bing":
        env.note("fixed: 'Microsoft Bing' is read as 'Bing'")
        return "Bing"
    return name


@getter("chrome.py")
def cookie_data(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The rows of Chrome's cookie store.

    Fails as: None for an absent, locked or damaged store.

    Oddities: Only the existence of rows counts; values are encrypted and not looked at.
    """
    return cookies(env, cookie_path(env, config, _COOKIES), config["dest"])


@getter("chrome.py")
def history(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Chrome's history: URL, title and time of each page.

    Fails as: None for an absent, locked or damaged store.
    """
    return visited(env, locate(env, HISTORY), config["dest"])


@getter("chrome.py")
def enabled_experiments(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The experiments of chrome://flags that are not at their default.

    Fails as: an empty list.
    """
    return preference(
        env, _LOCAL_STATE, lambda data: data.get("browser", {}).get("enabled_labs_experiments", []), []
    )  # fmt: skip


@getter("chrome.py")
def profile_name(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The name of the profile.

    Fails as: None.
    """
    return preference(
        env, _PREFERENCES, lambda data: data.get("profile", {}).get("name", None), None
    )


@getter("chrome.py")
def chrome_language(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The language of Chrome's own pages.

    Fails as: 'en-US'.
    """
    return preference(
        env, _LOCAL_STATE, lambda data: data.get("intl", {}).get("app_locale", "en-US"), "en-US"
    )


@getter("chrome.py")
def chrome_font_size(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The font sizes of web pages.

    Fails as: Chrome's defaults.
    """
    usual = {**FONT_SIZES, "minimum_font_size": 13}
    return preference(
        env,
        _PREFERENCES,
        lambda data: data.get("webkit", {}).get("webprefs", usual),
        dict(FONT_SIZES),
    )


@getter("chrome.py")
def bookmarks(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The roots of the bookmarks.

    Fails as: an empty list without the file; raises for anything but JSON.
    """
    return bookmark_roots(env, _BOOKMARKS)


@getter("chrome.py")
def enable_do_not_track(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether pages are asked not to track: the strings 'true' and 'false'.

    Fails as: 'false'.
    """
    return str(
        preference(
            env, _PREFERENCES, lambda data: _word(data.get("enable_do_not_track", {})), "false"
        )
    )


@getter("chrome.py")
def enable_enhanced_safety_browsing(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether enhanced safe browsing is on: the strings 'true' and 'false'.

    Fails as: 'Google'.
    """
    return str(
        preference(
            env,
            _PREFERENCES,
            lambda data: _word(data.get("safebrowsing", {}).get("enhanced", {})),
            "Google",
        )
    )


@getter("chrome.py")
def new_startup_page(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether Chrome starts with a new tab: the strings 'true' and 'false'.

    Fails as: 'Google'.
    """
    return str(preference(env, _PREFERENCES, _fresh_start, "Google"))


@getter("chrome.py")
def data_delete_automacally(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether data is deleted when Chrome closes: the strings 'true' and 'false'.

    Fails as: 'Google'.

    Oddities: Any site setting at all counts as deleting data on exit.
    """
    return str(
        preference(
            env,
            _PREFERENCES,
            lambda data: _word(
                data["profile"].get("default_content_setting_values", None) is not None
            ),
            "Google",
        )
    )


@getter("chrome.py")
def find_unpacked_extension_path(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The paths of all extensions in the profile.

    Fails as: 'Google'.
    """
    return preference(
        env, _PREFERENCES, lambda data: [each["path"] for each in _extensions(data)], "Google"
    )


@getter("chrome.py")
def find_installed_extension_name(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The names of all extensions in the profile.

    Fails as: 'Google'.
    """
    return preference(
        env,
        _PREFERENCES,
        lambda data: [each["manifest"]["name"] for each in _extensions(data)],
        "Google",
    )


@getter("chrome.py", needs=("LnkParse3",))
def shortcuts_on_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The shortcuts on the desktop: name to content; .lnk files as JSON.

    Fails as: raises if a shortcut cannot be read, which counts as zero.
    """
    suffix = {"Windows": ".lnk", "Darwin": ".webloc", "Linux": ".desktop"}.get(env.platform)
    if suffix is None:
        return []
    read = _read_lnk if suffix == ".lnk" else bytes.decode
    return {name: read(content) for name, content in shortcuts(env, suffix).items()}


@metric("chrome.py")
def is_expected_bookmarks(bookmarks: Any, rule: Mapping[str, Any]) -> float:
    """Whether the bookmark bar has the expected folders or pages, by their exact URL.

    Fails as: 0.0 for nothing; KeyError for a folder without children.
    """
    if not bookmarks:
        return 0.0
    kind = rule["type"]
    if kind == "bookmark_bar_folders_names":
        return float(set(rule["names"]) <= set(_of_bar(bookmarks, "folder", "name")))
    if kind == "bookmark_bar_websites_urls":
        return float(set(rule["urls"]) <= set(_of_bar(bookmarks, "url", "url")))
    if kind == "liked_authors_websites_urls":
        return _liked_authors(bookmarks, rule)
    raise TypeError(f"{kind} not support yet!")


@metric("chrome.py")
def is_expected_installed_extensions(installed_extensions: Any, expected: Any) -> float:
    """Whether all expected extensions are installed.

    Fails as: TypeError for None.
    """
    return float(set(expected["expected"]) <= set(installed_extensions))


@metric("chrome.py")
def is_cookie_deleted(cookie_data: Any, rule: Mapping[str, Any]) -> float:
    """Whether no cookie of the domains is left.

    Fails as: 1.0 for None and for an empty store.
    """
    if cookie_data is None or len(cookie_data) == 0:
        return 1.0
    return _no_cookie(cookie_data, rule)


@is_cookie_deleted.differs("orig", "a store that cannot be read raises TypeError")
def _is_cookie_deleted_orig(cookie_data: Any, rule: Mapping[str, Any]) -> float:
    return _no_cookie(cookie_data, rule)


@is_cookie_deleted.differs("fixed", "a store that cannot be read gives no score, not a pass")
def _is_cookie_deleted_fixed(cookie_data: Any, rule: Mapping[str, Any]) -> float:
    if cookie_data is None:
        raise EvaluationError(
            "the cookie store cannot be read: the browser may hold it open; close it first"
        )
    return _no_cookie(cookie_data, rule)


@metric("chrome.py")
def check_history_deleted(history_data: Any, rule: Mapping[str, Any]) -> float:
    """Whether no page of the history has a keyword in its URL.

    Fails as: TypeError for None.
    """
    if rule["type"] != "keywords":
        raise TypeError(f"{rule['type']} not support yet!")
    pages = [entry[0] for entry in history_data]
    return float(not any(keyword in page for keyword in rule["keywords"] for page in pages))


@metric("chrome.py")
def check_enabled_experiments(enabled_experiments: Any, rule: Mapping[str, Any]) -> float:
    """Whether exactly the expected experiments are enabled.

    Fails as: 0.0.

    Oddities: The list must be equal, in order.
    """
    names = [each.split("@")[0] for each in enabled_experiments]
    if rule["type"] != "names":
        raise TypeError(f"{rule['type']} not support yet!")
    return float(names == rule["names"])


@metric("chrome.py")
def check_font_size(font_size: Any, rule: Mapping[str, Any]) -> float:
    """Whether the default font size is a value, or between two, both excluded.

    Fails as: KeyError without a font size.
    """
    size = font_size["default_font_size"]
    if rule["type"] == "value":
        return float(size == rule["value"])
    if rule["type"] == "range":
        return float(rule["min"] < size < rule["max"])
    raise TypeError(f"{rule['type']} not support yet!")


@metric("chrome.py")
def is_shortcut_on_desktop(shortcuts: Any, rule: Mapping[str, Any]) -> float:
    """Whether a shortcut has the name, the description or the URL.

    Fails as: 0.0.

    Oddities: V2's task gives `type: url` and no `url`, so it can never pass.
    """
    if rule["type"] == "url":
        return float(any(_leads_to(text, rule) for text in shortcuts.values()))
    return float(_shortcut_orig(shortcuts, rule))


@is_shortcut_on_desktop.differs("orig", "rule type `url` raises TypeError")
def _shortcut_orig(shortcuts: Any, rule: Mapping[str, Any]) -> float:
    if rule["type"] == "name":
        line = "Name=" + rule["name"] + "\n"
        return float(any(line in text for text in shortcuts.values()))
    if rule["type"] == "description":
        found = (or_else(None, _describes, text, rule) for text in shortcuts.values())
        return float(any(found))
    raise TypeError(f"{rule['type']} not support yet!")


@is_shortcut_on_desktop.differs("fixed", "a rule of type `url` without `url` goes by `description`")
def _shortcut_fixed(shortcuts: Any, rule: Mapping[str, Any]) -> float:
    if rule["type"] == "url" and "url" not in rule:
        return float(_shortcut_orig(shortcuts, {**rule, "type": "description"}))
    return float(is_shortcut_on_desktop.function(shortcuts, rule))


def _engine(data: Any) -> Any:
    name = _ENGINES.get(data.get("default_search_provider", {}).get("guid"))
    own = data.get("default_search_provider_data", {}).get("template_url_data", {})
    return name or own.get("short_name", "Google")


def _extensions(data: Any) -> list[Any]:
    return list(data.get("extensions", {}).get("settings", {}).values())


def _word(value: Any) -> str:
    return "true" if value else "false"


def _fresh_start(data: Any) -> str:
    if "session" not in data:
        return "true"
    # Chromium's code for a new tab
    return _word(data.get("session", {}).get("restore_on_startup", {}) == 5)


def _read_lnk(content: bytes | None) -> str:
    import LnkParse3

    with io.BytesIO(content or b"") as data:
        parsed = LnkParse3.lnk_file(data)
    return json.dumps(parsed.get_json(get_all=True), indent=4, default=str, sort_keys=True)


def _of_bar(bookmarks: Any, kind: str, key: str) -> list[Any]:
    return [each[key] for each in bookmarks["bookmark_bar"]["children"] if each["type"] == kind]


def _liked_authors(bookmarks: Any, rule: Mapping[str, Any]) -> float:
    folders = [
        each
        for each in bookmarks["bookmark_bar"]["children"]
        if each["type"] == "folder" and each["name"] == "Liked Authors"
    ]
    if not folders:
        return 0.0
    found = {each["url"] for each in folders[0]["children"] if each["type"] == "url"}
    choices: list[Sequence[str]] = [[url] if isinstance(url, str) else url for url in rule["urls"]]
    return float(any(set(each) == found for each in product(*choices)))


def _no_cookie(cookie_data: Any, rule: Mapping[str, Any]) -> float:
    if rule["type"] != "domains":
        raise TypeError(f"{rule['type']} not support yet!")
    hosts = [cookie[1] for cookie in cookie_data]
    return float(not any(same_url(domain, host) for domain in rule["domains"] for host in hosts))


def _describes(text: str, rule: Mapping[str, Any]) -> bool:
    return rule["description"] in json.loads(text)["data"]["description"]


def _leads_to(text: str, rule: Mapping[str, Any]) -> bool:
    """Compare the URL at the place that .url files have it; on an error, search for it loosely."""
    try:
        found = _written_url(text)
        return found is not None and same_url(rule["url"], found)
    except Exception:  # noqa: BLE001  # vanilla's own fallback, whatever went wrong
        loose = re.search(r"URL=(.+?)(\n|$)", text)
        return bool(loose and or_else(None, lambda: same_url(rule["url"], loose.group(1))))


def _written_url(text: str) -> str | None:
    data = json.loads(text)
    if "data" in data and "url" in data["data"]:
        return str(data["data"]["url"])
    lines = text.split("\n") if "URL=" in text else []
    line = next((each for each in lines if each.startswith("URL=")), None)
    return line[4:] if line else None
