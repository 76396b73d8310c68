"""The records of judging that bench-core defines."""

from __future__ import annotations

from bench_core.records.judge import Criterion, JudgeCase, Verdict
from bench_core.records.vocabulary import VerdictKind

__all__ = ["Criterion", "JudgeCase", "Verdict"]

ACCEPTED: tuple[VerdictKind, ...] = ("proven", "supported")
"""The kinds that count for an outcome unless a policy says otherwise."""
