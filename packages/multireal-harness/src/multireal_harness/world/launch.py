"""The built-in world for runs: its apps are started, and stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench_core.errors import InputError
from multireal_harness.world.builtin import BuiltInWorld
from multireal_harness.world.faults import AppFault

__all__ = ["built_in_world"]


@contextmanager
def built_in_world(faults: Sequence[AppFault] = ()) -> Iterator[BuiltInWorld]:
    """Start the local apps, in threads of their own, and stop them at the end of the block.

    Args:
        faults: How they misbehave.

    Raises:
        InputError: A fault names no app.
    """
    from multireal_harness.world.builtin import BuiltInWorld  # only built-in runs need it

    world = BuiltInWorld()
    world.open()
    try:
        for each in faults:
            if each.app not in world.urls:
                raise InputError(f"no built-in app {each.app!r}: there are {', '.join(world.urls)}")
            world.fail(each.app, each.kind, each.path, each.times, each.value)
        yield world
    finally:
        world.close()
