"""One draw of the campaign of faults of the run itself: none is taken for an agent's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from integration_tests.own_faults import can_fail, run_with

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["temporary-removed", "openat-ENOSPC"])
def test_a_fault_of_the_run_itself_is_scored_as_no_agents(fault: str, tmp_path: Path) -> None:
    if not can_fail(fault):
        pytest.skip(f"nothing here makes that fail: {fault}")
    assert list(run_with(fault, "own", 2, tmp_path)) == []
