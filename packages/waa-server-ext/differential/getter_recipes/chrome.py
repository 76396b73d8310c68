"""Chrome: preferences, experiments, bookmarks, stores and shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import HOME, as_json, case, each, of, shortcut, table
from getter_recipes.stores import cookies, histories

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

PROFILE = HOME + r"\AppData\Local\Google/Chrome/User Data"
PREFERENCES = PROFILE + "/Default/Preferences"
GUID = "485bf7d3-0215-45af-87dc-5388680000{}"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _privacy()
    yield from _font_size()
    yield from _search_engine()
    yield from _experiments()
    yield from _bookmarks()
    yield from histories(
        "history", HOME + r"\AppData\Local\Google\Chrome\User Data\Default\History"
    )
    yield from cookies("cookie_data", PROFILE + "/Default/Network/Cookies")
    yield from _shortcuts()


def _prefs(value: Any) -> Case:
    return as_json(PREFERENCES, value)


def _privacy() -> Iterator[Case]:
    yield from table(
        "enable_do_not_track",
        {},
        ("on", _prefs({"enable_do_not_track": True}), "true"),
        ("off", _prefs({}), "true"),
        ("off-is-false", _prefs({}), "false"),
        ("damaged", of(PREFERENCES, "{"), "false"),
        ("mac", {"platform": "Darwin"}, "false"),
    )
    yield from table(
        "profile_name",
        {},
        ("named", _prefs({"profile": {"name": "Thomas"}}), "Thomas"),
        ("other", _prefs({"profile": {"name": "Person 1"}}), "Thomas"),
        ("absent-is-none", {}, None),
        ("half-a-character", _prefs({"profile": {"name": "\ud800"}}), "Thomas"),
        ("half-a-byte", _prefs({"profile": {"name": "\udc80"}}), "Thomas"),
    )
    yield from table(
        "enable_enhanced_safety_browsing",
        {},
        ("on", _prefs({"safebrowsing": {"enhanced": True}}), "true"),
        ("off", _prefs({"safebrowsing": {"enhanced": False}}), "true"),
        ("list", _prefs([]), "Google"),
    )
    cookies_go = {"profile": {"default_content_setting_values": {"cookies": 4}}}
    yield from table(
        "data_delete_automacally",
        {},
        ("set", _prefs(cookies_go), "true"),
        ("unset", _prefs({"profile": {}}), "true"),
        ("no-profile", _prefs({}), "Google"),
    )


def _font_size() -> Iterator[Case]:
    rule = {"type": "range", "min": 16, "max": 99999}
    states = {
        "large": _prefs({"webkit": {"webprefs": {"default_font_size": 20}}}),
        "default": _prefs({}),
        "no-size": _prefs({"webkit": {"webprefs": {}}}),
    }
    yield from each("chrome_font_size", {}, rule, states, metric="check_font_size")


def _search_engine() -> Iterator[Case]:
    def known(number: str) -> Case:
        return _prefs({"default_search_provider": {"guid": GUID.format(number)}})

    def own(name: str) -> Case:
        data = {"template_url_data": {"short_name": name}}
        return _prefs({"default_search_provider_data": data})

    yield from table(
        "default_search_engine",
        {},
        ("bing", known("03"), "Bing"),
        ("duck", known("92"), "Bing"),
        ("own", own("Kagi"), "Kagi"),
        ("none", _prefs({}), "Google"),
        ("renamed", own("Microsoft Bing"), "Bing"),
    )


def _experiments() -> Iterator[Case]:
    def enabled(*flags: str) -> Case:
        browser = {"enabled_labs_experiments": list(flags)} if flags else None
        return as_json(PROFILE + "/Local State", {"browser": browser} if browser else {})

    states = {"one": enabled("a-flag@1"), "none": enabled(), "two": enabled("a-flag@1", "b@2")}
    rule = {"type": "names", "names": ["a-flag"]}
    yield from each("enabled_experiments", {}, rule, states, metric="check_enabled_experiments")


def _bookmarks() -> Iterator[Case]:
    def bar(*children: Any) -> Case:
        roots = {"roots": {"bookmark_bar": {"children": list(children)}}}
        return as_json(PROFILE + "/Default/Bookmarks", roots)

    states = {
        "there": bar({"type": "url", "url": "https://a.example/", "name": "a"}),
        "empty": bar(),
        "in-a-folder": bar({"type": "folder", "name": "f", "children": []}),
    }
    rule = {"type": "bookmark_bar_websites_urls", "urls": ["https://a.example/"]}
    yield from each("bookmarks", {}, rule, states, metric="is_expected_bookmarks")
    yield case("bookmarks", "no-file", {}, rule, metric="is_expected_bookmarks")


def _shortcuts() -> Iterator[Case]:
    desktop = HOME + r"\Desktop\a.lnk"
    states = {
        "described": {"files": {desktop: shortcut("see https://a.example")}},
        "otherwise": {"files": {desktop: shortcut("nothing")}},
        "broken": of(desktop, "no shortcut"),
        "none": {"files": {}},
    }
    rule = {"type": "description", "description": "https://a.example"}
    yield from each("shortcuts_on_desktop", {}, rule, states, metric="is_shortcut_on_desktop")
