"""The parts of a provider, for functions that work on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.machines.records import JournalLine, Machine

if TYPE_CHECKING:
    from bench_core.machines.interface import Backend
    from bench_core.machines.journal import Journal
    from bench_core.machines.leases import Leases
    from bench_core.scheduling import Clock


@dataclass(frozen=True)
class Waits:
    """How long a provider waits, in seconds.

    Attributes:
        ready_s: For a machine to become healthy after a start or a reset.
        grace_s: Before a reaper removes machines without a live owner: lists lag behind creates.
        listed_s: For a machine to be listed whose create gave no clear answer.
        poll_s: Between two looks.
    """

    ready_s: float = 300.0
    grace_s: float = 60.0
    listed_s: float = 5.0
    poll_s: float = 0.2


@dataclass(frozen=True)
class Parts:
    """A backend and the books kept on it."""

    backend: Backend
    journal: Journal
    leases: Leases
    waits: Waits
    clock: Clock


def as_machine(parts: Parts, line: JournalLine) -> Machine:
    """Return the machine that a line is about, with the rest of its owner's lease."""
    lease = parts.leases.read(line.owner)
    return Machine(
        provider=line.provider, key=line.key, name=line.name, id=line.id,
        generation=line.generation, owner=line.owner, nonce=line.nonce, urls=line.urls,
        spec_sha256=line.spec_sha256, lease_until=lease.until if lease else None,
    )  # fmt: skip
