"""Calls that a model gets wrong are refused and answered, and never raise or do something else."""

from __future__ import annotations

import pytest
from fuzzed_calls import problems_of

from bench_core.agents.dialects import all_dialects

COUNT = 150  # nox -s campaign draws 3,000 and more


@pytest.mark.parametrize("dialect", sorted(all_dialects()))
async def test_a_wrong_call_never_raises_nor_does_something_else(dialect: str) -> None:
    found, problems = await problems_of(dialect, COUNT, seed=0)
    assert problems == []
    assert found["refused"] > COUNT / 4
