"""Processes and servers of a trial fail; its record says so, blames nobody for it and loses nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.fault_cells import AppRig, SiteRig
from test_support.part_faults import PART_FAULTS, PartFault

from bench_core.budgets import AGENT
from bench_core.run_folder import list_artifacts
from bench_core.testing.faults import CALL, CALL_USD

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.records import TrialResult

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def apps() -> Iterator[AppRig]:
    rig = AppRig()
    yield rig
    rig.close()


@pytest.fixture(scope="module")
def sites() -> Iterator[SiteRig]:
    rig = SiteRig()
    yield rig
    rig.close()


def rows(benchmark: str) -> list[Any]:
    return [each for each in PART_FAULTS if each.benchmark == benchmark]


@pytest.mark.parametrize("fault", rows("multireal"), ids=lambda fault: fault.name)
def test_a_part_of_multireal_that_fails(fault: PartFault, apps: AppRig, tmp_path: Path) -> None:
    check(fault, *apps.run(fault, tmp_path / "run"))


@pytest.mark.parametrize("fault", rows("webarena"), ids=lambda fault: fault.name)
def test_a_part_of_webarena_that_fails(fault: PartFault, sites: SiteRig, tmp_path: Path) -> None:
    check(fault, *sites.run(fault, tmp_path / "run"))


def check(fault: PartFault, result: TrialResult, folder: Path) -> None:
    """Compare a record with its row of the table."""
    assert (result.status, result.score) == (fault.status, fault.score), result.error
    if fault.part == "evaluator":  # else it was a defect of ours
        assert result.error is not None
        assert result.error.kind == "EvaluationError"
    assert "".join(result.suspect) == fault.suspect
    own = [each for each in result.spent if each.source == AGENT]
    if (
        fault.part == "model server"
    ):  # what it was asked counts, too, as the most where it may be paid for
        (spent,) = own
        assert spent.usage.requests > CALL.requests
        bounded = {"usage_upper_bound"} & set(result.flags)
        assert (spent.usage.total_tokens > CALL.total_tokens) == bool(bounded)
        assert set(result.flags) - bounded == set(fault.flags)
    else:
        assert result.flags == fault.flags
        assert [(each.usage, each.cost_usd) for each in own] == [(CALL, CALL_USD)] * fault.worked
    assert result.steps == fault.worked
    assert set(result.artifact_paths) == set(list_artifacts(folder))
    assert ("trajectory.jsonl" in result.artifact_paths) is fault.worked
