"""What may go wrong with the processes and servers of a benchmark's trial, and what its record then says.

The benchmarks' own tests and the documentation both read this table. Where a row has a score, its agent
would have solved its task, so that a zero is never its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench_core.records import Status

__all__ = ["PART_FAULTS", "PartFault", "Phase", "WayToFail", "waa_fault"]

WayToFail = Literal["TERM", "KILL", "STOP", "500", "429", "nothing", "garbage", "cut", "late"]
Phase = Literal["open", "work", "capture", "evaluate"]
_PHASES: tuple[Phase, ...] = ("open", "work", "capture", "evaluate")
_WAA_PARTS = ("desktop", "evaluator")


@dataclass(frozen=True)
class PartFault:
    """One part of a benchmark's trial that fails.

    Attributes:
        benchmark: Its name.
        part: Which process or server.
        fault: A signal, or how the server answers.
        phase: When: as the environment is opened, while the agent works, as it is captured, as it
            is evaluated.
        status: How the trial ends.
        score: None where it is unknown.
        suspect: Why the score may not be the agent's own doing; empty where it is.
        flags: Those the record carries.
    """

    benchmark: str
    part: str
    fault: WayToFail
    phase: Phase
    status: Status = Status.ENVIRONMENT_ERROR
    score: float | None = None
    suspect: str = ""
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Say which one this is in words with hyphens."""
        return f"{self.benchmark}-{self.part}-{self.fault}-at-{self.phase}".lower().replace(
            " ", "-"
        )

    @property
    def worked(self) -> bool:
        """Whether the agent began, so that its step, its model call and its files are in the record."""
        return self.phase != "open"


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
    return PartFault("waa", part, fault, phase, flags=("not_retried",) if paid else ())


def _lost(benchmark: str, part: str, *cells: tuple[WayToFail, Phase]) -> tuple[PartFault, ...]:
    """Rows of a trial that has no score and is tried again."""
    return tuple(PartFault(benchmark, part, fault, phase) for fault, phase in cells)


def _uncaptured(part: str, *faults: WayToFail) -> tuple[PartFault, ...]:
    """Rows of Multi-REAL whose end state is lost after the agent's work."""
    flags = ("incomplete_state", "not_retried")
    return tuple(PartFault("multireal", part, fault, "capture", flags=flags) for fault in faults)


def _suspect(benchmark: str, part: str, cause: str, *faults: WayToFail) -> tuple[PartFault, ...]:
    """Rows of a trial that is scored and says that its score may not be the agent's."""
    return tuple(
        PartFault(benchmark, part, fault, "work", Status.COMPLETED, 0.0, cause) for fault in faults
    )


PART_FAULTS: tuple[PartFault, ...] = (
    *_lost("multireal", "browser", ("KILL", "open"), ("TERM", "work")),
    PartFault("multireal", "browser", "STOP", "work", flags=("suspended",)),
    PartFault("multireal", "browser", "KILL", "capture", flags=("not_retried",)),
    *_lost("multireal", "app", ("500", "open"), ("nothing", "open"), ("garbage", "open"), ("late", "open")),
    *_suspect("multireal", "app", "site_error", "500", "429"),
    *_suspect("multireal", "app", "navigation_blocked", "nothing", "garbage", "late"),
    *_uncaptured("app", "500", "nothing", "garbage", "late"),
    *_lost("multireal", "app server", ("TERM", "open")),
    PartFault("multireal", "app server", "KILL", "work", flags=("incomplete_state", "not_retried")),
    *_uncaptured("app server", "STOP"),
    *_lost("multireal", "model server", ("500", "work"), ("nothing", "work"), ("garbage", "work"), ("late", "work")),
    *(
        PartFault("multireal", "judge server", fault, "evaluate", Status.COMPLETED, 1.0, flags=("judge_error",))
        for fault in ("500", "nothing", "garbage", "late")
    ),
    *_lost("webarena", "browser", ("KILL", "open"), ("TERM", "work")),
    PartFault("webarena", "browser", "STOP", "work", flags=("suspended",)),
    *_lost("webarena", "browser", ("KILL", "capture")),
    *_lost("webarena", "site", ("500", "open"), ("nothing", "open"), ("garbage", "open"), ("late", "open")),
    *_lost("webarena", "start page", ("500", "open"), ("nothing", "open"), ("late", "open")),
    *_suspect("webarena", "site", "site_error", "500", "429"),
    *_suspect("webarena", "site", "navigation_blocked", "nothing", "garbage", "late"),
    PartFault("webarena", "site", "cut", "work", Status.COMPLETED, 1.0, "navigation_blocked"),
    *_lost("webarena", "site server", ("TERM", "open"), ("KILL", "work"), ("STOP", "work")),
    *_lost("webarena", "model server", ("500", "work"), ("nothing", "work"), ("garbage", "work"), ("late", "work")),
    *(
        PartFault("webarena", "evaluator", fault, "evaluate", Status.EVALUATION_ERROR)
        for fault in ("TERM", "KILL", "STOP")
    ),
    *_waa(),
)  # fmt: skip
"""Every part that fails, each fault of it in the phase where it does most harm, and each phase."""
