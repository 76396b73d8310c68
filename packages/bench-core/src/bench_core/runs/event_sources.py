"""Events of a run that come from outside its trials, such as from the pool of its VMs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue

    from bench_core.run_folder.folder import RunFolder

KeepEvent = Callable[[str, "Mapping[str, JsonValue]"], None]
"""Keeps an event of a kind with its data in `events.jsonl`."""

EventSource = Callable[["KeepEvent | None"], None]
"""Gets the function that keeps its events, and None once they are no longer kept."""


@contextmanager
def connected_sources(sources: Sequence[EventSource], folder: RunFolder) -> Iterator[None]:
    """Keep the events of `sources` in the run folder for the time of the block."""
    for each in sources:
        each(folder.note)
    try:
        yield
    finally:
        for each in sources:
            each(None)
