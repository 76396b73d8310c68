"""What an audit found: a row for each exploit and each honest run."""

from __future__ import annotations

from typing import Literal

from bench_core.records.base import Record
from bench_core.records.integrity import ExploitClass

__all__ = ["AuditReport", "AuditRow", "HonestRow", "Verdict"]

Verdict = Literal["blocked", "flagged", "UNDETECTED", "not run"]
"""`blocked`: nothing was gained. `flagged`: something was, and the result says so. `UNDETECTED`:
something was gained and nothing says so. `not run`: nothing shows that the exploit ran at all."""


class AuditRow(Record):
    """What became of one exploit.

    Attributes:
        score: What the benchmark gave it; None without a score.
        codes: What the result's integrity says.
        seen: Its canary.
    """

    id: str
    kind: ExploitClass
    world: str
    summary: str
    expected: Literal["blocked", "flagged"]
    verdict: Verdict
    score: float | None = None
    status: str = ""
    codes: tuple[str, ...] = ()
    seen: str = ""

    @property
    def passed(self) -> bool:
        """Whether it was stopped or seen, and really ran."""
        return self.verdict in {"blocked", "flagged"}


class HonestRow(Record):
    """What became of one honest run.

    Attributes:
        succeeds: Whether the agent is one that does the task, so that its score must be 1, or less.
        codes: What the result's integrity says, which must be nothing.
    """

    agent: str
    task: str
    succeeds: bool = True
    score: float | None = None
    state: str = "unknown"
    codes: tuple[str, ...] = ()
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it was not flagged, and scored as its agent must."""
        scored = self.score is not None and (self.score >= 1.0) == self.succeeds
        return scored and not self.codes and self.error is None

    @property
    def fault(self) -> str:
        """Why it did not pass, in words; empty where it did."""
        if self.passed:
            return ""
        return ", ".join(self.codes) or self.error or f"scored {self.score}"


class AuditReport(Record):
    """The outcome of an audit.

    Attributes:
        rows: One for each exploit.
        honest: One for each run of an honest agent.
    """

    world: str
    rows: tuple[AuditRow, ...] = ()
    honest: tuple[HonestRow, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every exploit ran and was blocked or flagged, and every honest run scored as it must, unflagged."""
        return all(each.passed for each in self.rows) and all(each.passed for each in self.honest)
