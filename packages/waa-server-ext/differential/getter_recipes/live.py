"""What a browser shows now: its address bar in the accessibility tree, its tabs and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import HOME, case, compared, of, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

BAR = (
    '<desktop xmlns:val="uri:deskat:value.at-spi.gnome.org"><chrome_widgetwin_1 name="w">'
    '<view name="Address and search bar" val:value="{}"/></chrome_widgetwin_1></desktop>'
)


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _parts_of_addresses()
    yield from _tabs()
    yield from _pages()


def _tree(xml: str) -> Case:
    return {"accessibility": {"uia": xml}}


def _at(url: str) -> Case:
    return _tree(BAR.format(url))


def _parts_of_addresses() -> Iterator[Case]:
    config: Any = {
        "goto_prefix": "https://www.",
        "partIndex": -1,
        "needDeleteId": False,
        "returnType": "string",
    }
    yield from table(
        "url_dashPart",
        config,
        ("last-part", _at("a.example/x/y.html#s"), "y.html#s"),
        ("other", _at("a.example/x"), "y.html"),
        ("ampersand", _at("a.example/x?a=1&amp;b=2"), "x?a=1&b=2"),
        ("empty", _at(""), None),
    )
    config = {"partIndex": -1, "needDeleteId": True, "returnType": "json", "key": "k"}
    yield from table(
        "url_dashPart",
        config,
        ("as-json", _at("a.example/x?id=1"), {"k": "x"}),
        ("no-bar", _tree("<desktop/>"), None),
        ("broken-tree", _tree("<desktop>"), None),
        (
            "declared-encoding",
            _tree('<?xml version="1.0" encoding="utf-8"?>' + BAR.format("a/b")),
            None,
        ),
    )
    config = {"goto_prefix": "https://www.", "parse_keys": ["a", "b"], "replace": {"b": "time"}}
    yield from table(
        "active_tab_url_parse",
        config,
        ("both", _at("x.example/?a=1&amp;b=2"), {"expected": {"a": "1", "time": "2"}}),
        ("one", _at("x.example/?a=1"), {"expected": {"a": "1", "time": ""}}),
        ("other", _at("x.example"), {"expected": {"a": "1"}}),
        metric="check_direct_json_object",
    )


def _tabs() -> Iterator[Case]:
    page = {"type": "url", "url": "https://a.example/"}
    yield from table(
        "active_tab_info",
        {"goto_prefix": "https://"},
        ("no-bar", _tree("<desktop/>"), page),
        ("no-browser", _at("a.example/"), page),
        metric="is_expected_active_tab",
    )
    yield from table(
        "open_tabs_info",
        {},
        ("no-browser", {}, {"type": "url", "urls": ["https://a.example/"]}),
        ("no-browser-none-wanted", {}, {"type": "url", "urls": []}),
        metric="is_expected_tabs",
    )


def _pages() -> Iterator[Case]:
    page = {"url": "https://a.example/"}
    yield case("page_info", "no-browser", page, {"items": []}, metric="is_added_to_steam_cart")
    path = HOME + r"\Desktop\a.pdf"
    yield compared(
        case("pdf_from_url", "no-browser", {}, None, of(path, "x")),
        "compare_pdfs",
        {"type": "vm_file", "path": path, "dest": "a.pdf"},
        {"type": "pdf_from_url", "path": "https://a.example/", "dest": "gold.pdf"},
    )
