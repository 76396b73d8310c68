"""Calculator: the standard keys and the difference between dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext
from functools import partial
from typing import Any

from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.geometry import Area
from waa_server_ext.simulate.ui.menus import MenuItem
from waa_server_ext.simulate.ui.nodes import Style
from waa_server_ext.simulate.ui.text_field import TextField
from waa_server_ext.simulate.ui.windows import Desktop, Window

_KEYS = (
    ("Percent", "%"), ("Clear entry", "CE"), ("Clear", "C"), ("Backspace", "<"),
    ("Reciprocal", "1/x"), ("Square", "sq"), ("Square root", "sqrt"), ("Divide by", "/"),
    ("Seven", "7"), ("Eight", "8"), ("Nine", "9"), ("Multiply by", "*"),
    ("Four", "4"), ("Five", "5"), ("Six", "6"), ("Minus", "-"),
    ("One", "1"), ("Two", "2"), ("Three", "3"), ("Plus", "+"),
    ("Positive negative", "+/-"), ("Zero", "0"), ("Decimal separator", "."), ("Equals", "="),
)  # fmt: skip
_MAX_DIGITS = 16  # as many as Windows' Calculator accepts


def difference(start: dt.date, end: dt.date) -> tuple[int, int, int, int]:
    """Return years, months, weeks and days between two dates, the way Calculator counts them.

    >>> difference(dt.date(2024, 1, 3), dt.date(2024, 8, 20))
    (0, 7, 2, 3)
    """
    start, end = min(start, end), max(start, end)
    months = (end.year - start.year) * 12 + end.month - start.month
    if _plus_months(start, months) > end:
        months -= 1
    days = (end - _plus_months(start, months)).days
    return months // 12, months % 12, days // 7, days % 7


def _plus_months(day: dt.date, months: int) -> dt.date:
    year, month = divmod(day.month - 1 + months, 12)
    year += day.year
    last = [31, 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28,
            31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]  # fmt: skip
    return dt.date(year, month + 1, min(day.day, last))


class Calculator(Window):
    """The window of Calculator."""

    exe = "CalculatorApp.exe"
    caption = "Calculator"
    cls = "ApplicationFrameWindow"
    icon = "app:#4a5560:="
    size = (380, 560)
    frame_suffix = " Calculator"

    def __init__(self, desktop: Desktop) -> None:
        super().__init__(desktop)
        self.mode = "Standard"
        self.shown, self.fresh = "0", True
        self.kept: Decimal | None = None
        self.operator = ""
        today = f"{self.machine.clock.now():%m/%d/%Y}"
        self.dates = {"From": TextField(today), "To": TextField(today)}

    def build(self, ui: Builder) -> None:
        """Show the mode and its page."""
        area = Area(self.frame.inset(10, 2))
        area.top(34)
        bar = Area(area.top(40).inset(0, 4))
        ui.menu_button(
            bar.left(120, gap=8),
            "Open Navigation",
            self._modes,
            style=Style(align="center", radius=4, padding=4),
        )
        ui.label(bar.rect, self.mode, size=18, bold=True, cls="HeaderText")
        if self.mode == "Date calculation":
            area.top(10)
            ui.label(area.top(24), "Difference between dates", bold=True)
            for name, field in self.dates.items():
                ui.label(area.top(24), name)
                ui.edit(area.top(34, gap=10), f"{name} (MM/DD/YYYY)", field, key=f"date:{name}")
            ui.label(area.top(24), "Difference", bold=True)
            for line in self._difference_lines():
                ui.label(area.top(28), line, size=15, cls="ResultText")
        else:
            pending = (
                f"{self.kept.normalize():f} {self.operator}"
                if self.kept is not None and self.operator
                else ""
            )
            ui.label(area.top(26), pending, align="right", color="#5d5d5d", cls="Expression")
            display = ui.label(
                area.top(64, gap=6), self.shown, size=36, align="right", bold=True, cls="Results"
            )
            display.name, display.value = f"Display is {self.shown}", self.shown
            display.role = "button"
            rows, width = len(_KEYS) // 4, area.rect.width // 4
            height = area.rect.height // rows
            for number, (name, sign) in enumerate(_KEYS):
                row, column = divmod(number, 4)
                box = area.rect._replace(
                    left=area.rect.left + column * width, top=area.rect.top + row * height,
                    right=area.rect.left + (column + 1) * width, bottom=area.rect.top + (row + 1) * height,
                ).inset(1)  # fmt: skip
                fill = "#0067c0" if sign == "=" else ("#ffffff" if sign.isdigit() else "#f0f0f0")
                color = "#ffffff" if sign == "=" else None
                ui.button(box, name, partial(self._press, sign), value={"<": "Del"}.get(sign, sign),
                          style=Style(fill=fill, color=color, border="#e4e4e4", radius=4, align="center", size=16))  # fmt: skip

    def typed(self, text: str) -> bool:
        """Press the keys that are typed."""
        if self.mode == "Standard":
            known = {sign for _, sign in _KEYS if len(sign) == 1}
            for char in text:
                if char in known:
                    self._press(char)
        return True

    def shortcut(self, key: str, mods: frozenset[str]) -> bool:
        """Handle Enter, Backspace, Escape and Ctrl+C."""
        if self.mode != "Standard":
            return False
        signs = {"enter": "=", "backspace": "<", "escape": "C", "delete": "CE"}
        if mods == {"ctrl"} and key == "c":
            self.machine.clipboard.copy_text(self.shown)
        elif not mods and key in signs:
            self._press(signs[key])
        else:
            return False
        return True

    def saved_state(self) -> dict[str, Any]:
        """Return mode and number."""
        return {"mode": self.mode, "shown": self.shown}

    def restore_state(self, state: dict[str, Any]) -> None:
        """Show them again."""
        self.mode, self.shown = (
            str(state.get("mode", self.mode)),
            str(state.get("shown", self.shown)),
        )

    def _modes(self) -> Sequence[MenuItem]:
        return [
            MenuItem(mode, partial(setattr, self, "mode", mode), checked=self.mode == mode)
            for mode in ("Standard", "Date calculation")
        ]

    def _difference_lines(self) -> list[str]:
        days = [_date(field.text) for field in self.dates.values()]
        start, end = days
        if start is None or end is None:
            return ["Enter dates as MM/DD/YYYY"]
        if start == end:
            return ["Same dates"]
        words = ("year", "month", "week", "day")
        parts = [
            f"{number} {word}{'' if number == 1 else 's'}"
            for number, word in zip(difference(start, end), words, strict=True) if number
        ]  # fmt: skip
        total = abs((end - start).days)
        lines = [f"{total} day{'' if total == 1 else 's'}"]
        return lines if len(parts) == 1 and "day" in parts[0] else [", ".join(parts), *lines]

    def _press(self, sign: str) -> None:
        try:
            with localcontext() as context:
                context.prec = 32
                if sign.isdigit() or sign == ".":
                    start = "0" if self.fresh else self.shown
                    if not (sign == "." and "." in start):
                        text = start + sign if sign == "." or start != "0" else sign
                        self.shown, self.fresh = text[: _MAX_DIGITS + 1], False
                elif sign in {"CE", "C", "<"}:
                    if sign == "<" and not self.fresh:
                        self.shown = self.shown[:-1] or "0"
                    else:
                        self.shown, self.fresh = "0", True
                        if sign == "C":
                            self.kept, self.operator = None, ""
                elif sign in {"+", "-", "*", "/"}:
                    self._equals()
                    self.kept, self.operator, self.fresh = Decimal(self.shown), sign, True
                elif sign == "=":
                    self._equals()
                    self.kept, self.operator = None, ""
                else:
                    value = Decimal(self.shown)
                    results: dict[str, Callable[[], Decimal]] = {
                        "%": lambda: value / 100, "1/x": lambda: 1 / value, "sq": lambda: value * value,
                        "sqrt": value.sqrt, "+/-": lambda: -value,
                    }  # fmt: skip
                    self._show(results[sign]())
        except (InvalidOperation, DivisionByZero, OverflowError):
            self.shown, self.fresh, self.kept, self.operator = (
                "Cannot divide by zero",
                True,
                None,
                "",
            )

    def _equals(self) -> None:
        if self.kept is None or not self.operator:
            Decimal(self.shown)
            return
        left, right = self.kept, Decimal(self.shown)
        self._show({"+": lambda: left + right, "-": lambda: left - right,
                    "*": lambda: left * right, "/": lambda: left / right}[self.operator]())  # fmt: skip

    def _show(self, value: Decimal) -> None:
        if abs(value) > Decimal("1e30") or (value and abs(value) < Decimal("1e-30")):
            self.shown = f"{value:.6e}"
        else:
            rounded = (
                value.quantize(Decimal("1e-14"))
                if value != value.to_integral()
                else value.to_integral()
            )
            text = f"{rounded:f}"
            self.shown = text.rstrip("0").rstrip(".") if "." in text else text
        self.fresh = True


def _date(text: str) -> dt.date | None:
    try:
        month, day, year = (int(part) for part in text.strip().split("/"))
        return dt.date(year, month, day)
    except ValueError:
        return None


def open_calculator(desktop: Desktop, arguments: Sequence[str]) -> Window:
    """Open Calculator."""
    del arguments
    return Calculator(desktop)
