"""Tabs, bookmarks, cookies, history, shortcuts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recipes.common import Drawn, sometimes, value

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "check_enabled_experiments",
    "check_history_deleted",
    "font_size",
    "is_added_to_steam_cart",
    "is_cookie_deleted",
    "is_expected_active_tab",
    "is_expected_bookmarks",
    "is_expected_tabs",
    "is_shortcut_on_desktop",
    "is_url_shortcut_on_desktop",
]

_URLS = [
    "https://www.lonelyplanet.com",
    "https://www.lonelyplanet.com/",
    "http://lonelyplanet.com",
    "https://WWW.Airbnb.com/rooms",
    "https://www.airbnb.com/rooms",
    "https://www.airbnb.com/rooms/",
    "https://www.airbnb.com/rooms?x=1#top",
    "www.tripadvisor.com",
    "tripadvisor.com",
    "",
    "chrome://newtab",
]


def _url_like(rng: Random) -> Any:
    return rng.choice(_URLS) if sometimes(rng, 0.95) else None


def is_expected_tabs(rng: Random) -> Drawn:
    urls = [rng.choice(_URLS) for _ in range(rng.randint(0, 3))]
    opened = urls[:] if sometimes(rng, 0.6) else [_url_like(rng) for _ in urls]
    rng.shuffle(opened)
    if sometimes(rng, 0.2):
        opened.append(rng.choice(_URLS))
    tabs: Any = [{"title": "t", "url": url} for url in opened]
    if sometimes(rng, 0.05):
        tabs = rng.choice([None, [{}], [1]])
    kind = "url" if sometimes(rng, 0.93) else "title"
    return [value(tabs), value({"type": kind, "urls": urls})], {}


def is_expected_active_tab(rng: Random) -> Drawn:
    url = _url_like(rng)
    expected = url if sometimes(rng, 0.4) else _url_like(rng)
    choices: list[Any] = [url, {"title": "t", "url": url}, {"title": "t"}, None, {}]
    tab = rng.choices(choices, [5, 5, 1, 1, 1])[0]
    kind = "url" if sometimes(rng, 0.93) else "title"
    return [value(tab), value({"type": kind, "url": expected})], {}


def is_expected_bookmarks(rng: Random) -> Drawn:
    names = ["Favorites", "Liked Authors", "Work"]
    children: list[Any] = [{"type": "url", "name": "u", "url": rng.choice(_URLS)} for _ in range(2)]
    liked = [{"type": "url", "name": "l", "url": url} for url in rng.sample(_URLS, 2)]
    children += [
        {"type": "folder", "name": name, "children": liked if name == names[1] else []}
        for name in rng.sample(names, rng.randint(0, 3))
    ]
    rng.shuffle(children)
    bookmarks: Any = {"bookmark_bar": {"children": children}}
    if sometimes(rng, 0.08):
        bookmarks = rng.choice(
            [None, {}, [], {"bookmark_bar": {}}, {"bookmark_bar": {"children": [{}]}}]
        )
    held = [each["url"] for each in children if each.get("type") == "url"]
    rules = rng.choice(
        [
            {"type": "bookmark_bar_folders_names", "names": rng.sample(names, rng.randint(0, 2))},
            {"type": "bookmark_bar_websites_urls", "urls": rng.choice([held, held[:1], _URLS[:1]])},
            {
                "type": "liked_authors_websites_urls",
                "urls": [[liked[0]["url"], "other"], liked[1]["url"]]
                if sometimes(rng, 0.6)
                else [_URLS[0]],
            },
            {"type": "something else"},
        ]
    )
    return [value(bookmarks), value(rules)], {}


def is_cookie_deleted(rng: Random) -> Drawn:
    domains = [".amazon.com", "amazon.com", "www.amazon.com", ".google.com", ""]
    cookies: Any = [[1, rng.choice(domains), "name"] for _ in range(rng.randint(0, 3))]
    if sometimes(rng, 0.1):
        cookies = rng.choice([None, [], [[1]], [["a", None]]])
    rules = {
        "type": "domains" if sometimes(rng, 0.9) else "names",
        "domains": rng.sample(domains, rng.randint(0, 2)),
    }
    return [value(cookies), value(rules)], {}


def check_history_deleted(rng: Random) -> Drawn:
    urls = ["https://www.youtube.com/watch", "https://example.com", "https://YouTube.com", ""]
    history: Any = [[rng.choice(urls), "title", 5] for _ in range(rng.randint(0, 3))]
    if sometimes(rng, 0.08):
        history = rng.choice([None, [[]], [[None]]])
    rules = {
        "type": "keywords" if sometimes(rng, 0.9) else "domains",
        "keywords": rng.sample(["youtube", "example", ""], rng.randint(0, 2)),
    }
    return [value(history), value(rules)], {}


def check_enabled_experiments(rng: Random) -> Drawn:
    names = ["show-performance-metrics-hud", "other-flag", ""]
    enabled: Any = [
        rng.choice(names) + rng.choice(["@1", "", "@2@3"]) for _ in range(rng.randint(0, 2))
    ]
    if sometimes(rng, 0.08):
        enabled = rng.choice([None, [None], "abc"])
    rules = {
        "type": "names" if sometimes(rng, 0.9) else "name",
        "names": rng.choice([["show-performance-metrics-hud"], [], ["other-flag", ""]]),
    }
    return [value(enabled), value(rules)], {}


def font_size(rng: Random) -> Drawn:
    size: Any = {"default_font_size": rng.choice([16, 24, 20.5, 99999, 0, "20", None])}
    if sometimes(rng, 0.06):
        size = rng.choice([None, {}, []])
    rules = rng.choice(
        [
            {"type": "range", "min": rng.choice([16, 24]), "max": 99999},
            {"type": "value", "value": rng.choice([16, 24, 16.0, "20"])},
            {"type": "else"},
            {"type": "range", "min": 3},
        ]
    )
    return [value(size), value(rules)], {}


def is_added_to_steam_cart(rng: Random) -> Drawn:
    items = ["The Dota 2 Official Soundtrack", "Half-Life"]
    page: Any = {"content": " ".join(rng.sample(items, rng.randint(0, 2))), "url": "u"}
    if sometimes(rng, 0.08):
        page = rng.choice([None, {}, {"content": None}, {"content": ["Half-Life"]}])
    rules = {"items": rng.sample(items, rng.randint(0, 2))} if sometimes(rng, 0.95) else {}
    return [value(page), value(rules)], {}


_SHORTCUTS = [
    "[InternetShortcut]\nURL=https://www.mathsisfun.com/games/2048.html\n",
    "[InternetShortcut]\r\nURL=https://www.mathsisfun.com/games/2048.html\r\n",
    "[Desktop Entry]\nName=Play Puzzle Game 2048\nURL=x",
    '{"data": {"description": "Play https://www.mathsisfun.com/games/2048.html"}}',
    '{"data": {"url": "http://mathsisfun.com/games/2048.html"}}',
    '{"nodata": "URL=https://www.mathsisfun.com/games/2048.html"}',
    '"URL=https://www.mathsisfun.com/games/2048.html"',
    "",
]
_GAME = "https://www.mathsisfun.com/games/2048.html"


def _shortcuts(rng: Random) -> Any:
    if sometimes(rng, 0.05):
        return rng.choice([None, [], {"a": None}])
    return {
        f"s{index}.url": text
        for index, text in enumerate(rng.sample(_SHORTCUTS, rng.randint(0, 3)))
    }


def is_shortcut_on_desktop(rng: Random) -> Drawn:
    rules = rng.choice(
        [
            {"type": "name", "name": "Play Puzzle Game 2048"},
            {"type": "description", "description": _GAME},
            {"type": "url", "url": _GAME},
            {"type": "url", "url": rng.choice(["mathsisfun.com/games/2048.html", ""])},
            {"type": "url", "description": _GAME},
            {"type": "id", "id": "x"},
            {"type": "other"},
        ]
    )
    return [value(_shortcuts(rng)), value(rules)], {}


def is_url_shortcut_on_desktop(rng: Random) -> Drawn:
    rules = rng.choice([{"type": "url", "url_content": _GAME}, {"type": "url"}, {"type": "name"}])
    return [value(_shortcuts(rng)), value(rules)], {}
