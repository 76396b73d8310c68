"""Cases of every getter the tasks use, written by hand: a VM state, a configuration, what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from getter_recipes import chrome, clock, edge, explorer, files, gold, live, paint, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]


def cases() -> Iterator[Case]:
    """Yield all cases."""
    for family in (files, gold, chrome, edge, live, explorer, settings, clock, paint):
        yield from family.cases()
