"""A fault that an agent may have made itself is marked, and one that it cannot have made is not."""

from __future__ import annotations

import pytest

from bench_core.records import Status
from bench_core.trial.integrity import void_of


@pytest.mark.parametrize(
    ("status", "found", "claimed", "suspect"),
    [
        (Status.ENVIRONMENT_ERROR, False, True, True),
        (Status.ENVIRONMENT_ERROR, True, False, True),
        (Status.EVALUATION_ERROR, True, False, True),
        (Status.ENVIRONMENT_ERROR, False, False, False),
        (Status.COMPLETED, True, True, False),
        (Status.AGENT_ERROR, True, True, False),
    ],
)
def test_only_a_fault_with_an_act_or_a_claim_of_the_agent_is_suspect(
    status: Status, *, found: bool, claimed: bool, suspect: bool
) -> None:
    marked = void_of(status, "the app is down", found=found, claimed=claimed)
    assert [str(each.code) for each in marked] == (["void_suspect"] if suspect else [])
