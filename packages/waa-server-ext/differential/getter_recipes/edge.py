"""Edge: preferences, favorites, stores, the home page, apps and shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import HOME, as_json, each, of, table
from getter_recipes.stores import cookies, histories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

PROFILE = HOME + r"\AppData\Local\Microsoft/Edge/User Data"
GUID = "485bf7d3-0215-45af-87dc-5388680000{}"
CLEARED = dict.fromkeys(
    (
        "browsing_history",
        "cache",
        "cookies",
        "download_history",
        "form_data",
        "passwords",
        "site_settings",
    ),
    True,
)


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _privacy()
    yield from _appearance()
    yield from _favorites()
    history = HOME + r"\AppData\Local\Microsoft\Edge\User Data\Default\History"
    yield from histories("history_for_edge", history)
    yield from cookies("cookie_data_for_edge", PROFILE + "/Default/Network/Cookies")
    yield from _places()
    yield from _shortcuts()


def _prefs(value: Any) -> Case:
    return as_json(PROFILE + "/Default/Preferences", value)


def _privacy() -> Iterator[Case]:
    states = {"on": _prefs({"enable_do_not_track": True}), "off": _prefs({})}
    yield from each("enable_do_not_track_from_edge", {}, 1.0, states)
    yield from table(
        "profile_name_from_edge",
        {},
        ("named", _prefs({"profile": {"name": "Thomas"}}), "Thomas"),
        ("other", _prefs({}), "Thomas"),
        ("mac", {"platform": "Darwin"}, None),
    )

    def clearing(kinds: Any) -> Case:
        return _prefs({"browser": {"clear_data_on_exit": kinds}})

    states = {
        "all": clearing({**CLEARED, "hosted_apps_data": False}),
        "apps-too": clearing({**CLEARED, "hosted_apps_data": True}),
        "some": clearing({"cache": True}),
    }
    yield from each("data_delete_automacally_from_edge", {}, 1.0, states)


def _appearance() -> Iterator[Case]:
    rule = {"type": "range", "min": 24, "max": 99999}
    states = {
        "large": _prefs({"webkit": {"webprefs": {"default_font_size": 24}}}),
        "default": _prefs({}),
    }
    yield from each("edge_font_size", {}, rule, states, metric="check_edge_font_size")

    def known(number: str) -> Case:
        return _prefs({"default_search_provider": {"synced_guid": GUID.format(number)}})

    yield from table(
        "default_search_engine_from_edge",
        {},
        ("duck", known("92"), "DuckDuckGo"),
        ("google", known("03"), "DuckDuckGo"),
        ("unknown", known("77"), "DuckDuckGo"),
        ("list", _prefs([]), "Unknown"),
    )
    on = _prefs({"edge": {"super_duper_secure_mode": {"enabled": True}}})
    states = {"on": on, "off": _prefs({})}
    yield from each("enable_enhanced_safety_browsing_from_edge", {}, 1.0, states)


def _favorites() -> Iterator[Case]:
    def bar(*children: Any) -> Case:
        roots = {"roots": {"bookmark_bar": {"children": list(children)}}}
        return as_json(PROFILE + "/Default/Bookmarks", roots)

    states = {"there": bar({"type": "url", "url": "https://a.example/"}), "empty": bar()}
    rule = {"type": "bookmark_bar_websites_urls", "urls": ["https://a.example/"]}
    yield from each("favorites", {}, rule, states, metric="is_expected_bookmarks")


def _places() -> Iterator[Case]:
    desktop = r"C:\Users\Docker\Desktop"
    yield from table(
        "edge_default_download_folder",
        {},
        ("set", _prefs({"download": {"default_directory": desktop}}), desktop),
        ("unset", _prefs({}), desktop),
        ("absent", {}, "error"),
    )

    def secure(value: Any) -> Case:
        return as_json(PROFILE + "/Default/Secure Preferences", value)

    yield from table(
        "edge_home_page",
        {},
        ("set", secure({"homepage": "https://www.wikipedia.org/"}), "www.wikipedia.org"),
        ("other", secure({"homepage": "http://a.b/c"}), "www.wikipedia.org"),
        ("unset", secure({}), "www.wikipedia.org"),
        ("number", secure({"homepage": 7}), "error"),
    )
    states = {
        "installed": {"appx": [{"Name": "www.PWABuilder.com-1", "PackageFullName": "x"}]},
        "not": {"appx": [{"Name": "a", "PackageFullName": "b"}]},
    }
    yield from each("validate_pwa_installed", {}, "app_installed", states)


def _shortcuts() -> Iterator[Case]:
    path, metric = HOME + r"\Desktop\a.url", "is_url_shortcut_on_desktop"
    states = {
        "there": of(path, "[InternetShortcut]\nURL=https://a.example\n"),
        "other": of(path, "URL=https://b.example"),
        "locked": of(path, "URL=https://a.example", locked=True),
        "mac": {"platform": "Darwin"},
    }
    rule = {"type": "url", "url_content": "https://a.example"}
    yield from each("url_shortcuts_on_desktop", {}, rule, states, metric=metric)
