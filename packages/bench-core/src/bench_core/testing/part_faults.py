"""What may go wrong with the processes and servers of a benchmark's trial, and what its record then says.

The benchmarks' own tests and the documentation both read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench_core.records import Status

__all__ = ["PART_FAULTS", "PartFault", "waa_fault"]

WayToFail = Literal["TERM", "KILL", "STOP", "500", "nothing", "garbage", "late"]
Phase = Literal["open", "work", "capture", "evaluate"]
_PHASES: tuple[Phase, ...] = ("open", "work", "capture", "evaluate")
_WAA_PARTS = ("desktop", "evaluator")


@dataclass(frozen=True)
class PartFault:
    """One part of a benchmark's trial that fails; none of these has a score.

    Attributes:
        benchmark: Its name.
        part: Which process or server.
        fault: A signal, or how the server answers.
        phase: When: as the environment is opened, while the agent works, as it is captured, while
            an evaluator that needs the environment looks at it.
        flags: Those the record carries.
        status: How the trial ends.
    """

    benchmark: str
    part: str
    fault: WayToFail
    phase: Phase
    flags: tuple[str, ...] = ()
    status: Status = Status.ENVIRONMENT_ERROR

    @property
    def name(self) -> str:
        """Say which one this is in words with hyphens."""
        return f"{self.benchmark}-{self.part}-{self.fault}-at-{self.phase}".lower()


def _waa() -> tuple[PartFault, ...]:
    """Every fault in every phase, of one part or the other by turns; all 56 are in the campaign."""
    faults: tuple[WayToFail, ...] = ("TERM", "KILL", "STOP", "500", "nothing", "garbage", "late")
    return tuple(
        waa_fault(_WAA_PARTS[(row + column) % 2], fault, phase)
        for row, fault in enumerate(faults)
        for column, phase in enumerate(_PHASES)
    )


def waa_fault(part: str, fault: WayToFail, phase: Phase) -> PartFault:
    """Return what a part of a WAA trial does to it: after the agent's part, it is not tried again."""
    paid = phase in {"capture", "evaluate"} or (part == "evaluator" and phase == "work")
    return PartFault("waa", part, fault, phase, ("not_retried",) if paid else ())


PART_FAULTS: tuple[PartFault, ...] = (
    PartFault("multireal", "browser", "TERM", "work"),
    PartFault("multireal", "browser", "KILL", "work"),
    PartFault("multireal", "browser", "STOP", "work"),
    PartFault("multireal", "app", "500", "open"),
    PartFault("multireal", "app", "nothing", "open"),
    PartFault("multireal", "app", "late", "open"),
    PartFault("multireal", "app", "500", "capture", ("incomplete_state", "not_retried")),
    PartFault("multireal", "app", "nothing", "capture", ("incomplete_state", "not_retried")),
    PartFault("multireal", "app", "garbage", "capture", ("incomplete_state", "not_retried")),
    PartFault("multireal", "app", "late", "capture", ("incomplete_state", "not_retried")),
    PartFault("webarena", "browser", "TERM", "work"),
    PartFault("webarena", "browser", "KILL", "work"),
    PartFault("webarena", "browser", "STOP", "work", ("not_retried",)),
    PartFault("webarena", "site", "500", "open"),
    PartFault("webarena", "site", "nothing", "open"),
    PartFault("webarena", "site", "late", "open"),
    *_waa(),
)
"""Every part that fails, once in each phase it can fail in."""
