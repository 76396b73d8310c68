"""One trial, one path: what every benchmark's trials share, and the hooks a benchmark fills."""

from __future__ import annotations

from bench_core.trial.agent_work import AgentLimits
from bench_core.trial.hooks import (
    Benchmark,
    Evaluation,
    Evidence,
    TrialEnvironment,
    close_benchmark,
)
from bench_core.trial.integrity import IntegrityWatch
from bench_core.trial.run import refuse_misfit, rescore_trial, run_trial

__all__ = [
    "AgentLimits",
    "Benchmark",
    "Evaluation",
    "Evidence",
    "IntegrityWatch",
    "TrialEnvironment",
    "close_benchmark",
    "refuse_misfit",
    "rescore_trial",
    "run_trial",
]
