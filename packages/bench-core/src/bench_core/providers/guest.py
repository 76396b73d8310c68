"""Requests to a virtual machine's guest for its state, mark and clock."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping

from pydantic import Field, PositiveFloat

from bench_core.machines import Finding, MachineError
from bench_core.providers.probes import Probe, ask
from bench_core.records import Record

ANSWER_S = 10.0
"""How long a guest may take for one answer, in seconds."""


class GuestSpec(Record):
    """Requests to a guest.

    Attributes:
        urls: Addresses of the guest's servers, by name; `{port:N}` is the address of its port N.
        state: Requests the state that a reset has to restore; its digest is compared.
        soil: Writes `{mark}` to a place that only a reset clears.
        mark: Asks for that mark; an empty answer for none.
        set_clock: Sets the guest's clock to `{now}`, in seconds since 1970.
        clock: Asks for the guest's clock, in those seconds.
        clock_s: How far it may be off, in seconds.
        boot_s: Until `state` is answered for the first time, in seconds.
    """

    urls: dict[str, str] = Field(default_factory=dict)
    state: Probe
    soil: Probe | None = None
    mark: Probe | None = None
    set_clock: Probe | None = None
    clock: Probe | None = None
    clock_s: PositiveFloat = 60.0
    boot_s: PositiveFloat = 600.0


async def state_digest(spec: GuestSpec, values: Mapping[str, str]) -> str:
    """Return the digest of the state that a reset has to restore.

    Raises:
        MachineError: The guest does not answer, or shows nothing.
    """
    answer = await ask(spec.state, values, within_s=ANSWER_S)
    # a failed program's answer is empty, too, and equal before and after any change
    if not answer.strip():
        raise MachineError("the guest's answer to `state` is empty")
    return hashlib.sha256(answer.encode()).hexdigest()


async def soil(spec: GuestSpec, values: Mapping[str, str], mark: str) -> None:
    """Have the guest write `mark`, and see that it is there: one that never was proves no reset.

    Raises:
        MachineError: It is not, or the specification does not say how.
    """
    if spec.soil is None or spec.mark is None:
        raise MachineError("the specification does not say how to write and show a mark")
    await ask(spec.soil, {**values, "mark": mark}, within_s=ANSWER_S)
    if await mark_of(spec, values) != mark:
        raise MachineError("the guest did not write the mark")


async def mark_of(spec: GuestSpec, values: Mapping[str, str]) -> str | None:
    """Return the mark that is still there; None if there is none.

    Raises:
        MachineError: The guest does not answer.
    """
    if spec.mark is None:
        return None
    return (await ask(spec.mark, values, within_s=ANSWER_S)).strip() or None


async def set_clock(spec: GuestSpec, values: Mapping[str, str]) -> None:
    """Set the guest's clock, which resumes at the saved moment.

    Raises:
        MachineError: The guest does not answer.
    """
    if spec.set_clock is not None:
        now = {"now": str(int(time.time()))}
        await ask(spec.set_clock, {**values, **now}, within_s=ANSWER_S)


async def check_clock(spec: GuestSpec, values: Mapping[str, str]) -> None:
    """Compare the guest's clock with this computer's.

    Raises:
        MachineError: It is off, or the guest does not show it.
    """
    if spec.clock is None:
        return
    answer = (await ask(spec.clock, values, within_s=ANSWER_S)).strip()
    try:
        off_s = abs(float(answer) - time.time())
    except ValueError:
        raise MachineError(f"the guest's clock shows {answer[:40]!r}") from None
    if not off_s <= spec.clock_s:
        raise MachineError(f"the guest's clock is off by {off_s:.0f} s")


def guest_findings(spec: GuestSpec) -> list[Finding]:
    """Return findings on properties that a specification leaves unproven after a reset."""
    found = []
    if spec.set_clock is None or spec.clock is None:
        found.append(
            Finding(
                name="clock",
                status="warn",
                detail="a loaded guest goes on from the moment that was saved, and nothing sets its clock",
                fix="give `set_clock` and `clock`",
            )
        )
    else:
        detail = f"set and checked after each reset, within {spec.clock_s:.0f} s"
        found.append(Finding(name="clock", status="ok", detail=detail))
    if spec.soil is None or spec.mark is None:
        found.append(
            Finding(
                name="mark",
                status="warn",
                detail="nothing is written before a reset, so only `state` shows what was left",
                fix="give `soil` and `mark`",
            )
        )
    else:
        detail = "written before each reset, and proven gone"
        found.append(Finding(name="mark", status="ok", detail=detail))
    return found
