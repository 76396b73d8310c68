"""Records about machines: each one, its state, and who holds it until when."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeInt, PositiveFloat, PositiveInt

from bench_core.records import Record

INITIAL = "initial"
"""The tag of the state in which a machine was started; every provider can reset to it."""

MachineState = Literal["starting", "ready", "quarantined", "ending", "gone", "unknown"]
"""The known state of a machine.

`starting`: asked for, not seen yet. `ending`: to be removed. `gone`: recorded as running, but not
there. `unknown`: there, carries our labels, but is not recorded.
"""

JournalEvent = Literal["intent", "created", "adopted", "snapshot", "quarantined", "ending", "ended"]
"""`intent` comes before the machine is asked for, and `ending` before it is removed."""

Ending = Literal["stopped", "reaped", "replaced", "gone"]
"""Why a machine ended: its owner stopped it, no one held it, another took its place, or it was gone."""


class Machine(Record):
    """A machine that was started for a key, by a provider.

    Attributes:
        provider: The name of the provider.
        key: Its purpose, such as `run-7/slot-2`; one machine at a time.
        name: Its name at the provider; made of key and generation, the same on every try.
        id: The provider's own id.
        generation: Counts the machines of the key, from 1.
        owner: Its holder.
        nonce: Drawn for this machine: another nonce in an answer means another machine.
        urls: Its addresses.
        spec_sha256: Digest of its requested specification.
    """

    schema_version: Literal[1] = 1
    provider: str
    key: str
    name: str
    id: str = ""
    generation: PositiveInt
    owner: str
    nonce: str
    urls: dict[str, str] = Field(default_factory=dict)
    spec_sha256: str = ""
    lease_until: datetime | None = None
    state: MachineState = "ready"


class Found(Record):
    """A machine, or the remains of one, as the system that runs it lists it.

    Attributes:
        labels: Those it was created with; none if it died before it got them.
        since: When it was created, None if the system does not say.
        running: False if only remains are left: a folder, a disk, a stopped container.
    """

    name: str
    id: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    since: datetime | None = None
    running: bool = True
    urls: dict[str, str] = Field(default_factory=dict)


class Health(Record):
    """The health of a machine.

    Attributes:
        ok: Whether trials can run on it.
        reason: Why not.
        nonce: The nonce that the machine reports.
        state: Digest of the state that a reset has to restore, read from the machine itself.
        soiled: The mark left by the last `soil` that is still there; None for none.
        urls: Its current addresses.
    """

    ok: bool
    reason: str = ""
    nonce: str = ""
    state: str = ""
    soiled: str | None = None
    urls: dict[str, str] = Field(default_factory=dict)


class Lease(Record):
    """How long an owner holds its machines without saying so again.

    Attributes:
        pid: Its process, None for machines that outlive the command that started them.
        started: Token of when the process started; ids of processes are given again.
        host: The computer, and the space of process ids on it.
    """

    schema_version: Literal[1] = 1
    owner: str
    until: datetime
    ttl_s: PositiveFloat
    pid: PositiveInt | None = None
    started: str | None = None
    host: str = ""


class JournalLine(Record):
    """A line of the journal: an operation on a machine that is about to start, or is done."""

    schema_version: Literal[1] = 1
    at: datetime
    event: JournalEvent
    provider: str
    key: str
    name: str
    generation: PositiveInt
    owner: str
    nonce: str
    spec_sha256: str = ""
    id: str = ""
    urls: dict[str, str] = Field(default_factory=dict)
    tag: str | None = None
    digest: str | None = None
    ending: Ending | None = None
    note: str = ""


class Finding(Record):
    """A finding about the system that is to run machines, before one is started.

    Attributes:
        status: `fail`: none can be started. `warn`: they can, and something will be missing.
        fix: A remedy.
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    detail: str = ""
    fix: str = ""


class Reaped(Record):
    """The result of a reaper's pass.

    Attributes:
        removed: Names of the removed machines.
        kept: How many machines were left to their owners or to their grace time.
        failed: Names of machines that could not be removed, each with the reason; the next reaper tries again.
    """

    removed: tuple[str, ...] = ()
    kept: NonNegativeInt = 0
    failed: dict[str, str] = Field(default_factory=dict)


def spec_digest(spec: Mapping[str, JsonValue]) -> str:
    """Return the SHA-256 of a machine's specification, whatever the order of its settings."""
    text = json.dumps(spec, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
