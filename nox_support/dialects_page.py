"""The tables of the page "Computer use", written from the dialects themselves.

`python -m nox_support.dialects_page docs/computer-use.md --write` brings the page up to date.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench_core import exit_codes
from bench_core.agents.dialects import all_dialects

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["main", "with_tables"]

_TABLE = re.compile(r"(<!-- table: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str) -> str:
    """Return the page with every table between its two comments as it has to be.

    Raises:
        KeyError: There is no table of that name.
    """
    return _TABLE.sub(lambda found: f"{found[1]}{_TABLES[found['name']]()}\n{found[3]}", page)


@click.command()
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Write the page instead of checking it.")
@click.pass_context
def main(context: click.Context, path: Path, *, write: bool) -> None:
    """Check or write the tables of a page."""
    page = path.read_text(encoding="utf-8")
    fresh = with_tables(page)
    if write:
        path.write_text(fresh, encoding="utf-8")
    elif fresh != page:
        click.echo(f"{path} is out of date: run this with --write")
        context.exit(exit_codes.FELL_SHORT)


def _which() -> str:
    rows = [
        (
            f"`{each.name}`",
            f"`{each.provider}`",
            "<br>".join(f"`{pattern}`" for pattern in each.models).replace("|", "\\|"),
            ", ".join(each.environments),
            each.coordinates,
            f"{len(each.members)} of {len(each.members) + len(each.off)}",
            "no" if not each.default else "yes",
            each.since.isoformat(),
        )
        for each in all_dialects().values()
    ]
    places = ("models", "environments", "places", "calls")
    return _table(("dialect", "API", *places, "by default", "documents of"), rows)


def _members() -> str:
    rows = []
    for each in all_dialects().values():
        asked: dict[tuple[str, ...], list[str]] = {}
        for name, member in each.members.items():
            asked.setdefault(member.needs, []).append(name)
        lines = [
            f"{_quoted(needs) or 'nothing'}: {_quoted(names)}" for needs, names in asked.items()
        ]
        rows.append((f"`{each.name}`", "<br>".join(lines), _quoted(each.off) or "-"))
    return _table(("dialect", "needed actions: what the model can ask for", "always off"), rows)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


_TABLES = {"which": _which, "members": _members}

if __name__ == "__main__":
    main()
