"""Options by the names they had in an earlier version, which go on working with a notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["RenamedOptionsCommand"]


class RenamedOptionsCommand(click.Command):
    """A command some of whose options had other names in an earlier version.

    The old names are not in its `--help`; who uses one reads the new one on standard error.

    Args:
        renamed: Old name to new name, both with their dashes.

    Example:
        >>> @click.command(cls=RenamedOptionsCommand, renamed={"--demo": "--few-shot"})
        ... @click.option("--few-shot")
        ... def run(few_shot: str) -> None:
        ...     click.echo(few_shot)
        >>> run(["--demo", "a.txt"], standalone_mode=False)
        a.txt
    """

    def __init__(self, *args: Any, renamed: Mapping[str, str], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._renamed = renamed

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments, after the old names in them have become the new ones."""
        return super().parse_args(ctx, list(self._with_new_names(args)))

    def _with_new_names(self, args: Sequence[str]) -> Iterator[str]:
        rest = iter(args)
        for each in rest:
            if each == "--":
                yield each
                break
            old, equals, value = each.partition("=")
            if new := self._renamed.get(old):
                click.echo(f"Note: {old} is called {new} now", err=True)
            yield f"{new or old}{equals}{value}"
        yield from rest
