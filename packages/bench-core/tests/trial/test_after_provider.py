"""How an agent's part ends after its model's provider has failed, served, or never answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.models import ModelError
from bench_core.protocols import LatestCall
from bench_core.records import AgentOutcome, ErrorInfo, Status
from bench_core.trial.agent_work import settled

if TYPE_CHECKING:
    from collections.abc import Callable


def failed(kind: Any, *, answered: bool = True) -> LatestCall:
    latest = LatestCall(answered=answered)
    latest.began("p:m")
    latest.failed(ModelError(kind, "no", provider="p", answered=answered))
    return latest


def served() -> LatestCall:
    latest = failed("overloaded")
    latest.served()
    return latest


def waiting(*, answered: bool) -> LatestCall:
    latest = LatestCall(answered=answered)
    latest.began("p:m")
    return latest


@pytest.mark.parametrize(
    ("status", "said", "latest", "fault"),
    [
        (Status.TIME_LIMIT, None, lambda: failed("overloaded"), "overloaded"),
        (Status.STEP_LIMIT, None, lambda: failed("rate_limit"), "rate_limit"),
        (Status.AGENT_ERROR, "agent_error", lambda: failed("server"), "server"),
        (Status.AGENT_ERROR, None, lambda: failed("no_money"), "no_money"),
        (Status.AGENT_ERROR, "model_refusal", lambda: failed("server"), None),
        (Status.COMPLETED, None, lambda: failed("overloaded"), None),
        (Status.BUDGET_EXCEEDED, None, lambda: failed("overloaded"), None),
        (Status.TIME_LIMIT, None, served, None),
        (Status.AGENT_ERROR, "agent_error", served, None),
        (Status.TIME_LIMIT, None, lambda: waiting(answered=False), "deadline"),
        (Status.TIME_LIMIT, None, lambda: waiting(answered=True), None),
        (Status.AGENT_ERROR, None, lambda: waiting(answered=False), None),
        (Status.TIME_LIMIT, None, LatestCall, None),
        (Status.TIME_LIMIT, None, lambda: failed("context_window"), None),
    ],
)
def test_an_end_is_the_providers_where_it_failed_last(
    status: Status, said: str | None, latest: Callable[[], LatestCall], fault: str | None
) -> None:
    error = ErrorInfo(kind="Own", message="gave up", fault=said) if said else None
    outcome = AgentOutcome(status=status, error=error, steps=3)
    work = settled(outcome, latest())
    assert getattr(work.fault, "fault", None) == fault
    assert work.outcome.steps == 3
    if fault is None:
        assert work.outcome == outcome


@pytest.mark.parametrize(
    ("kind", "answered", "fault"),
    [
        ("context_window", True, "context_window"),
        ("bad_request", True, "request_refused"),
        ("bad_request", False, None),
    ],
)
def test_what_no_provider_serves_is_told_of_an_agent_that_fails_over_it(
    kind: str, answered: bool, fault: str | None
) -> None:
    outcome = AgentOutcome(status=Status.AGENT_ERROR)
    work = settled(outcome, failed(kind, answered=answered))
    if fault is None:
        assert getattr(work.fault, "fault", None) == kind
    else:
        assert work.fault is None
        assert work.outcome.error is not None
        assert work.outcome.error.fault == fault
