"""What users are told while a run goes on, kept for tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench_core.progress import NoProgress

if TYPE_CHECKING:
    from bench_core.records import TrialResult


@dataclass
class Told(NoProgress):
    """Keeps which trials ended and what people are told."""

    ended: list[TrialResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def finished(self, result: TrialResult) -> None:
        self.ended.append(result)

    def note(self, text: str) -> None:
        self.notes.append(text)
