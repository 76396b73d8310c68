"""What may go wrong with the processes and servers of a benchmark's trial, and what its record then says.

The benchmarks' own tests and the documentation both read this table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bench_core.records import Status

__all__ = ["PART_FAULTS", "PartFault"]


@dataclass(frozen=True)
class PartFault:
    """One part of a benchmark's trial that fails; none of these has a score.

    Attributes:
        benchmark: Its name.
        part: Which process or server.
        fault: A signal, or how the server answers.
        phase: When: as the environment is opened, while the agent works, as it is captured.
        flags: Those the record carries.
        status: How the trial ends.
    """

    benchmark: str
    part: str
    fault: Literal["TERM", "KILL", "STOP", "500", "nothing", "garbage", "late"]
    phase: Literal["open", "work", "capture"]
    flags: tuple[str, ...] = ()
    status: Status = Status.ENVIRONMENT_ERROR

    @property
    def name(self) -> str:
        """Say which one this is in words with hyphens."""
        return f"{self.benchmark}-{self.part}-{self.fault}-at-{self.phase}".lower()


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
)
"""Every part that fails, once in each phase it can fail in."""
