"""Scripted exploits against a built-in world, and honest agents beside them: what is detected."""

from __future__ import annotations

from bench_core.audit.exploits import (
    PROOF,
    AuditWorld,
    Exploit,
    HonestAgent,
    Proof,
    exploits_of,
    report_proof,
)
from bench_core.audit.listening import listening_places
from bench_core.audit.records import AuditReport, AuditRow, HonestRow, Verdict
from bench_core.audit.running import audit

__all__ = [
    "PROOF",
    "AuditReport",
    "AuditRow",
    "AuditWorld",
    "Exploit",
    "HonestAgent",
    "HonestRow",
    "Proof",
    "Verdict",
    "audit",
    "exploits_of",
    "listening_places",
    "report_proof",
]
