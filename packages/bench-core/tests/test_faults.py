"""Whose fault something is: each piece of evidence that decides, turned both ways."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from bench_core.errors import (
    AgentError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    InputError,
)
from bench_core.faults import FAULTS, FaultEvidence, fault_of, recorded_fault
from bench_core.models import ModelError
from bench_core.records import ErrorInfo, Status, TrialResult
from bench_core.testing.faults import FAULTS as MATRIX

DOWN = EnvironmentFaultError("down")
NO_FILES = InputError("answer.json is not readable")
NO_FILES.__cause__ = OSError(errno.EMFILE, "too many open files")


class LastingError(EnvironmentFaultError):
    lasting = True


def model(kind: Any, *, answered: bool = False) -> ModelError:
    return ModelError(kind, "no", provider="p", answered=answered)


@pytest.mark.parametrize(
    ("error", "evidence", "name"),
    [
        (ValueError("bug"), {}, "agent_error"),
        (ValueError("bug"), {"origin": "benchmark"}, "harness_error"),
        (ValueError("bug"), {"origin": "harness"}, "harness_fault"),
        (ValueError("bug"), {"origin": "benchmark", "phase": "evaluation"}, "evaluation_error"),
        (EvaluationError("mine"), {}, "agent_error"),
        (EvaluationError("torn"), {"origin": "benchmark", "phase": "capture"}, "evaluation_error"),
        (DOWN, {}, "environment"),
        (DOWN, {"believed": False}, "agent_error"),
        (DOWN, {"origin": "benchmark", "after_work": True, "phase": "capture"}, "after_work"),
        (DOWN, {"origin": "benchmark", "phase": "evaluation"}, "evaluator_down"),
        (LastingError("down"), {}, "lasting"),
        (InputError("no key"), {}, "input"),
        (InputError("no key"), {"believed": False}, "agent_error"),
        (InputError("no key"), {"origin": "benchmark", "phase": "evaluation"}, "evaluation_error"),
        (BudgetExceededError("so it says"), {}, "agent_error"),
        (BudgetExceededError("spent"), {"budget_spent": True}, "budget_exceeded"),
        (BudgetExceededError("spent"), {"origin": "benchmark"}, "budget_exceeded"),
        (AgentError("declined", fault="model_refusal"), {}, "model_refusal"),
        (AgentError("so it says", fault="environment"), {}, "agent_error"),
        (AgentError("so it says", fault="nothing"), {}, "agent_error"),
        (RuntimeError("can't start new thread"), {}, "harness_fault"),
        (RuntimeError("can't start new thread"), {"own_process": True}, "agent_error"),
        (RuntimeError("bug"), {}, "agent_error"),
        (OSError(errno.ENOSPC, "no room"), {}, "harness_fault"),
        (OSError(errno.ENOENT, "no file"), {}, "agent_error"),
        (MemoryError(), {}, "harness_fault"),
        (NO_FILES, {"origin": "benchmark", "phase": "evaluation"}, "harness_fault"),
        (NO_FILES, {"origin": "benchmark", "phase": "capture"}, "harness_fault"),
        (NO_FILES, {"believed": False}, "agent_error"),
        (MemoryError(), {"origin": "benchmark", "phase": "evaluation"}, "evaluation_error"),
        (model("bad_request"), {}, "bad_request"),
        (model("bad_request", answered=True), {}, "request_refused"),
        (model("bad_request"), {"answered": True}, "request_refused"),
        (model("context_window"), {}, "context_window"),
        (model("context_window"), {"origin": "benchmark", "phase": "check"}, "environment"),
        (model("overloaded"), {"believed": False}, "agent_error"),
        (None, {"ended": Status.TIME_LIMIT}, "time_limit"),
        (None, {"ended": Status.TIME_LIMIT, "unserved": model("overloaded")}, "overloaded"),
        (None, {"ended": Status.STEP_LIMIT, "unserved": model("rate_limit")}, "rate_limit"),
        (None, {"ended": Status.TIME_LIMIT, "unserved": model("auth")}, "auth"),
        (None, {"ended": Status.TIME_LIMIT, "unserved": model("context_window")}, "time_limit"),
        (ValueError("gave up"), {"unserved": model("server")}, "server"),
        (ValueError("gave up"), {"unserved": model("context_window")}, "context_window"),
        (
            ValueError("gave up"),
            {"unserved": model("bad_request", answered=True)},
            "request_refused",
        ),
        (AgentError("declined", fault="model_refusal"), {"unserved": DOWN}, "model_refusal"),
    ],
)
def test_evidence_decides(error: Exception | None, evidence: dict[str, Any], name: str) -> None:
    assert fault_of(FaultEvidence(error, **evidence)).name == name


@pytest.mark.parametrize("kind", FAULTS.values(), ids=lambda each: each.name)
def test_only_the_agents_faults_are_scored(kind: Any) -> None:
    assert kind.scored is (kind.owner == "agent")
    assert not (kind.stops_run and (kind.retry or kind.scored))
    assert kind.failure_mode.value in {kind.status.value, kind.name}


def test_the_matrix_of_faults_has_a_fault_of_each_owner() -> None:
    owners = {each.row.owner for each in MATRIX if each.row is not None}
    assert owners == {each.owner for each in FAULTS.values()}


@pytest.mark.parametrize(
    ("fields", "phase", "name", "retry"),
    [
        ({}, None, "environment", True),
        ({"flags": ("not_retried",)}, None, "environment", False),
        ({"flags": ("not_retried",)}, "evaluation", "evaluator_down", False),
        ({}, "evaluation", "evaluator_down", True),
        ({"flags": ("harness_error",)}, "open", "harness_error", False),
        ({"status": Status.EVALUATION_ERROR}, "evaluation", "evaluation_error", False),
    ],
)
def test_a_benchmark_says_itself_what_happened(
    fields: dict[str, Any], phase: str | None, name: str, retry: bool
) -> None:
    error = ErrorInfo(kind="Own", message="down", phase=phase)
    given = {"status": Status.ENVIRONMENT_ERROR, "score": None, "error": error, **fields}
    kind = recorded_fault(TrialResult(benchmark="b", task_id="t", agent="a", **given))
    assert kind is not None
    assert (kind.name, kind.retry) == (name, retry)
    scored = {"status": Status.AGENT_ERROR, "score": 0.0, "error": error}
    assert recorded_fault(TrialResult(benchmark="b", task_id="t", agent="a", **scored)) is None
