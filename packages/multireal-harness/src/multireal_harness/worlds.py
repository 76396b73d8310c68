"""Runs on the built-in world: its apps started for as long as they are needed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from multireal_harness.world import BuiltInWorld

__all__ = ["built_in_world"]


@contextmanager
def built_in_world() -> Iterator[BuiltInWorld]:
    """Start the local apps and stop them at the end; they run in threads of their own."""
    from multireal_harness.world import BuiltInWorld  # noqa: PLC0415  # only built-in runs need it

    world = BuiltInWorld()
    world.open()
    try:
        yield world
    finally:
        world.close()
