"""Cases of every getter the tasks use, written by hand: a VM state, a configuration, what is expected."""

from __future__ import annotations

import base64
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cases"]

Case = dict[str, Any]

HOME = r"C:\Users\Docker"
CHROME = HOME + r"\AppData\Local\Google/Chrome/User Data"
EDGE = HOME + r"\AppData\Local\Microsoft/Edge/User Data"
CHROME_HISTORY = HOME + r"\AppData\Local\Google\Chrome\User Data\Default\History"
EDGE_HISTORY = HOME + r"\AppData\Local\Microsoft\Edge\User Data\Default\History"
VLCRC = HOME + r"\AppData\Roaming\vlc\vlcrc"
RED_CIRCLE = {"ellipse": [20, 20, 120, 120], "outline": "red", "width": 4}


def case(  # noqa: PLR0913  # what a case consists of
    getter: str,
    name: str,
    config: Any,
    expected: Any,
    state: Any = None,
    *,
    metric: str = "exact_match",
) -> Case:
    """Return a case whose metric looks at what the getter gives."""
    rules = expected if metric != "exact_match" else {"expected": expected}
    return {
        "id": f"{getter}/{name}",
        "getter": getter,
        "task": {
            "id": f"{getter}-{name}",
            "instruction": name,
            "config": [],
            "evaluator": {
                "func": metric,
                "result": {"type": getter, **config},
                "expected": {"type": "rule", "rules": rules},
            },
        },
        "vm_state": state or {},
        "action_history": ["DONE"],
    }


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for make in (_files, _expected, _chrome, _edge, _live, _explorer, _settings, _clock, _paint):
        yield from make()


def text(content: str) -> Case:
    return {"text": content}


def _of(path: str, content: str, **more: Any) -> Case:
    return {"files": {path: {"text": content, **more}}}


def _json(path: str, value: Any) -> Case:
    return _of(path, json.dumps(value))


def _png(draw: Any) -> str:
    from io import BytesIO  # noqa: PLC0415  # only here

    from PIL import Image, ImageDraw  # noqa: PLC0415  # of the extra [media]

    image = Image.new("RGB", (160, 140), "white")
    if draw:
        ImageDraw.Draw(image).ellipse(draw["ellipse"], outline=draw["outline"], width=draw["width"])
    stream = BytesIO()
    image.save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def _database(*statements: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        connection = sqlite3.connect(path)
        for each in statements:
            connection.execute(each)
        connection.commit()
        connection.close()
        return base64.b64encode(path.read_bytes()).decode()


def _lnk(description: str) -> str:
    """A shortcut with nothing but a name string, in UTF-16."""
    head = bytes.fromhex("4c0000000114020000000000c000000000000046")
    flags = (0x04 | 0x80).to_bytes(4, "little")
    rest = bytes(76 - len(head) - 4)
    name = description.encode("utf-16-le")
    data = head + flags + rest + (len(description)).to_bytes(2, "little") + name + bytes(4)
    return base64.b64encode(data).decode()


def _seven_zip(password: str | None) -> str:
    from io import BytesIO  # noqa: PLC0415  # only here

    import py7zr  # noqa: PLC0415  # of the extra [explorer]

    stream = BytesIO()
    with py7zr.SevenZipFile(stream, "w", password=password) as archive:
        archive.writestr("hello", "OldProjects/example.txt")
    return base64.b64encode(stream.getvalue()).decode()


def _files() -> Iterator[Case]:
    path, dest = HOME + r"\Downloads\a.txt", {"dest": "a.txt"}
    settings = {"path": path, **dest}
    rule = {"expected": {"a": 1}}
    yield case(
        "vm_file", "json-holds", settings, rule, _of(path, '{"a": 1}'), metric="check_json_settings"
    )
    yield case(
        "vm_file",
        "json-differs",
        settings,
        rule,
        _of(path, '{"a": 2}'),
        metric="check_json_settings",
    )
    yield case("vm_file", "absent", settings, rule, metric="check_json_settings")
    yield case(
        "vm_file",
        "locked",
        settings,
        rule,
        _of(path, "{}", locked=True),
        metric="check_json_settings",
    )
    yield case(
        "vm_file",
        "case-and-slashes",
        {"path": "c:/users/docker/downloads/A.TXT", **dest},
        rule,
        _of(path, '{"a": 1}'),
        metric="check_json_settings",
    )
    yield case("vm_file", "not-json", settings, rule, _of(path, "{"), metric="check_json_settings")
    folder = {"folder_name": HOME + r"\Documents"}
    for name, content, expected in (
        ("there", "x", 1.0),
        ("empty", "", 0.0),
        ("empty-is-not-there", "", 1.0),
        ("other-name", None, 1.0),
    ):
        state = {} if content is None else _of(HOME + r"\Documents\d.txt", content)
        yield case(
            "vm_file_exists_in_vm_folder", name, {**folder, "file_name": "d.txt"}, expected, state
        )
    yield case("vm_file_exists_in_vm_folder", "no-name", {**folder, "file_name": ""}, 0.0)
    echo = {"commands": [{"match": "echo hi", "output": "hi\n"}]}
    asked = {"command": ["cmd", "/c", "echo hi"]}
    yield case("vm_command_line", "exact", asked, "hi\n", echo)
    yield case("vm_command_line", "stripped-differs", asked, "hi", echo)
    yield case(
        "vm_command_line", "as-text", {"command": "cmd /c echo hi", "shell": "true"}, "hi\n", echo
    )
    yield case(
        "vm_command_line",
        "refused",
        asked,
        "hi\n",
        {
            "endpoints": {
                "POST /execute": {"status": 500, "json": {"status": "error", "message": "x"}}
            }
        },
    )
    yield case(
        "vm_command_line",
        "refused-is-none",
        asked,
        {"type": "contain", "expected": "hi"},
        {
            "endpoints": {
                "POST /execute": {"status": 500, "json": {"status": "error", "message": "x"}}
            }
        },
        metric="is_extension_installed",
    )


def _expected() -> Iterator[Case]:
    """The getters of `expected`: rule, rule_relativeTime, cloud_file, vm_file."""
    path = HOME + r"\Downloads\a.txt"
    for name, ours, gold in (
        ("same", "x\r\n", text("x\n")),
        ("differs", "x", text("y")),
        ("gold-absent", "x", {"status": 404}),
        ("gold-fails", "x", {"status": 500}),
    ):
        made = case("cloud_file", name, {}, None, _of(path, ours))
        made["vm_state"]["cloud"] = {"gold.txt": gold}
        made["task"]["evaluator"] = {
            "func": "compare_text_file",
            "result": {"type": "vm_file", "path": path, "dest": "a.txt"},
            "expected": {
                "type": "cloud_file",
                "path": "${CLOUD_BASE}/gold.txt",
                "dest": "gold.txt",
            },
        }
        yield made
    for name, words in (
        ("next Monday", "next Monday"),
        ("tomorrow", "tomorrow"),
        ("unknown", "next year"),
        ("weekend", "next Friday"),
    ):
        made = case("rule_relativeTime", name.replace(" ", "-"), {}, None)
        made["task"]["evaluator"] = {
            "func": "check_direct_json_object",
            "result": {"type": "rule", "rules": {"time": "1999-01-01", "to": "BOM"}},
            "expected": {"type": "rule_relativeTime", "rules": {
                "relativeTime": {"from": words}, "expected": {"to": "BOM", "time": "{Year}-{Month0D}-{Day0D}"}}},
        }  # fmt: skip
        yield made
    made = case("rule_relativeTime", "no-date-in-the-pattern", {}, None)
    made["task"]["evaluator"] = {
        "func": "check_direct_json_object",
        "result": {"type": "rule", "rules": {"time": "soon"}},
        "expected": {"type": "rule_relativeTime",
                     "rules": {"relativeTime": {"from": "next Monday"}, "expected": {"time": "soon"}}},
    }  # fmt: skip
    yield made
    yield case("rule", "same", {"rules": [1, {"a": None}]}, [1, {"a": None}])
    yield case("rule", "differs", {"rules": "x"}, "X")
    yield case("rule", "true-is-one", {"rules": True}, 1.0)


def _chrome() -> Iterator[Case]:
    prefs = CHROME + "/Default/Preferences"
    state = CHROME + "/Local State"
    for name, value, expected in (
        ("on", {"enable_do_not_track": True}, "true"),
        ("off", {}, "true"),
        ("off-is-false", {}, "false"),
    ):
        yield case("enable_do_not_track", name, {}, expected, _json(prefs, value))
    yield case("enable_do_not_track", "damaged", {}, "false", _of(prefs, "{"))
    yield case("enable_do_not_track", "mac", {}, "false", {"platform": "Darwin"})
    yield case("profile_name", "named", {}, "Thomas", _json(prefs, {"profile": {"name": "Thomas"}}))
    yield case(
        "profile_name", "other", {}, "Thomas", _json(prefs, {"profile": {"name": "Person 1"}})
    )
    yield case("profile_name", "absent-is-none", {}, None)
    for name, value, expected in (
        ("on", {"safebrowsing": {"enhanced": True}}, "true"),
        ("off", {"safebrowsing": {"enhanced": False}}, "true"),
        ("list", [], "Google"),
    ):
        yield case("enable_enhanced_safety_browsing", name, {}, expected, _json(prefs, value))
    for name, value, expected in (
        ("set", {"profile": {"default_content_setting_values": {"cookies": 4}}}, "true"),
        ("unset", {"profile": {}}, "true"),
        ("no-profile", {}, "Google"),
    ):
        yield case("data_delete_automacally", name, {}, expected, _json(prefs, value))
    sizes = {"type": "range", "min": 16, "max": 99999}
    for name, value in (
        ("large", {"webkit": {"webprefs": {"default_font_size": 20}}}),
        ("default", {}),
        ("no-size", {"webkit": {"webprefs": {}}}),
    ):
        yield case(
            "chrome_font_size", name, {}, sizes, _json(prefs, value), metric="check_font_size"
        )
    guid = "485bf7d3-0215-45af-87dc-5388680000{}"
    for name, value, expected in (
        ("bing", {"default_search_provider": {"guid": guid.format("03")}}, "Bing"),
        ("duck", {"default_search_provider": {"guid": guid.format("92")}}, "Bing"),
        (
            "own",
            {"default_search_provider_data": {"template_url_data": {"short_name": "Kagi"}}},
            "Kagi",
        ),
        ("none", {}, "Google"),
        (
            "renamed",
            {
                "default_search_provider_data": {
                    "template_url_data": {"short_name": "Microsoft Bing"}
                }
            },
            "Bing",
        ),
    ):
        yield case("default_search_engine", name, {}, expected, _json(prefs, value))
    names = {"type": "names", "names": ["a-flag"]}
    for name, value in (
        ("one", {"browser": {"enabled_labs_experiments": ["a-flag@1"]}}),
        ("none", {}),
        ("two", {"browser": {"enabled_labs_experiments": ["a-flag@1", "b@2"]}}),
    ):
        yield case(
            "enabled_experiments",
            name,
            {},
            names,
            _json(state, value),
            metric="check_enabled_experiments",
        )
    bar = {"type": "bookmark_bar_websites_urls", "urls": ["https://a.example/"]}
    for name, children in (
        ("there", [{"type": "url", "url": "https://a.example/", "name": "a"}]),
        ("empty", []),
        ("in-a-folder", [{"type": "folder", "name": "f", "children": []}]),
    ):
        roots = {"roots": {"bookmark_bar": {"children": children}}}
        yield case(
            "bookmarks",
            name,
            {},
            bar,
            _json(CHROME + "/Default/Bookmarks", roots),
            metric="is_expected_bookmarks",
        )
    yield case("bookmarks", "no-file", {}, bar, metric="is_expected_bookmarks")
    yield from _stores(
        "history", "cookie_data", CHROME_HISTORY, CHROME + "/Default/Network/Cookies"
    )
    named = {"type": "description", "description": "https://a.example"}
    desktop = HOME + r"\Desktop\a.lnk"
    for name, value in (
        ("described", {desktop: {"b64": _lnk("see https://a.example")}}),
        ("otherwise", {desktop: {"b64": _lnk("nothing")}}),
        ("broken", {desktop: {"text": "no shortcut"}}),
        ("none", {}),
    ):
        yield case(
            "shortcuts_on_desktop",
            name,
            {},
            named,
            {"files": value},
            metric="is_shortcut_on_desktop",
        )


def _stores(history: str, cookies: str, history_path: str, cookie_path: str) -> Iterator[Case]:
    urls = "CREATE TABLE urls (id INTEGER, url TEXT, title TEXT, last_visit_time INTEGER)"
    visit = "INSERT INTO urls VALUES (1, 'https://{}/watch', 't', 1)"
    keyword = {"type": "keywords", "keywords": ["youtube"]}
    for name, content in (
        ("deleted", _database(urls, visit.format("a.example"))),
        ("left", _database(urls, visit.format("www.youtube.com"))),
        ("other-schema", _database("CREATE TABLE x (y)")),
    ):
        yield case(
            history,
            name,
            {"dest": "h.sqlite"},
            keyword,
            {"files": {history_path: {"b64": content}}},
            metric="check_history_deleted",
        )
    yield case(history, "absent", {"dest": "h.sqlite"}, keyword, metric="check_history_deleted")
    table = "CREATE TABLE cookies (creation_utc INTEGER, host_key TEXT, name TEXT)"
    row = "INSERT INTO cookies VALUES (1, '{}', 'n')"
    domain = {"type": "domains", "domains": [".amazon.com"]}
    for name, content in (
        ("deleted", _database(table, row.format(".a.example"))),
        ("left", _database(table, row.format(".amazon.com"))),
        ("left-on-www", _database(table, row.format("www.amazon.com"))),
        ("empty", _database(table)),
    ):
        yield case(
            cookies,
            name,
            {"dest": "c.sqlite"},
            domain,
            {"files": {cookie_path: {"b64": content}}},
            metric="is_cookie_deleted",
        )
    yield case(
        cookies,
        "locked",
        {"dest": "c.sqlite"},
        domain,
        {"files": {cookie_path: {"b64": _database(table), "locked": True}}},
        metric="is_cookie_deleted",
    )


def _edge() -> Iterator[Case]:
    prefs = EDGE + "/Default/Preferences"
    yield case(
        "enable_do_not_track_from_edge", "on", {}, 1.0, _json(prefs, {"enable_do_not_track": True})
    )
    yield case("enable_do_not_track_from_edge", "off", {}, 1.0, _json(prefs, {}))
    yield case(
        "profile_name_from_edge",
        "named",
        {},
        "Thomas",
        _json(prefs, {"profile": {"name": "Thomas"}}),
    )
    yield case("profile_name_from_edge", "other", {}, "Thomas", _json(prefs, {}))
    yield case("profile_name_from_edge", "mac", {}, None, {"platform": "Darwin"})
    kinds = dict.fromkeys(
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
    for name, value in (
        ("all", {**kinds, "hosted_apps_data": False}),
        ("apps-too", {**kinds, "hosted_apps_data": True}),
        ("some", {"cache": True}),
    ):
        yield case(
            "data_delete_automacally_from_edge",
            name,
            {},
            1.0,
            _json(prefs, {"browser": {"clear_data_on_exit": value}}),
        )
    sizes = {"type": "range", "min": 24, "max": 99999}
    for name, value in (
        ("large", {"webkit": {"webprefs": {"default_font_size": 24}}}),
        ("default", {}),
    ):
        yield case(
            "edge_font_size", name, {}, sizes, _json(prefs, value), metric="check_edge_font_size"
        )
    guid = "485bf7d3-0215-45af-87dc-5388680000{}"
    for name, number in (("duck", "92"), ("google", "03"), ("unknown", "77")):
        value = {"default_search_provider": {"synced_guid": guid.format(number)}}
        yield case("default_search_engine_from_edge", name, {}, "DuckDuckGo", _json(prefs, value))
    yield case("default_search_engine_from_edge", "list", {}, "Unknown", _json(prefs, []))
    for name, value in (
        ("on", {"edge": {"super_duper_secure_mode": {"enabled": True}}}),
        ("off", {}),
    ):
        yield case("enable_enhanced_safety_browsing_from_edge", name, {}, 1.0, _json(prefs, value))
    bar = {"type": "bookmark_bar_websites_urls", "urls": ["https://a.example/"]}
    for name, children in (
        ("there", [{"type": "url", "url": "https://a.example/"}]),
        ("empty", []),
    ):
        roots = {"roots": {"bookmark_bar": {"children": children}}}
        yield case(
            "favorites",
            name,
            {},
            bar,
            _json(EDGE + "/Default/Bookmarks", roots),
            metric="is_expected_bookmarks",
        )
    yield from _stores(
        "history_for_edge", "cookie_data_for_edge", EDGE_HISTORY, EDGE + "/Default/Network/Cookies"
    )
    downloads = {"download": {"default_directory": r"C:\Users\Docker\Desktop"}}
    yield case(
        "edge_default_download_folder",
        "set",
        {},
        r"C:\Users\Docker\Desktop",
        _json(prefs, downloads),
    )
    yield case(
        "edge_default_download_folder", "unset", {}, r"C:\Users\Docker\Desktop", _json(prefs, {})
    )
    yield case("edge_default_download_folder", "absent", {}, "error")
    secure = EDGE + "/Default/Secure Preferences"
    for name, value in (
        ("set", {"homepage": "https://www.wikipedia.org/"}),
        ("other", {"homepage": "http://a.b/c"}),
        ("unset", {}),
    ):
        yield case("edge_home_page", name, {}, "www.wikipedia.org", _json(secure, value))
    yield case("edge_home_page", "number", {}, "error", _json(secure, {"homepage": 7}))
    app = [{"Name": "www.PWABuilder.com-1", "PackageFullName": "x"}]
    yield case("validate_pwa_installed", "installed", {}, "app_installed", {"appx": app})
    yield case(
        "validate_pwa_installed",
        "not",
        {},
        "app_installed",
        {"appx": [{"Name": "a", "PackageFullName": "b"}]},
    )
    wanted = {"type": "url", "url_content": "https://a.example"}
    for name, value in (
        ("there", "[InternetShortcut]\nURL=https://a.example\n"),
        ("other", "URL=https://b.example"),
    ):
        yield case(
            "url_shortcuts_on_desktop",
            name,
            {},
            wanted,
            _of(HOME + r"\Desktop\a.url", value),
            metric="is_url_shortcut_on_desktop",
        )
    yield case(
        "url_shortcuts_on_desktop",
        "locked",
        {},
        wanted,
        _of(HOME + r"\Desktop\a.url", "URL=https://a.example", locked=True),
        metric="is_url_shortcut_on_desktop",
    )
    yield case(
        "url_shortcuts_on_desktop",
        "mac",
        {},
        wanted,
        {"platform": "Darwin"},
        metric="is_url_shortcut_on_desktop",
    )


def _live() -> Iterator[Case]:
    bar = ('<desktop xmlns:val="uri:deskat:value.at-spi.gnome.org"><chrome_widgetwin_1 name="w">'
           '<view name="Address and search bar" val:value="{}"/></chrome_widgetwin_1></desktop>')  # fmt: skip
    for name, url, expected in (
        ("last-part", "a.example/x/y.html#s", "y.html#s"),
        ("other", "a.example/x", "y.html"),
        ("ampersand", "a.example/x?a=1&amp;b=2", "x?a=1&b=2"),
        ("empty", "", None),
    ):
        config = {
            "goto_prefix": "https://www.",
            "partIndex": -1,
            "needDeleteId": False,
            "returnType": "string",
        }
        yield case(
            "url_dashPart", name, config, expected, {"accessibility": {"uia": bar.format(url)}}
        )
    config = {"partIndex": -1, "needDeleteId": True, "returnType": "json", "key": "k"}
    yield case(
        "url_dashPart",
        "as-json",
        config,
        {"k": "x"},
        {"accessibility": {"uia": bar.format("a.example/x?id=1")}},
    )
    yield case("url_dashPart", "no-bar", config, None, {"accessibility": {"uia": "<desktop/>"}})
    yield case("url_dashPart", "broken-tree", config, None, {"accessibility": {"uia": "<desktop>"}})
    yield case(
        "url_dashPart",
        "declared-encoding",
        config,
        None,
        {"accessibility": {"uia": '<?xml version="1.0" encoding="utf-8"?>' + bar.format("a/b")}},
    )
    config = {"goto_prefix": "https://www.", "parse_keys": ["a", "b"], "replace": {"b": "time"}}
    for name, url, expected in (
        ("both", "x.example/?a=1&amp;b=2", {"a": "1", "time": "2"}),
        ("one", "x.example/?a=1", {"a": "1", "time": ""}),
        ("other", "x.example", {"a": "1"}),
    ):
        yield case(
            "active_tab_url_parse",
            name,
            config,
            {"expected": expected},
            {"accessibility": {"uia": bar.format(url)}},
            metric="check_direct_json_object",
        )
    nothing = {"accessibility": {"uia": "<desktop/>"}}
    page = {"type": "url", "url": "https://a.example/"}
    yield case(
        "active_tab_info",
        "no-bar",
        {"goto_prefix": "https://"},
        page,
        nothing,
        metric="is_expected_active_tab",
    )
    yield case(
        "active_tab_info",
        "no-browser",
        {"goto_prefix": "https://"},
        page,
        {"accessibility": {"uia": bar.format("a.example/")}},
        metric="is_expected_active_tab",
    )
    yield case(
        "open_tabs_info",
        "no-browser",
        {},
        {"type": "url", "urls": ["https://a.example/"]},
        metric="is_expected_tabs",
    )
    yield case(
        "open_tabs_info",
        "no-browser-none-wanted",
        {},
        {"type": "url", "urls": []},
        metric="is_expected_tabs",
    )
    yield case(
        "page_info",
        "no-browser",
        {"url": "https://a.example/"},
        {"items": []},
        metric="is_added_to_steam_cart",
    )
    made = case("pdf_from_url", "no-browser", {}, None, _of(HOME + r"\Desktop\a.pdf", "x"))
    made["task"]["evaluator"] = {
        "func": "compare_pdfs",
        "result": {"type": "vm_file", "path": HOME + r"\Desktop\a.pdf", "dest": "a.pdf"},
        "expected": {"type": "pdf_from_url", "path": "https://a.example/", "dest": "gold.pdf"},
    }
    yield made


def _explorer() -> Iterator[Case]:
    pictures = "C:/Users/Docker/Pictures"
    config = {"file_path": f"{pictures}/list.txt", "folder_path": pictures}
    for name, listed in (
        ("all", "a.png\nB.PNG"),
        ("all-windows", "a.png\r\nB.PNG\r\n"),
        ("one", "a.png"),
        ("other-case", "a.png\nb.png"),
        ("too-many", "a.png\nB.PNG\nc.jpg"),
    ):
        files = {f"{pictures}/{each}": text("x") for each in ("a.png", "B.PNG", "c.jpg")}
        files[f"{pictures}/list.txt"] = text(listed)
        yield case("all_png_file_names", name, config, "true", {"files": files})
    yield case(
        "all_png_file_names",
        "no-list",
        config,
        "false",
        {"files": {f"{pictures}/a.png": text("x")}},
    )
    documents = "C:/Users/Docker/Documents"
    for name, paths, expected in (
        ("moved", ["Archive/a.docx", "b.txt"], "true"),
        ("left", ["Archive/a.docx", "b.docx"], "true"),
        ("others-too", ["Archive/a.docx", "Archive/b.txt"], "true"),
        ("no-archive", ["a.docx"], "false"),
        ("comma", ["Archive/a,b.docx"], "true"),
        ("upper", ["Archive/A.DOCX"], "true"),
        ("sub-folder", ["Archive/a.docx", "Archive/sub/x.txt"], "true"),
        ("archive-is-a-file", ["Archive"], "false"),
    ):
        files = {f"{documents}/{each}": text("x") for each in paths}
        yield case(
            "is_all_docx_in_archive", name, {"folder_path": documents}, expected, {"files": files}
        )
    yield case(
        "is_all_docx_in_archive",
        "empty-archive",
        {"folder_path": documents},
        "true",
        {"dirs": [HOME + r"\Documents\Archive"]},
    )
    yield case("is_all_docx_in_archive", "no-path", {"folder_path": ""}, "false")
    yield case(
        "vm_folder_exists_in_documents",
        "there",
        {"folder_name": "F"},
        expected=True,
        state={"dirs": [HOME + r"\Documents\F"]},
    )
    yield case("vm_folder_exists_in_documents", "not", {"folder_name": "F"}, expected=True)
    for getter, config, check in (
        ("are_all_images_tagged", {"directory": pictures, "tag": "t"}, "are_all_images_tagged"),
        ("is_details_view", {"folder_path": documents}, "is_details_view"),
        (
            "are_files_sorted_by_modified_time",
            {"directory": documents},
            "are_files_sorted_by_modified_time",
        ),
        (
            "is_directory_read_only_for_user",
            {"directory": documents, "user": "Everyone"},
            "is_directory_read_only_for_user",
        ),
    ):
        yield case(getter, "holds", config, expected=True, state={"checks": {check: True}})
        yield case(getter, "not", config, expected=True, state={"checks": {check: False}})
        yield case(getter, "false-is-zero", config, 0, {"checks": {check: False}})
        yield case(getter, "nothing-asked", dict.fromkeys(config, ""), expected=False)
    yield case(
        "vm_active_window_title", "same", {}, "Documents", {"active_window_title": "Documents"}
    )
    yield case(
        "vm_active_window_title", "other", {}, "Documents", {"active_window_title": "Desktop"}
    )
    library = {"library_folders": {"L": ["C:\\b", "C:\\a"]}}
    yield case("vm_library_folders", "sorted", {"library_name": "L"}, ["C:\\a", "C:\\b"], library)
    yield case("vm_library_folders", "unknown", {"library_name": "M"}, ["C:\\a", "C:\\b"], library)
    yield case("vm_library_folders", "no-name", {}, ["C:\\a"], library)
    on_desktop = HOME + r"\Desktop\a.txt"
    yield case(
        "vm_file_exists_in_desktop",
        "there",
        {"file_name": "a.txt"},
        expected=True,
        state=_of(on_desktop, ""),
    )
    yield case("vm_file_exists_in_desktop", "not", {"file_name": "a.txt"}, expected=True)
    saved = {"filename": "a.txt", "textcontent": "hello"}
    for name, content in (("there", "say hello!"), ("other", "bye"), ("case", "Hello")):
        yield case("is_file_saved_desktop", name, saved, "true", _of(on_desktop, content))
    yield case(
        "is_file_saved_desktop", "locked", saved, "true", _of(on_desktop, "hello", locked=True)
    )
    yield case("is_file_desktop", "empty", {"filename": "a.txt"}, "true", _of(on_desktop, ""))
    yield case("is_file_desktop", "absent", {"filename": "a.txt"}, "true")
    moved = {"file_name": "a.txt", "folder_name": "F"}
    for name, paths in (
        ("moved", ["OldDownloads/F/a.txt"]),
        ("left", ["Downloads/F/a.txt", "OldDownloads/F/a.txt"]),
        ("not", ["Downloads/F/a.txt"]),
        ("empty", ["OldDownloads/F/b.txt"]),
    ):
        files = {f"C:/Users/Docker/{each}": text("x") for each in paths}
        yield case("is_files_moved_downloads", name, moved, "true", {"files": files})
    archive = {"filename": HOME + r"\Desktop\o.7z", "password": "pw"}
    for name, content in (
        ("locked", _seven_zip("pw")),
        ("other-password", _seven_zip("qq")),
        ("open", _seven_zip(None)),
        ("damaged", _seven_zip("pw")[:80]),
    ):
        yield case(
            "zipped_folder_in_desktop",
            name,
            archive,
            "true",
            {"files": {archive["filename"]: {"b64": content}}},
        )
    for name, hidden, expected in (("hidden", True, "true"), ("shown", False, "true")):
        state = _of(HOME + r"\Documents\s.txt", "x", hidden=hidden)
        yield case(
            "is_file_hidden", name, {"file_path": HOME + r"\Documents\s.txt"}, expected, state
        )
    yield case("is_file_hidden", "absent", {"file_path": HOME + r"\Documents\s.txt"}, "false")
    yield case("is_file_hidden", "no-path", {}, "false")


def _settings() -> Iterator[Case]:
    notifications = r"HKCU:Software\Microsoft\Windows\CurrentVersion\PushNotifications|ToastEnabled"
    for name, value, expected in (
        ("off", "0", "True"),
        ("on", "1", "True"),
        ("on-is-none", "1", None),
    ):
        yield case("system_notifications", name, {}, expected, {"registry": {notifications: value}})
    yield case("system_notifications", "absent", {}, "False")
    light = (r"HKCU:\Software\Microsoft\Windows\CurrentVersion\CloudStore\Store\DefaultAccount\Current\default"
             r"$windows.data.bluelightreduction.settings\windows.data.bluelightreduction.settings|Data")  # fmt: skip
    for name, changes, expected in (
        ("schedule", {24: 1, 28: 19, 33: 7}, [True, "07:00 PM", "07:00 AM"]),
        (
            "minutes",
            {24: 1, 28: 19, 29: 46, 30: 30, 35: 7, 36: 46, 37: 15},
            [True, "07:30 PM", "07:15 AM"],
        ),
        ("noon", {24: 1, 28: 12, 33: 0}, [True, "00:00 PM", "00:00 AM"]),
        ("sunset", {24: 1, 28: 202}, [True]),
        ("off", {}, [True]),
        ("off-is-false", {}, False),
    ):
        data = [changes.get(index, 0) for index in range(45)]
        yield case("night_light_state", name, {}, expected, {"registry": {light: data}})
    yield case("night_light_state", "absent", {}, expected=False)
    zone = {"DisplayName": "(UTC+01:00) Berlin", "StandardName": "W. Europe Standard Time"}
    yield case("system_timezone", "same", {}, zone["DisplayName"], {"timezone": zone})
    yield case("system_timezone", "other", {}, "(UTC-08:00)", {"timezone": zone})
    yield case(
        "system_timezone",
        "no-name",
        {},
        "Unable to get time zone",
        {"timezone": {**zone, "StandardName": ""}},
    )
    wallpaper = r"HKCU:Control Panel\Desktop|WallPaper"
    yield case("desktop_background", "plain", {}, "True", {"registry": {wallpaper: ""}})
    yield case("desktop_background", "picture", {}, "True", {"registry": {wallpaper: r"C:\a.jpg"}})
    policy = (
        r"HKCU:\Software\Microsoft\Windows\CurrentVersion\StorageSense\Parameters\StoragePolicy|"
    )
    for name, values in (
        ("monthly", {"01": "1", "2048": "30"}),
        ("daily", {"01": "1", "2048": "1"}),
        ("off", {"01": "0", "2048": "30"}),
        ("absent", {}),
    ):
        registry = {policy + key: value for key, value in values.items()}
        yield case("storage_sense_run_frequency", name, {}, "30", {"registry": registry})


def _clock() -> Iterator[Case]:
    timer = {"hours": "3", "minutes": "0", "seconds": "0"}
    city = {"city": "Boston", "country": "USA"}
    for getter, config, check in (
        ("check_if_timer_started", timer, "check_if_timer_started"),
        ("check_if_world_clock_exists", city, "check_if_world_clock_exists"),
    ):
        yield case(getter, "holds", config, "True", {"checks": {check: True}})
        yield case(getter, "not", config, "True", {"checks": {check: False}})
        yield case(
            getter, "a-boolean-is-no-string", config, expected=True, state={"checks": {check: True}}
        )
    yield case("check_if_timer_started", "no-seconds", {"hours": "3", "minutes": "0"}, "True")


def _paint() -> Iterator[Case]:
    path = HOME + r"\Downloads\p.png"
    circle = {"files": {path: {"b64": _png(RED_CIRCLE)}}}
    blank = {"files": {path: {"b64": _png(None)}}}
    blue = {"files": {path: {"b64": _png({**RED_CIRCLE, "outline": "blue"})}}}
    for name, state in (
        ("red", circle),
        ("blank", blank),
        ("blue", blue),
        ("absent", {}),
        ("no-picture", _of(path, "x")),
    ):
        yield case(
            "is_red_circle_present_on_canvas", name, {"filepath": path}, expected=True, state=state
        )
    yield case("is_red_circle_present_on_canvas", "no-path", {"filepath": ""}, expected=False)
    size = {"filepath": path, "width": "160", "height": "140"}
    yield case("image_dimension_matches_input", "same", size, expected=True, state=blank)
    yield case(
        "image_dimension_matches_input",
        "other",
        {**size, "width": "161"},
        expected=True,
        state=blank,
    )
    yield case("image_dimension_matches_input", "absent", size, expected=True)
    for name, ours in (
        ("same", _png(RED_CIRCLE)),
        ("other", _png({**RED_CIRCLE, "width": 12})),
        ("none", None),
    ):
        made = case("vm_wallpaper", name, {}, None, {"wallpaper_b64": ours} if ours else {})
        made["vm_state"]["cloud"] = {"gold.png": {"b64": _png(RED_CIRCLE)}}
        made["task"]["evaluator"] = {
            "func": "compare_images",
            "result": {"type": "vm_wallpaper", "dest": "w.png"},
            "expected": {
                "type": "cloud_file",
                "path": "${CLOUD_BASE}/gold.png",
                "dest": "gold.png",
            },
        }
        yield made
    for name, lines in (
        ("off", "qt-bgcone=0\n"),
        ("on", "qt-bgcone=1\n"),
        ("commented", "#qt-bgcone=0\n"),
    ):
        yield case(
            "vlc_config",
            name,
            {"dest": "vlcrc"},
            {"expected_qt_bgcone": 0},
            _of(VLCRC, lines),
            metric="check_qt_bgcone",
        )
    yield case(
        "vlc_config",
        "absent",
        {"dest": "vlcrc"},
        {"expected_qt_bgcone": 0},
        metric="check_qt_bgcone",
    )
