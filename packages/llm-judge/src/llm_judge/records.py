"""The records of judging that bench-core defines."""

from __future__ import annotations

from bench_core.records.judge import Criterion, JudgeCase, Verdict
from bench_core.records.vocabulary import VerdictKind

__all__ = ["Criterion", "JudgeCase", "Verdict"]

ACCEPTED: tuple[VerdictKind, ...] = ("proven", "supported")
"""The kinds that count for an outcome unless a policy says otherwise."""

NOT_CHECKED: dict[VerdictKind, str] = {
    "proven": "whether the criterion is what you meant",
    "supported": "that the quotations show what the model says",
    "opinion": "anything: it is a model's word alone",
    "unknown": "anything: there is no verdict",
}
"""The limits of a verdict of each kind: the questions it leaves unchecked."""
