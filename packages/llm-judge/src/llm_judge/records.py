"""The records of judging that bench-core defines."""

from __future__ import annotations

from bench_core.records.judge import Criterion, JudgeCase, Verdict

__all__ = ["Criterion", "JudgeCase", "Verdict"]
