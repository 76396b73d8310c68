"""The records that cross a file, a connection or a package boundary.

All are frozen, forbid unknown fields and survive a round trip through JSON.
"""

from __future__ import annotations

from bench_core.records.base import Count, Dollars, GitState, Record, World
from bench_core.records.integrity import Integrity, IntegrityCode, IntegrityFinding
from bench_core.records.model_calls import CallPart, CallTurn, ModelCall
from bench_core.records.run import Event, Rerun, RunInfo, Session, SessionOutcome
from bench_core.records.sealing import Sealing
from bench_core.records.task import AgentTask, Limits, Resource, Task, TrialKey
from bench_core.records.trial import (
    LARGEST_SCORE,
    SUCCESS_SCORE,
    AgentCode,
    AgentEnding,
    AgentOutcome,
    AgentProgram,
    Artifact,
    ArtifactFile,
    Attempt,
    Check,
    ErrorInfo,
    RefusedCall,
    SeenElement,
    Spending,
    Status,
    Step,
    StepView,
    StoredFolder,
    TrialResult,
    Usage,
    as_score,
)

__all__ = [
    "LARGEST_SCORE",
    "SUCCESS_SCORE",
    "AgentCode",
    "AgentEnding",
    "AgentOutcome",
    "AgentProgram",
    "AgentTask",
    "Artifact",
    "ArtifactFile",
    "Attempt",
    "CallPart",
    "CallTurn",
    "Check",
    "Count",
    "Dollars",
    "ErrorInfo",
    "Event",
    "GitState",
    "Integrity",
    "IntegrityCode",
    "IntegrityFinding",
    "Limits",
    "ModelCall",
    "Record",
    "RefusedCall",
    "Rerun",
    "Resource",
    "RunInfo",
    "Sealing",
    "SeenElement",
    "Session",
    "SessionOutcome",
    "Spending",
    "Status",
    "Step",
    "StepView",
    "StoredFolder",
    "Task",
    "TrialKey",
    "TrialResult",
    "Usage",
    "World",
    "as_score",
]
