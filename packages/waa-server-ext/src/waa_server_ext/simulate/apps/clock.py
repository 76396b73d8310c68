"""The Clock app: timers and world clocks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import Any

from waa_server_ext.simulate.machine.computer import Timer
from waa_server_ext.simulate.ui.builder import PRIMARY, Builder
from waa_server_ext.simulate.ui.dialogs import Dialog
from waa_server_ext.simulate.ui.geometry import Area, Rect
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

CITIES: dict[tuple[str, str], float] = {
    ("Munich", "Germany"): 1, ("Berlin", "Germany"): 1, ("Hamburg", "Germany"): 1,
    ("Kyoto", "Japan"): 9, ("Tokyo", "Japan"): 9, ("Osaka", "Japan"): 9, ("Paris", "France"): 1,
    ("London", "United Kingdom"): 0, ("New York", "United States"): -5,
    ("Los Angeles", "United States"): -8, ("Seattle", "United States"): -8,
    ("Chicago", "United States"): -6, ("Sydney", "Australia"): 11, ("Mumbai", "India"): 5.5,
    ("Beijing", "China"): 8, ("Stockholm", "Sweden"): 1, ("Madrid", "Spain"): 1,
    ("Cairo", "Egypt"): 2, ("Sao Paulo", "Brazil"): -3, ("Singapore", "Singapore"): 8,
    ("Zurich", "Switzerland"): 1, ("Rome", "Italy"): 1, ("Toronto", "Canada"): -5,
}  # fmt: skip

_PAGES = ("Focus sessions", "Timer", "Alarm", "Stopwatch", "World clock")


def timer_words(timer: Timer) -> str:
    """Return a timer's length as Clock gives it to assistive software.

    >>> timer_words(Timer(3, 0, 1))
    '3 hours 0 minutes 1 second'
    """
    numbers = ((timer.hours, "hour"), (timer.minutes, "minute"), (timer.seconds, "second"))
    return " ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in numbers)


class ClockWindow(Window):
    """The window of the Clock app."""

    exe = "ApplicationFrameHost.exe"
    caption = "Clock"
    cls = "ApplicationFrameWindow"
    icon = "app:#1f4e8c:O"
    size = (900, 620)
    frame_suffix = " Clock"

    def __init__(self, desktop: Desktop, page: str = "Focus sessions") -> None:
        super().__init__(desktop)
        self.page = page

    def build(self, ui: Builder) -> None:
        """Show the pages and the open one."""
        area = Area(self.frame.inset(1))
        area.top(32)
        menu = Area(area.left(180).inset(6, 8))
        for page in _PAGES:
            style = Style(padding=16, radius=4)
            ui.button(
                menu.top(38, gap=2),
                page,
                partial(setattr, self, "page", page),
                style=style,
                cls="NavigationViewItem",
                selected=self.page == page,
            )
        inner = Area(area.rect.inset(20, 12))
        if self.page == "Timer":
            self._build_timers(ui, inner)
        elif self.page == "World clock":
            bar = Area(inner.bottom(40))
            ui.button(
                bar.right(150).inset(0, 3),
                "Add a new city",
                lambda: self.desktop.open(CityDialog(self)),
                style=PRIMARY,
            )
            now = self.machine.clock.now()
            local = now + dt.timedelta(hours=self.machine.zone.hours)
            ui.label(inner.top(34, gap=6), f"Local time  {local:%H:%M}", size=18, bold=True)
            for place in self.machine.world_clocks[:10]:
                city, country = place
                there = now + dt.timedelta(hours=CITIES.get(place, 0))
                style = Style(fill="#ffffff", border="#dcdcdc", radius=6)
                with ui.group(
                    inner.top(44, gap=4),
                    f"{city}, {country}, {there:%H:%M}",
                    "ListViewItem",
                    style=style,
                ) as row:
                    line = Area(row.rect.inset(14, 4))
                    ui.label(line.left(260), f"{city}, {country}", bold=True)
                    ui.label(line.left(90), f"{there:%H:%M}", size=18)
                    delete = partial(self.machine.world_clocks.remove, place)
                    box = line.right(80).inset(0, 3)
                    ui.button(box, f"Delete {city}", delete, value="Delete")
        else:
            ui.label(inner.top(36), self.page, size=22, bold=True)
            ui.label(inner.top(30), "Nothing is set up here yet.", color="#5d5d5d")

    def saved_state(self) -> dict[str, Any]:
        """Return the open page."""
        return {"page": self.page}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Open a page again."""
        self.page = str(state.get("page", self.page))

    def _build_timers(self, ui: Builder, area: Area) -> None:
        bar = Area(area.bottom(40))
        ui.button(
            bar.right(150).inset(0, 3), "Add new timer", partial(self._edit, None), style=PRIMARY
        )
        columns = max(area.rect.width // 210, 1)
        now = self.machine.clock.timestamp()
        for number, timer in enumerate(self.machine.timers[:12]):
            row, column = divmod(number, columns)
            box = Rect.sized(area.rect.left + column * 210, area.rect.top + row * 170, 200, 160)
            self._build_timer(ui, box, timer, now)

    def _build_timer(self, ui: Builder, box: Rect, timer: Timer, now: float) -> None:
        running = timer.started is not None
        style = Style(fill="#ffffff", border="#dcdcdc", radius=6)
        with ui.group(box, f"{timer.name}, {timer_words(timer)}", "ListViewItem", style=style):
            area = Area(box.inset(14, 10))
            ui.label(area.top(22), timer.name, bold=True)
            left = max(
                timer.length - int(now - (timer.started if timer.started is not None else now)), 0
            )
            hours, rest = divmod(left, 3600)
            ui.label(
                area.top(48),
                f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}",
                size=28,
                align="center",
                cls="TimerText",
            )
            bar = Area(area.bottom(34))
            start = "Timer running, Pause" if running else "Timer paused, Start"
            ui.icon_button(
                bar.left(60, gap=8),
                start,
                "pause" if running else "play",
                partial(self._start, timer),
                key=f"start:{id(timer)}",
            )
            ui.button(
                bar.left(50, gap=4),
                "Reset",
                partial(setattr, timer, "started", None),
                key=f"reset:{id(timer)}",
            )
            ui.button(bar.left(50), "Edit", partial(self._edit, timer), key=f"edit:{id(timer)}")

    def _start(self, timer: Timer) -> None:
        timer.started = None if timer.started is not None else self.machine.clock.timestamp()

    def _edit(self, timer: Timer | None) -> None:
        self.desktop.open(TimerDialog(self, timer))


class TimerDialog(Dialog):
    """Hours, minutes, seconds and a name."""

    size = (360, 300)
    cls = "Popup"

    def __init__(self, owner: Window, timer: Timer | None) -> None:
        super().__init__(owner)
        self.timer = timer
        self.caption = "Edit timer" if timer else "Add new timer"
        start = timer or Timer(0, 5, 0, f"Timer ({len(self.machine.timers) + 1})")
        self.fields = {
            name: TextField(f"{value:02d}", allow=_two_digits)
            for name, value in zip(
                ("Hours", "Minutes", "Seconds"),
                (start.hours, start.minutes, start.seconds),
                strict=True,
            )
        }
        self.name = TextField(start.name)

    def build(self, ui: Builder) -> None:
        """Show three numbers with arrows, the name and the buttons."""
        area = Area(self.frame.inset(20, 12))
        area.top(28)
        buttons = Area(area.bottom(32))
        ui.button(buttons.right(100, gap=8), "Cancel", self.close)
        ui.button(buttons.right(100), "Save", self._save, style=PRIMARY)
        row = Area(area.top(118, gap=8))
        for name, field in self.fields.items():
            column = Area(row.left(100, gap=6))
            ui.label(column.top(20), name, size=12, align="center")
            ui.button(
                column.top(26, gap=3), f"Increase {name}", partial(self._step, name, 1), value="+"
            )
            ui.edit(column.top(34, gap=3), name, field, style=Style(size=20, radius=3))
            ui.button(column.top(26), f"Decrease {name}", partial(self._step, name, -1), value="-")
        ui.edit(area.top(32), "Timer name", self.name)

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Save with Enter, give up with Escape; arrows count in a number."""
        del mods
        name = (self.focus or "").removeprefix("edit:")
        if key in {"up", "down"} and name in self.fields:
            self._step(name, 1 if key == "up" else -1)
        elif key == "enter":
            self._save()
        elif key == "escape":
            self.close()
        return True

    def _step(self, name: str, by: int) -> None:
        top = 100 if name == "Hours" else 60
        value = (int(self.fields[name].text or 0) + by) % top
        self.fields[name].set(f"{value:02d}")

    def _save(self) -> None:
        hours, minutes, seconds = (int(field.text or 0) for field in self.fields.values())
        if hours + minutes + seconds == 0:
            return
        made = Timer(hours, min(minutes, 59), min(seconds, 59), self.name.text or "Timer")
        timers = self.machine.timers
        if self.timer in timers:
            timers[timers.index(self.timer)] = made
        else:
            timers.append(made)
        self.close()


class CityDialog(Dialog):
    """A search for a city."""

    size = (400, 420)
    caption = "Add new city"
    cls = "Popup"

    def __init__(self, owner: Window) -> None:
        super().__init__(owner)
        self.wanted = TextField()
        self.chosen: tuple[str, str] | None = None
        self.focus = "edit:Enter a location"

    def build(self, ui: Builder) -> None:
        """Show the search box, the matching cities and the buttons."""
        area = Area(self.frame.inset(20, 12))
        area.top(28)
        buttons = Area(area.bottom(32))
        ui.button(buttons.right(100, gap=8), "Cancel", self.close)
        ui.button(
            buttons.right(100), "Add", self._add, style=PRIMARY, enabled=self.chosen is not None
        )
        ui.edit(
            area.top(32, gap=6),
            "Enter a location",
            self.wanted,
            style=Style(radius=3, hint="Enter a location"),
        )
        for place in self._found():
            node = ui.button(
                area.top(30),
                ", ".join(place),
                partial(self._pick, place),
                style=Style(padding=12),
                cls="ListViewItem",
            )
            node.selected = place == self.chosen

    def fallback(self, key: str, mods: frozenset[str]) -> bool:
        """Add the first match with Enter, give up with Escape."""
        del mods
        found = self._found()
        if key == "enter" and found:
            self.chosen = self.chosen or found[0]
            self._add()
        elif key == "escape":
            self.close()
        return True

    def _found(self) -> list[tuple[str, str]]:
        wanted = self.wanted.text.strip().casefold()
        if not wanted:
            return []
        return [place for place in CITIES if wanted in ", ".join(place).casefold()][:8]

    def _pick(self, place: tuple[str, str]) -> None:
        self.chosen = place
        self.wanted.set(", ".join(place))

    def _add(self) -> None:
        if self.chosen is not None and self.chosen not in self.machine.world_clocks:
            self.machine.world_clocks.append(self.chosen)
        self.close()


def _two_digits(text: str) -> bool:
    return len(text) <= 2 and (not text or text.isdigit())  # two digits


def open_clock(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Clock's only window, on Timer if the link asks for it."""
    page = "Timer" if any("timer" in word.casefold() for word in arguments) else "Focus sessions"
    for window in desktop.windows:
        if isinstance(window, ClockWindow):
            window.page = page if page == "Timer" else window.page
            desktop.activate(window)
            return window
    return ClockWindow(desktop, page)
