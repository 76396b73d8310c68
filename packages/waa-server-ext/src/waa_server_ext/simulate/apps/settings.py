"""Settings: the pages the tasks touch, written to the registry as Windows writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.computer import (
    NIGHT_LIGHT,
    POLICY,
    PUSH,
    TIME_ZONES,
    WALLPAPER,
    night_light_bytes,
)
from waa_server_ext.simulate.machine.wallpaper import SOLID
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.nodes import Node, Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

_CATEGORIES = (
    ("System", "system"), ("Personalization", "personalization"), ("Time & language", "time"),
)  # fmt: skip
_PAGES: dict[str, tuple[str, str]] = {
    "system": ("System", ""),
    "display": ("Display", "system"),
    "nightlight": ("Night light", "display"),
    "notifications": ("Notifications", "system"),
    "storage": ("Storage", "system"),
    "storagesense": ("Storage Sense", "storage"),
    "personalization": ("Personalization", ""),
    "personalization-background": ("Background", "personalization"),
    "time": ("Time & language", ""),
    "dateandtime": ("Date & time", "time"),
}
_LINKS = {
    "storagepolicies": "storagesense", "storagesense": "storagesense", "about": "system", "": "system",
    "regionlanguage": "time", "colors": "personalization", "themes": "personalization",
}  # fmt: skip
_FREQUENCIES = {0: "During low free disk space", 1: "Every day", 7: "Every week", 30: "Every month"}
_NOTIFICATIONS = (
    ("Notifications", "ToastEnabled", 1, "Get notifications from apps and other senders"),
    (
        "Do not disturb",
        "NoDisturb",
        0,
        "Notifications will be sent directly to the notification center",
    ),
)
_HOURS = [f"{hour % 12 or 12}:00 {'AM' if hour < 12 else 'PM'}" for hour in range(24)]  # noon
_COLORS = {
    "Blue": "0 120 215", "Green": "16 124 16", "Black": "0 0 0", "Purple": "116 77 169",
    "Orange": "202 80 16", "Gray": "105 121 126",
}  # fmt: skip
_NIGHT_STATE = "HKCU\\Software\\ProctorSimulation\\NightLight"
"""The key with the hours in plain numbers, as Windows' own bytes do not hold all of them."""


def pages() -> list[tuple[str, str]]:
    """Return the name and the caption of each page."""
    return [(name, caption) for name, (caption, _) in _PAGES.items()]


class Settings(Window):
    """The window of Settings."""

    exe = "SystemSettings.exe"
    caption = "Settings"
    cls = "ApplicationFrameWindow"
    icon = "app:#5a6b7b:S"
    size = (980, 640)
    frame_suffix = " Settings"
    background = "#f3f3f3"

    def __init__(self, desktop: Desktop, page: str = "system") -> None:
        super().__init__(desktop)
        self.page = page
        self.search = TextField()
        self.trail: list[str] = []

    def go(self, page: str) -> None:
        """Open a page; an unknown name opens the first one."""
        self.trail.append(self.page)
        del self.trail[:-20]
        self.page = page if page in _PAGES else "system"

    def build(self, ui: Builder) -> None:
        """Show search, the categories and the open page."""
        area = Area(self.frame.inset(1))
        area.top(32)
        side = Area(area.left(230).inset(14, 8))
        ui.icon_button(
            side.top(30, gap=6)._replace(right=side.rect.left + 34),
            "Back",
            "back",
            self._back,
            enabled=bool(self.trail),
        )
        ui.edit(
            side.top(34, gap=8),
            "Find a setting",
            self.search,
            style=Style(radius=3, hint="Find a setting"),
        )
        if self.search.text.strip():
            for page, caption in self._found()[:8]:
                ui.button(
                    side.top(36, gap=2),
                    caption,
                    partial(self._go_to, page),
                    style=Style(padding=12, radius=4),
                    key=f"found:{page}",
                    cls="ListViewItem",
                )
        else:
            for caption, page in _CATEGORIES:
                node = ui.button(
                    side.top(38, gap=2),
                    caption,
                    partial(self._go_to, page),
                    style=Style(padding=12, radius=4),
                    key=f"category:{page}",
                    cls="NavigationViewItem",
                )
                node.selected = self.page == page or _root(self.page) == page
        inner = Area(area.rect.inset(24, 12))
        caption, parent = _PAGES[self.page]
        crumb = f"{_PAGES[parent][0]}  \u203a  {caption}" if parent else caption
        ui.label(inner.top(44, gap=8), crumb, size=24, bold=True, cls="PageHeader")
        getattr(self, f"_page_{self.page.replace('-', '_')}")(ui, inner)

    def saved_state(self) -> dict[str, Any]:
        """Return the open page."""
        return {"page": self.page}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Open a page again."""
        self.go(str(state.get("page", self.page)))

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Open the first setting found with Enter."""
        del mods
        found = self._found()
        if key == "enter" and found:
            self._go_to(found[0][0])
        return True

    def _found(self) -> list[tuple[str, str]]:
        wanted = self.search.text.strip().casefold()
        return [(p, c) for p, c in pages() if wanted and wanted in c.casefold()]

    def _back(self) -> None:
        if self.trail:
            self.page = self.trail.pop()

    def _go_to(self, page: str) -> None:
        self.search.set("")
        self.go(page)

    # -- rows

    def _card(self, ui: Builder, area: Area, name: str, note: str = "", height: int = 60) -> Area:
        box = area.top(height, gap=6)
        ui.pane(box, "#fbfbfb", "#e3e3e3", 5)
        inner = Area(box.inset(16, 8))
        words = Area(
            Rect(inner.rect.left, inner.rect.top, inner.rect.right - 260, inner.rect.bottom)
        )
        if note:
            ui.label(words.top(22), name)
            ui.label(words.top(20), note, size=12, color="#5d5d5d")
        else:
            ui.label(words.rect, name)
        return inner

    def _switch(
        self, ui: Builder, area: Area, name: str, note: str, do: Callable[[], object], *, on: bool
    ) -> None:
        ui.toggle(self._card(ui, area, name, note).right(90), name, do, on=on)

    def _link(self, ui: Builder, area: Area, page: str, note: str) -> None:
        box = area.top(56, gap=6)
        ui.button(
            box,
            _PAGES[page][0],
            partial(self._go_to, page),
            style=Style(fill="#fbfbfb", border="#e3e3e3", radius=5, padding=16),
            key=f"link:{page}",
            cls="ListViewItem",
        )
        ui.label(
            Rect(box.right - 330, box.top, box.right - 30, box.bottom),
            note,
            size=12,
            align="right",
            color="#5d5d5d",
        )

    def _page_system(self, ui: Builder, area: Area) -> None:
        self._link(ui, area, "display", "Brightness, night light")
        self._link(ui, area, "notifications", "Alerts from apps and system")
        self._link(ui, area, "storage", "Storage space, configuration rules")

    def _page_personalization(self, ui: Builder, area: Area) -> None:
        self._link(ui, area, "personalization-background", "Background image, color")

    def _page_time(self, ui: Builder, area: Area) -> None:
        self._link(ui, area, "dateandtime", "Time zones, automatic clock settings")

    def _page_display(self, ui: Builder, area: Area) -> None:
        on, note = self._night()[0], "Use warmer colors to help block blue light"
        self._switch(ui, area, "Night light", note, partial(self._set_night, on=not on), on=on)
        self._link(ui, area, "nightlight", "Strength, schedule")

    def _page_nightlight(self, ui: Builder, area: Area) -> None:
        on, scheduled, start, end = self._night()
        row = self._card(ui, area, "Show night light now")
        words = "Turn off now" if on else "Turn on now"
        ui.button(row.right(130).inset(0, 4), words, partial(self._set_night, on=not on))
        change = partial(self._set_night, scheduled=not scheduled)
        self._switch(ui, area, "Schedule night light", "", change, on=scheduled)
        if scheduled:
            for name, hour in (("Turn on", start), ("Turn off", end)):
                row = self._card(ui, area, name)
                side = "start" if name == "Turn on" else "end"
                ui.combo(
                    row.right(160).inset(0, 5),
                    name,
                    _HOURS[hour],
                    _HOURS,
                    partial(self._choose_hour, side),
                )

    def _night(self) -> tuple[bool, bool, int, int]:
        number = self.machine.registry.number
        return (
            number(_NIGHT_STATE, "On", 0) == 1, number(_NIGHT_STATE, "Scheduled", 0) == 1,
            number(_NIGHT_STATE, "Start", 21), number(_NIGHT_STATE, "End", 7),
        )  # fmt: skip

    def _choose_hour(self, side: str, text: str) -> None:
        self._set_night(**{side: _HOURS.index(text)})

    def _set_night(self, **changes: int) -> None:
        on, scheduled, start, end = self._night()
        now: dict[str, int] = {
            "on": on,
            "scheduled": scheduled,
            "start": start,
            "end": end,
            **changes,
        }
        registry = self.machine.registry
        for name, value in now.items():
            registry.set(_NIGHT_STATE, name.title(), int(value))
        hours = ((now["start"], 0), (now["end"], 0)) if now["scheduled"] else (None, None)
        # with a schedule WAA's getter asks for the feature, not for the hour of day
        enabled = bool(now["on"] or now["scheduled"])
        registry.set(
            NIGHT_LIGHT, "Data", night_light_bytes(on=enabled, start=hours[0], end=hours[1])
        )

    def _page_notifications(self, ui: Builder, area: Area) -> None:
        for name, value, usual, note in _NOTIFICATIONS:
            on = self.machine.registry.number(PUSH, value, usual) == 1
            self._switch(
                ui,
                area,
                name,
                note,
                partial(self.machine.registry.set, PUSH, value, int(not on)),
                on=on,
            )

    def _page_storage(self, ui: Builder, area: Area) -> None:
        row = self._card(ui, area, "Local Disk (C:)", "51.2 GB used of 63.9 GB")
        bar = row.right(220).inset(0, 16)
        ui.add(Node("progress", bar, "Storage used", span=(0, 63.9, 51.2), value="80"))
        self._storage_sense(ui, area, "Storage Sense", "Automatically free up space")
        self._link(ui, area, "storagesense", "Cleanup schedules")

    def _page_storagesense(self, ui: Builder, area: Area) -> None:
        note = "Storage Sense runs when disk space is low"
        self._storage_sense(ui, area, "Automatic User content cleanup", note)
        row = self._card(ui, area, "Run Storage Sense")
        now = self.machine.registry.number(POLICY, "2048", 0)
        names = list(_FREQUENCIES.values())

        def choose(name: str) -> None:
            days = list(_FREQUENCIES)[names.index(name)]
            self.machine.registry.set(POLICY, "2048", days)

        ui.combo(
            row.right(230).inset(0, 5),
            "Run Storage Sense",
            _FREQUENCIES.get(now, names[0]),
            names,
            choose,
        )

    def _storage_sense(self, ui: Builder, area: Area, name: str, note: str) -> None:
        on = self.machine.registry.number(POLICY, "01", 0) == 1
        self._switch(
            ui,
            area,
            name,
            note,
            partial(self.machine.registry.set, POLICY, "01", int(not on)),
            on=on,
        )

    def _page_personalization_background(self, ui: Builder, area: Area) -> None:
        solid = not self.machine.wallpaper
        row = self._card(ui, area, "Personalize your background", "A picture or a solid color")
        choice = "Solid color" if solid else "Picture"
        ui.combo(
            row.right(200).inset(0, 5),
            "Personalize your background",
            choice,
            ["Picture", "Solid color"],
            self._choose_background,
        )
        if solid:
            box = area.top(110, gap=6)
            ui.pane(box, "#fbfbfb", "#e3e3e3", 5)
            line = Area(box.inset(16, 10))
            ui.label(line.top(26), "Choose your background color")
            for name, numbers in _COLORS.items():
                red, green, blue = numbers.split()
                fill = f"#{int(red):02x}{int(green):02x}{int(blue):02x}"
                ui.button(
                    line.left(48, gap=8),
                    name,
                    partial(self.machine.registry.set, SOLID, "Background", numbers),
                    style=Style(fill=fill, border="#8a8a8a", radius=3),
                    value="",
                )

    def _choose_background(self, name: str) -> None:
        path = "" if name == "Solid color" else WALLPAPER
        self.machine.registry.set("HKCU\\Control Panel\\Desktop", "WallPaper", path)

    def _page_dateandtime(self, ui: Builder, area: Area) -> None:
        row = self._card(ui, area, "Time zone")
        names = [zone.display for zone in TIME_ZONES]

        def choose(name: str) -> None:
            self.machine.zone = TIME_ZONES[names.index(name)]

        shown = self.machine.zone.display
        ui.combo(row.right(380).inset(0, 5), "Time zone", shown, names, choose)


def _root(page: str) -> str:
    while _PAGES[page][1]:
        page = _PAGES[page][1]
    return page


def open_settings(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Settings' only window, on the page that a link names."""
    link = next((word for word in arguments if word.casefold().startswith("ms-settings:")), "")
    page = link.partition(":")[2].casefold()
    page = _LINKS.get(page, page if page in _PAGES else "system")
    for window in desktop.windows:
        if isinstance(window, Settings):
            window.go(page)
            desktop.activate(window)
            return window
    return Settings(desktop, page)
