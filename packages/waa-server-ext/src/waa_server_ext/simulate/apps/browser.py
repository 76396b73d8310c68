"""Chrome and Edge as state: tabs with addresses, bookmarks and settings in their own files.

Pages are not loaded or drawn: it has neither a web engine nor a debugging port.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.filesystem import HOME
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.dialogs import PromptBox
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.menus import Menu, MenuItem
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

_BAR = "bookmark_bar"
_FONT_SIZES = {"Very small": 9, "Small": 12, "Medium": 16, "Large": 20, "Very large": 24}
_CLEARED = {
    "browsing_history": True, "cache": True, "cookies": True, "download_history": True,
    "form_data": True, "hosted_apps_data": False, "passwords": True, "site_settings": True,
}  # fmt: skip
"""The data that Edge clears on exit if everything but its apps' data is chosen."""
_EPOCH = 11_644_473_600
"""Seconds from 1601, the start of Chromium's times, to 1970."""


@dataclass(frozen=True)
class Brand:
    """The differences between the browsers built on Chromium."""

    exe: str
    product: str
    icon: str
    folder: str
    scheme: str
    favourites: str
    cleared: tuple[str, ...]
    security: tuple[str, ...]

    def settings_file(self, name: str) -> str:
        """Return the file that holds a setting; the home page is in the one that Chromium signs."""
        return f"{self.folder}\\Default\\{'Secure ' if name == 'homepage' else ''}Preferences"

    @property
    def bookmarks(self) -> str:
        """The file with the bookmarks."""
        return f"{self.folder}\\Default\\Bookmarks"


CHROME = Brand(
    "chrome.exe", "Google Chrome", "app:#2f8f46:C",
    f"{HOME}\\AppData\\Local\\Google\\Chrome\\User Data", "chrome", "Bookmark",
    cleared=("profile", "default_content_setting_values"), security=("safebrowsing", "enhanced"),
)  # fmt: skip
EDGE = Brand(
    "msedge.exe", "Microsoft Edge", "app:#0f7c8f:e",
    f"{HOME}\\AppData\\Local\\Microsoft\\Edge\\User Data", "edge", "Favorite",
    cleared=("browser", "clear_data_on_exit"), security=("edge", "super_duper_secure_mode", "enabled"),
)  # fmt: skip


class BrowserWindow(Window):
    """One browser window: tabs, the address bar, bookmarks and the settings page."""

    cls = "Chrome_WidgetWin_1"
    size = (1080, 680)

    def __init__(self, desktop: Desktop, brand: Brand, urls: Sequence[str] = ()) -> None:
        super().__init__(desktop)
        self.brand = brand
        self.exe, self.icon = brand.exe, brand.icon
        self.tabs = list(urls) or [f"{brand.scheme}://newtab/"]
        self.at = len(self.tabs) - 1
        self.closed_tabs: list[str] = []
        self.address = TextField(self.url)
        self.search, self.first = TextField(), 0
        self._menu_at = self.frame

    @property
    def url(self) -> str:
        """The address of the tab in front."""
        return self.tabs[self.at]

    @property
    def title(self) -> str:
        """The page and the program."""
        return f"{self._page_name()} - {self.brand.product}"

    def build(self, ui: Builder) -> None:
        """Show the tabs, the bar, the bookmarks and the page."""
        area = Area(self.frame.inset(1))
        area.top(32)
        self._build_tabs(ui, Area(area.top(34).inset(6, 2)))
        self._build_bar(ui, Area(area.top(40).inset(8, 5)))
        bar = Area(area.top(30).inset(8, 2))
        for number, node in enumerate(self._bar_nodes()[:8]):
            name, url = str(node.get("name", "")), str(node.get("url", ""))
            ui.button(
                bar.left(130, gap=4),
                name,
                partial(self.open_url, url),
                style=Style(padding=8, radius=4),
                cls="BookmarkButton",
                key=f"bookmark:{number}",
            )
        with ui.group(
            area.rect,
            self._page_name(),
            "Chrome_RenderWidgetHostHWND",
            native=True,
            style=Style(fill="#ffffff"),
        ):
            inner = Area(area.rect.inset(40, 20))
            if self.url.startswith(f"{self.brand.scheme}://settings"):
                self._build_settings(ui, inner)
            elif self.url.startswith(f"{self.brand.scheme}://"):
                ui.label(inner.top(60), "New tab", size=28, color="#5d5d5d", align="center")
            else:
                ui.label(inner.top(40), self._page_name(), size=22, bold=True)
                ui.label(inner.top(26), self.url, color="#5d5d5d")
                ui.label(
                    inner.top(30),
                    "This page cannot be shown: there is no connection to the internet.",
                )

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle the browser's keys."""
        keys: dict[tuple[str, frozenset[str]], Callable[[], object]] = {
            ("t", frozenset({"ctrl"})): lambda: self._open_tab(f"{self.brand.scheme}://newtab/"),
            ("w", frozenset({"ctrl"})): lambda: self._close_tab(self.at),
            ("t", frozenset({"ctrl", "shift"})): self._reopen,
            ("d", frozenset({"ctrl"})): self._bookmark,
            ("l", frozenset({"ctrl"})): self._focus_address,
            ("tab", frozenset({"ctrl"})): lambda: self._show((self.at + 1) % len(self.tabs)),
            ("enter", frozenset()): self._enter,
            ("f", frozenset({"alt"})): self._drop_menu,
            ("e", frozenset({"alt"})): self._drop_menu,
        }
        if (key, mods) == ("enter", frozenset()) and self.focus != "address":
            return False
        if (key, mods) not in keys:
            return False
        keys[key, mods]()
        return True

    def open_url(self, url: str) -> None:
        """Show an address in the front tab, as if typed; a bare word becomes a host, as nothing is searched for."""
        text = url.strip()
        if "://" not in text and text:
            text = f"https://{text}"
        self.tabs[self.at] = text or f"{self.brand.scheme}://newtab/"
        self.address.set(self.url)

    def set_preference(self, value: object, *path: str) -> None:
        """Write a setting to the file, below the keys of `path`."""
        file = self.brand.settings_file(path[0])
        at = data = self._json(file)
        for key in path[:-1]:
            below = at.get(key)
            at[key] = at = below if isinstance(below, dict) else {}
        at[path[-1]] = value
        self._write(file, data)

    def saved_state(self) -> dict[str, Any]:
        """Return the tabs."""
        return {"tabs": self.tabs, "at": self.at}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Open the tabs again."""
        self.tabs = [str(each) for each in state.get("tabs", [])] or self.tabs
        self._show(min(int(state.get("at", 0)), len(self.tabs) - 1))

    # -- tabs and the bar

    def _page_name(self) -> str:
        scheme = f"{self.brand.scheme}://"
        if self.url.startswith(f"{scheme}settings"):
            return "Settings"
        if self.url.startswith(scheme):
            return "New tab"
        return self.url.split("://", 1)[-1].split("/")[0].removeprefix("www.")

    def _build_tabs(self, ui: Builder, bar: Area) -> None:
        width = min(200, max((bar.rect.width - 40) // len(self.tabs), 30))
        for number, url in enumerate(self.tabs):
            name = url.split("://", 1)[-1].split("/")[0] or url
            box = Area(bar.left(width, gap=2))
            cross = box.right(24)
            tab = ui.button(
                box.rect,
                name,
                partial(self._show, number),
                style=Style(
                    fill="#ffffff" if number == self.at else "#e4e8ee", radius=5, padding=10
                ),
                cls="Tab",
                key=f"tab:{number}",
            )
            tab.selected = None
            tab.states = {"selected": number == self.at}
            ui.icon_button(
                cross,
                "Close tab",
                "close",
                partial(self._close_tab, number),
                key=f"close-tab:{number}",
            )
        ui.icon_button(
            bar.left(28), "New Tab", "add", lambda: self._open_tab(f"{self.brand.scheme}://newtab/")
        )

    def _build_bar(self, ui: Builder, bar: Area) -> None:
        ui.icon_button(bar.left(30, gap=4), "Reload", "reload", lambda: None)
        menu = self._menu_at = bar.right(34)
        star = bar.right(34)
        ui.edit(
            bar.rect.inset(4, 0),
            "Address and search bar",
            self.address,
            key="address",
            cls="OmniboxViewViews",
            style=Style(radius=14, padding=14),
        )
        known = any(node.get("url") == self.url for node in self._bar_nodes())
        words = (
            f"Edit {self.brand.favourites.casefold()} for this page"
            if known
            else f"{self.brand.favourites} this page"
        )
        if self.brand == CHROME:
            words = "Edit bookmark for this tab" if known else "Bookmark this tab"
        ui.icon_button(star, words, "filled-star" if known else "star", self._bookmark)
        ui.menu_button(
            menu,
            "Settings and more" if self.brand == EDGE else "Chrome",
            self._menu,
            role="button",
            style=Style(icon="more", radius=4, padding=0),
            value="",
        )

    def _drop_menu(self) -> None:
        self.desktop.show_menu(Menu(self._menu()), self._menu_at)

    def _menu(self) -> Sequence[MenuItem]:
        settings = f"{self.brand.scheme}://settings/"
        return [
            MenuItem("New tab", lambda: self._open_tab(f"{self.brand.scheme}://newtab/"), "Ctrl+T"),
            MenuItem(f"{self.brand.favourites} this page", self._bookmark, "Ctrl+D"),
            MenuItem("Create shortcut...", self._shortcut_on_desktop),
            MenuItem("-"),
            MenuItem("Settings", lambda: self._open_tab(settings)),
            MenuItem("Exit", self.close),
        ]

    def _show(self, number: int) -> None:
        self.at, self.first = number, 0
        self.address.set(self.url)

    def _open_tab(self, url: str) -> None:
        self.tabs.append(url)
        if len(self.tabs) > 20:  # enough for any task
            self.tabs.pop(0)
        self._show(len(self.tabs) - 1)
        self._focus_address()

    def _close_tab(self, number: int) -> None:
        self.closed_tabs.append(self.tabs.pop(number))
        del self.closed_tabs[:-20]
        if not self.tabs:
            self.tabs.append(f"{self.brand.scheme}://newtab/")
            self.close()
        self._show(min(self.at, len(self.tabs) - 1))

    def _reopen(self) -> None:
        if self.closed_tabs:
            self._open_tab(self.closed_tabs.pop())

    def _focus_address(self) -> None:
        self.focus = "address"
        self.address.select_all()

    def _enter(self) -> None:
        self.open_url(self.address.text)
        self.focus = None

    # -- bookmarks

    def _bar_nodes(self) -> list[dict[str, Any]]:
        roots = self._json(self.brand.bookmarks).get("roots")
        bar = roots.get(_BAR) if isinstance(roots, dict) else None
        nodes = bar.get("children") if isinstance(bar, dict) else None
        return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []

    def _bookmark(self) -> None:
        nodes = [node for node in self._bar_nodes() if node.get("url") != self.url]
        if len(nodes) == len(self._bar_nodes()):
            nodes.append({"type": "url", "name": self._page_name(), "url": self.url, "id": str(len(nodes) + 10),
                          "date_added": str(int((self.machine.clock.timestamp() + _EPOCH) * 1e6))})  # fmt: skip
        folder = {"type": "folder", "name": "Bookmarks bar", "children": nodes, "id": "1"}
        empty = {"type": "folder", "children": [], "id": "2"}
        roots = {
            _BAR: folder,
            "other": {**empty, "name": "Other bookmarks"},
            "synced": {**empty, "name": "Mobile bookmarks", "id": "3"},
        }
        self._write(self.brand.bookmarks, {"roots": roots, "version": 1})

    def _shortcut_on_desktop(self) -> None:
        name = self._page_name()
        path = self.machine.files.free_name(f"{HOME}\\Desktop", f"{name}.url")
        self.machine.files.write(path, f"[InternetShortcut]\r\nURL={self.url}\r\n".encode())

    # -- settings

    def _build_settings(self, ui: Builder, area: Area) -> None:
        ui.label(area.top(40, gap=6), "Settings", size=22, bold=True)
        ui.edit(
            area.top(34, gap=12),
            "Search settings",
            self.search,
            style=Style(radius=14, padding=14, hint="Search settings"),
        )
        wanted = self.search.text.strip().casefold()
        rows: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
            'Send "Do Not Track" requests': (self._switch, ("enable_do_not_track",)),
            "Profile name": (self._prompted, ("profile", "name")),
            "Font size": (self._font_size, ()),
            "Clear browsing data on close": (self._clear_on_exit, self.brand.cleared),
            "Enhanced security": (self._switch, self.brand.security),
            "Home page": (self._prompted, ("homepage",)),
            "Downloads location": (self._prompted, ("download", "default_directory")),
        }
        for name, (build, path) in rows.items():
            if wanted in name.casefold() and area.rect.height >= 48:  # a row
                row = Area(area.top(48, gap=4))
                ui.pane(row.rect, "#f7f8fa", "#e3e3e3", 5)
                inner = Area(row.rect.inset(14, 7))
                side = inner.right(260)
                ui.label(inner.rect, name)
                build(ui, side, name, path)

    def _switch(self, ui: Builder, box: Rect, name: str, path: tuple[str, ...]) -> None:
        on = bool(self._value(*path))
        flip = partial(self.set_preference, not on, *path)
        ui.toggle(box._replace(left=box.right - 90), name, flip, on=on)

    def _clear_on_exit(self, ui: Builder, box: Rect, name: str, path: tuple[str, ...]) -> None:
        on = bool(self._value(*path))
        kept = {"cookies": 4} if self.brand == CHROME else dict(_CLEARED)
        flip = partial(self.set_preference, None if on else kept, *path)
        ui.toggle(box._replace(left=box.right - 90), name, flip, on=on)

    def _font_size(self, ui: Builder, box: Rect, name: str, _: tuple[str, ...]) -> None:
        now = self._value("webkit", "webprefs", "default_font_size") or 16
        shown = next((name for name, size in _FONT_SIZES.items() if size == now), "Custom")

        def choose(named: str) -> None:
            size = _FONT_SIZES[named]
            self.set_preference(size, "webkit", "webprefs", "default_font_size")
            self.set_preference(max(size - 3, 1), "webkit", "webprefs", "default_fixed_font_size")

        ui.combo(box, name, shown, list(_FONT_SIZES), choose)

    def _prompted(self, ui: Builder, box: Rect, name: str, path: tuple[str, ...]) -> None:
        now = str(self._value(*path) or ("Person 1" if name == "Profile name" else ""))

        def ask() -> None:
            self.desktop.open(
                PromptBox(self, name, name, lambda text: self.set_preference(text, *path), now)
            )

        ui.button(box, name, ask, value=now or "Change...")

    def _value(self, *path: str) -> Any:
        at: Any = self._json(self.brand.settings_file(path[0]))
        for key in path:
            at = at.get(key) if isinstance(at, dict) else None
        return at

    def _json(self, path: str) -> dict[str, Any]:
        files = self.machine.files
        try:
            data = json.loads(files.read(path)) if files.is_file(path) else {}
        except (ValueError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}

    def _write(self, path: str, data: dict[str, Any]) -> None:
        self.machine.files.make_folder(path.rpartition("\\")[0], parents=True, exist_ok=True)
        self.machine.files.write(path, json.dumps(data).encode())


def open_chrome(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Chrome at the addresses named; one window takes them all."""
    return _open(desktop, CHROME, arguments)


def open_edge(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Edge at the addresses named; one window takes them all."""
    return _open(desktop, EDGE, arguments)


def _open(desktop: Desktop, brand: Brand, arguments: Sequence[str]) -> BrowserWindow:
    urls = [word.removeprefix("microsoft-edge:") for word in arguments if not word.startswith("-")]
    for window in desktop.windows:
        if isinstance(window, BrowserWindow) and window.brand == brand:
            for url in urls:
                window._open_tab(url)  # its own module
            desktop.activate(window)
            return window
    return BrowserWindow(desktop, brand, [url for url in urls if url])
