"""Records of schema 1 as version 0.1 wrote them, read today."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench_core.records import RunInfo, TrialResult
from bench_core.records.codec import decode
from bench_core.records.vocabulary import FailureMode


def old_result(**fields: Any) -> str:
    base = {
        "schema_version": 1,
        "benchmark": "waa",
        "task_id": "1",
        "agent": "a",
        "status": "completed",
        "score": 0.0,
        "success": False,
    }
    return json.dumps({**base, **fields})


def test_artifacts_of_old_results_have_no_digest() -> None:
    read = decode(TrialResult, old_result(artifacts=["log.txt"]))
    assert [(each.path, each.size, each.sha256) for each in read.artifacts] == [
        ("log.txt", None, None)
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ran_out_of_steps", FailureMode.STEP_LIMIT),
        ("agent_crashed", FailureMode.AGENT_ERROR),
        ("wrong_end_state", FailureMode.WRONG_END_STATE),
        (None, FailureMode.UNCLASSIFIED),
    ],
)
def test_old_failure_modes_are_told_in_todays_words(old: str | None, new: FailureMode) -> None:
    assert decode(TrialResult, old_result(failure_mode=old)).failure_mode is new


def test_an_own_failure_mode_is_kept_beside_the_vocabulary() -> None:
    read = decode(TrialResult, old_result(failure_mode="lost_in_space"))
    assert read.failure_mode is FailureMode.UNCLASSIFIED
    assert read.details["failure_mode"] == "lost_in_space"


@pytest.mark.parametrize(
    ("status", "score", "mode"),
    [
        ("completed", 1.0, None),
        ("step_limit", 0.5, FailureMode.STEP_LIMIT),
        ("environment_error", None, FailureMode.ENVIRONMENT_ERROR),
    ],
)
def test_old_results_without_a_failure_mode_get_that_of_their_status(
    status: str, score: float | None, mode: FailureMode | None
) -> None:
    success = None if score is None else score >= 1.0
    line = old_result(status=status, score=score, success=success)
    assert decode(TrialResult, line).failure_mode is mode


def test_the_agents_ending_is_read_from_where_runners_kept_it() -> None:
    details = {
        "agent_status": "agent_error",
        "trial_flags": ["demo"],
        "answer": 7,
        "agent": {"n": 1},
    }
    error = {"kind": "ValueError", "message": "no action", "phase": "agent"}
    read = decode(TrialResult, old_result(status="agent_error", details=details, error=error))
    assert read.ending is not None
    assert (read.ending.status.value, read.ending.flags) == ("agent_error", ("demo",))
    assert (read.ending.answer, read.ending.details, read.details) == (7, {"n": 1}, {})


@pytest.mark.parametrize("profile", ["fast", "vanilla"])
def test_what_was_called_a_profile_on_the_desktop_is_its_timing(profile: str) -> None:
    read = decode(TrialResult, old_result(profile=profile))
    assert (read.profile, read.timing) == ("official", profile)


def test_profiles_of_other_benchmarks_stay() -> None:
    read = decode(TrialResult, old_result(benchmark="multireal", profile="fixed"))
    assert (read.profile, read.timing) == ("fixed", None)


def test_an_old_run_is_read_with_its_timing() -> None:
    old = {
        "schema_version": 1,
        "run_id": "r",
        "benchmark": "waa",
        "agent": "a",
        "profile": "vanilla",
        "config_hash": "c",
        "task_set_hash": "t",
        "started": "2026-03-01T09:00:00Z",
    }
    read = decode(RunInfo, json.dumps(old))
    assert (read.profile, read.timing) == ("official", "vanilla")
