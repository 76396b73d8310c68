"""The same reply of a provider has the same owner, whichever agent meets it; `campaign_owners` asks all."""

from __future__ import annotations

import pytest
from integration_tests.fault_owners import AGENTS, expected_of, run_of, trial_of
from test_support.model_server import Answer
from test_support.provider_replies import REPLIES

from bench_core.faults import FAULTS
from bench_core.records import Status

pytestmark = pytest.mark.browser


def of_kind(kind: str) -> int:
    return next(number for number, each in enumerate(REPLIES) if each.kind == kind)


DRAWN = (
    *(("scripted", kind, late) for kind in ("no_money", "overloaded") for late in (True, False)),
    *(("tool-calling", kind, True) for kind in ("context_window", "picture_limit", "bad_request")),
    *(("computer-use", kind, True) for kind in ("context_window", "model_refusal")),
    ("browser-use", "context_window", True),
    ("foreign", "context_window", True),
    ("foreign", "bad_request", False),
)


@pytest.mark.parametrize(("agent", "kind", "late"), DRAWN)
def test_a_reply_has_the_owner_that_the_table_says(agent: str, kind: str, late: bool) -> None:
    reply = REPLIES[of_kind(kind)]
    result = trial_of(agent, reply, late=late)
    wanted = expected_of(reply, late=late)
    assert result.error is not None
    assert result.error.fault == wanted.name, result.error
    assert (result.status, result.score is not None) == (wanted.status, wanted.scored)
    assert result.failure_mode == wanted.failure_mode
    assert bool(result.suspect) is wanted.suspect


@pytest.mark.parametrize(
    ("agent", "late"),
    [
        ("scripted", True),
        ("tool-calling", False),
        ("foreign", True),
    ],
)
def test_time_that_ran_out_while_the_provider_failed_is_the_providers(
    agent: str, late: bool
) -> None:
    result = trial_of(agent, REPLIES[of_kind("overloaded")], late=late, endless=True)
    assert result.status is Status.ENVIRONMENT_ERROR
    assert result.error is not None
    # which of its failures a slow machine sees is another question
    assert FAULTS[result.error.fault or ""].owner == "provider", result.error


@pytest.mark.parametrize(("late", "fault"), [(False, "deadline"), (True, None)])
def test_time_that_ran_out_before_any_answer_is_the_providers(
    late: bool, fault: str | None
) -> None:
    result = trial_of("tool-calling", Answer(hang_s=60), late=late, endless=True)
    assert result.status is (Status.TIME_LIMIT if late else Status.ENVIRONMENT_ERROR)
    assert (result.error and result.error.fault) == fault


@pytest.mark.parametrize(
    ("agent", "kind", "attempts"),
    [
        ("tool-calling", "context_window", 1),
        ("foreign", "context_window", 1),
        ("foreign", "bad_request", 1),
        ("foreign", "server", 2),
    ],
)
def test_a_run_pays_once_for_what_the_agent_asked_and_none_serves(
    agent: str, kind: str, attempts: int
) -> None:
    result, requests = run_of(agent, REPLIES[of_kind(kind)], attempts=2)
    assert len(result.attempts) == attempts
    assert (result.score is not None) is (attempts == 1)
    assert requests >= attempts + 1 if agent == "tool-calling" else requests == attempts + 1


def test_each_kind_of_agent_is_asked() -> None:
    assert {agent for agent, _, _ in DRAWN} | {"browser-use's own"} == set(AGENTS)
