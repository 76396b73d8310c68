"""Options in titled panels of a command's help, shown by click's own formatter.

cloup and rich-click show panels too, but with them `run --help` costs 1.4 and 2.7 times the CPU of plain click: one
loads `importlib.metadata` and `typing_extensions`, the other rich, before the first line is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, get_args

import click

_Command = TypeVar("_Command", bound="Callable[..., Any]")

Panel = Literal[
    "Tasks", "Agent", "Model", "Limits and money", "Where it runs", "Results", "More"
]  # fmt: skip
PANELS: tuple[Panel, ...] = get_args(Panel)
"""The panels of a `run` command, in the order of its help."""

FIRST_OPTIONS = (
    "--task", "--limit", "--agent", "--model", "--max-cost", "--max-steps", "--world", "--workers",
    "--out", "--dry-run",
)  # fmt: skip
"""Options for a first run; these come first in their panels."""

_NAMES = 30
"""How wide the column of the options' names is; longer ones have a line of their own, as click does it."""


class PanelOption(click.Option):
    """An option that knows its panel."""

    def __init__(self, *args: Any, panel: Panel, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.panel: Panel = panel


class PanelCommand(click.Command):
    """A command whose help has its options in panels; those without one are in the last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each panel, those of a first run before the others."""
        panels: dict[Panel, list[tuple[str, str]]] = {title: [] for title in PANELS}
        later = len(FIRST_OPTIONS)
        place = {name: index for index, name in enumerate(FIRST_OPTIONS)}
        for each in sorted(
            self.get_params(ctx), key=lambda each: min(place.get(name, later) for name in each.opts)
        ):
            record = each.get_help_record(ctx)
            if record is not None:
                title = each.panel if isinstance(each, PanelOption) else PANELS[-1]
                # as wide in all panels, so that the descriptions align
                panels[title].append((f"{record[0]:<{_NAMES}}", record[1]))
        for title, records in panels.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=_NAMES)


def option(panel: Panel, *names: str, **settings: Any) -> Callable[[_Command], _Command]:
    """Return the decorator that adds an option of this panel, which is as `click.option` makes it."""
    return click.option(*names, cls=PanelOption, panel=panel, **settings)


def stacked(*decorators: Callable[[Any], Any]) -> Callable[[_Command], _Command]:
    """Return the decorator that adds options so that help lists them in the order given."""

    def decorate(command: _Command) -> _Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate
