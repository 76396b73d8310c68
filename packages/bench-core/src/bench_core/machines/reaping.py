"""Compare the journal with running machines, and remove machines without a live owner."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bench_core.machines.interface import MachineError
from bench_core.machines.labels import NAMESPACE, NONCE, is_of_another
from bench_core.machines.parts import Parts, as_machine
from bench_core.machines.records import Found, JournalLine, Machine, MachineState, Reaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.machines.journal import Entry

FAULTS = (MachineError, OSError, asyncio.TimeoutError)
"""Errors of a backend's calls when the machine or the connection to it fails."""


async def survey(parts: Parts) -> list[Machine]:
    """Return what is there or should be, by key and generation."""
    seen = {each.name: each for each in await parts.backend.find()}
    entries = parts.journal.entries(parts.backend.name)
    known = [
        as_machine(parts, entry.last).model_copy(update={"state": _state(entry, seen)})
        for entry in entries.values()
        if not entry.ended
    ]
    written = {each.name for each in known}
    rest = [
        _unknown(parts, each)
        for each in seen.values()
        if each.name not in written and _ours(parts, each, entries)
    ]
    return sorted(known + rest, key=lambda each: (each.key, each.generation))


async def reap(parts: Parts, now: datetime) -> Reaped:
    """Remove the machines whose owners are gone and machines that no journal records; leave all others.

    Two reapers may do the same at once: removing is safe to do twice.
    """
    # Reality first: a machine is written down before it is created, so a machine seen here and not
    # in the journal read afterwards was never written there.
    seen = {each.name: each for each in await parts.backend.find()}
    condemned: dict[str, JournalLine | None] = {}
    with parts.journal.locked():
        entries = parts.journal.entries(parts.backend.name)
        kept = 0
        for name, entry in entries.items():
            if entry.ended:
                continue
            if not _abandoned(parts, entry, now):
                kept += 1
                continue
            # After this line its owner, should it wake up, learns that it has lost the machine.
            condemned[name] = parts.journal.follow(entry.last, "ending", parts.clock.now())
    for name, found in seen.items():
        if name in condemned or not _ours(parts, found, entries):
            continue
        entry_of = entries.get(name)
        if entry_of is None or entry_of.ended:
            if _grace_is_over(parts, found, entry_of, now):
                condemned[name] = None
            else:
                kept += 1
    return await _remove_all(parts, condemned, kept, now)


async def _remove_all(
    parts: Parts, condemned: Mapping[str, JournalLine | None], kept: int, now: datetime
) -> Reaped:
    """Remove the condemned machines, and end the entries of those that are gone.

    Args:
        parts: The backend, the journal and the leases.
        condemned: By name, the journal's line about the end of a machine; None for one without a valid entry.
        kept: How many machines were left alone, for the result.
        now: The time of the decision.
    """
    seen = await parts.backend.find() if condemned else ()
    # a recorded machine whose name another program uses by now is gone, and the other's is left alone
    others = {
        each.name
        for each in seen
        if (line := condemned.get(each.name)) is not None and is_of_another(each, line)
    }
    failed: dict[str, str] = {}
    for name in condemned.keys() - others:
        try:
            await parts.backend.remove(name)
        except FAULTS as error:  # noqa: PERF203  # one that cannot be removed must not keep the rest
            failed[name] = str(error)
    left = {each.name for each in await parts.backend.find()} if condemned else set()
    failed |= dict.fromkeys(
        (condemned.keys() & left) - failed.keys() - others, "it is still listed"
    )
    removed = [name for name in condemned if name not in failed]
    with parts.journal.locked():
        now_written = parts.journal.entries(parts.backend.name)
        for name in removed:
            line, entry = condemned[name], now_written.get(name)
            # another reaper may have ended it meanwhile, and compacted the journal
            if line is not None and entry is not None and not entry.ended:
                ending = "gone" if name in others else "reaped"
                parts.journal.follow(line, "ended", parts.clock.now(), ending=ending)
        parts.journal.compact()
        holders = {
            each.last.owner
            for each in parts.journal.entries(parts.backend.name).values()
            if not each.ended
        }
    parts.leases.sweep(frozenset(holders), now, parts.waits.grace_s)
    return Reaped(removed=tuple(sorted(set(removed) - others)), kept=kept, failed=failed)


def _abandoned(parts: Parts, entry: Entry, now: datetime) -> bool:
    grace_s = parts.waits.grace_s
    if parts.leases.lives(entry.last.owner, now, grace_s):
        return False
    return now >= entry.last.at + timedelta(seconds=grace_s)


def _grace_is_over(parts: Parts, found: Found, entry: Entry | None, now: datetime) -> bool:
    """Whether the grace time of something without a valid entry is over."""
    since = entry.last.at if entry is not None else found.since
    return since is None or now >= since + timedelta(seconds=parts.waits.grace_s)


def _ours(parts: Parts, found: Found, entries: Mapping[str, Entry]) -> bool:
    """Whether it belongs to this journal: by its labels, or by its name if it has none yet."""
    namespace = found.labels.get(NAMESPACE)
    if namespace is not None:
        entry = entries.get(found.name)
        of_entry = entry is None or found.labels.get(NONCE) == entry.last.nonce
        return namespace == parts.journal.namespace and of_entry
    return not found.labels and not found.running and found.name in entries


def _state(entry: Entry, seen: Mapping[str, Found]) -> MachineState:
    if entry.last.event == "ending":
        return "ending"
    if not entry.usable:
        return "quarantined"
    if entry.last.name in seen:
        return "ready" if seen[entry.last.name].running else "gone"
    return "starting" if entry.last.event == "intent" else "gone"


def _unknown(parts: Parts, found: Found) -> Machine:
    generation = found.labels.get("proctor.generation", "1")
    return Machine(
        provider=parts.backend.name,
        key=found.labels.get("proctor.key", ""),
        name=found.name,
        id=found.id,
        generation=int(generation) if generation.isdigit() and int(generation) else 1,
        owner=found.labels.get("proctor.owner", ""),
        nonce=found.labels.get(NONCE, ""),
        urls=found.urls,
        state="unknown",
    )
