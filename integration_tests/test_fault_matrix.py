"""Processes and servers of a trial fail; its record says so, has no score and loses nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.artifacts import TrialArtifacts, list_artifacts
from bench_core.planning import RunSpec, TaskFilter, Timeouts
from bench_core.records import AgentOutcome, Limits, Step
from bench_core.run_folder import read_run
from bench_core.running import Surroundings, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.testing.faults import CALL, CALL_USD
from bench_core.testing.part_faults import PART_FAULTS, PartFault
from bench_core.trial import AgentLimits
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.capture import CaptureSettings
from multireal_harness.environment import EnvironmentSettings as AppSettings
from multireal_harness.world import BuiltInWorld as AppWorld
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.environment import EnvironmentSettings as SiteSettings
from webarena_runner.worlds import built_in_world, environment_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, TrialResult

pytestmark = pytest.mark.browser

_WORK_S = 3.0
_GRACE_S = {"multireal-browser-stop-at-work": 30}
"""Nothing but the trial's hard deadline ends what waits for a browser that is halted."""
_KINDS = {
    "app": {"500": "status", "nothing": "drop", "garbage": "invalid_json", "late": "stall"},
    "site": {"500": "error", "nothing": "drop", "late": "stall"},
}


class Spender:
    """Takes a step, makes a model call, and then does nothing more while a part fails."""

    name = "spender"

    def __init__(self, fails: Callable[[TrialContext], None], *, waits: bool) -> None:
        self._fails = fails
        self._waits = waits

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        self._fails(context)
        if self._waits:
            await asyncio.Event().wait()
        return AgentOutcome()


@pytest.fixture(scope="module")
def apps() -> Iterator[AppWorld]:
    world = AppWorld()
    world.open()
    yield world
    world.close()


@pytest.fixture(scope="module")
def sites() -> Iterator[Any]:
    with built_in_world() as world:
        yield world


@pytest.mark.parametrize(
    "fault", [each for each in PART_FAULTS if each.benchmark == "multireal"], ids=lambda f: f.name
)
def test_a_part_of_multireal_that_fails(fault: PartFault, apps: AppWorld, tmp_path: Path) -> None:
    capture = CaptureSettings(app_s=3, quiet_s=0.2)
    settings = AppSettings(track=False, open_s=5, capture=capture)
    benchmark = MultiRealBenchmark("built-in", origins=apps.urls, settings=settings)

    def fail() -> None:
        path = "/finish" if fault.phase == "capture" else "/"
        apps.fail("dining", _KINDS["app"][fault.fault], path, value=500)  # type: ignore[arg-type]

    try:
        check(fault, *run(fault, benchmark, "multi.dining-mail-1", fail, tmp_path / "run"))
    finally:
        apps.mend()


@pytest.mark.parametrize(
    "fault", [each for each in PART_FAULTS if each.benchmark == "webarena"], ids=lambda f: f.name
)
def test_a_part_of_webarena_that_fails(fault: PartFault, sites: Any, tmp_path: Path) -> None:
    settings = SiteSettings(site_s=3, start_page_s=5, close_s=1)
    benchmark = WebArenaBenchmark(environment_of(sites), settings=settings)

    def fail() -> None:
        sites.faults["gitlab"].switch_on(_KINDS["site"][fault.fault])

    try:
        check(fault, *run(fault, benchmark, "44", fail, tmp_path / "run"))
    finally:
        sites.faults["gitlab"].clear()


def run(
    fault: PartFault, benchmark: Any, task_id: str, fail: Callable[[], None], out: Path
) -> tuple[TrialResult, Path]:
    """Run one trial in which a part fails, and return its record and its folder."""

    def fails(context: TrialContext) -> None:
        if fault.part == "browser":
            for group in context.processes.alive():
                os.killpg(group, signal.Signals[f"SIG{fault.fault}"])
        elif fault.phase != "open":
            fail()

    if fault.phase == "open":
        fail()
    spec = RunSpec(
        tasks=TaskFilter(ids=(task_id,)), agent="spender", world="built-in", attempts=1,
        limits=Limits(time_limit_s=_WORK_S), timeouts=Timeouts(evaluation_grace_s=_GRACE_S.get(fault.name, 240)),
    )  # fmt: skip
    surroundings = Surroundings(
        locks=NoLocks(),
        agent_for=lambda *_: Spender(fails, waits=fault.phase == "work"),
        agent_limits=AgentLimits(overtime_s=0.2, stop_s=1.0),
    )
    run_benchmark_sync(benchmark, spec, out, surroundings=surroundings)
    view = read_run(out)
    (result,) = view.results.values()
    return result, view.trial_folder(result.key)


def check(fault: PartFault, result: TrialResult, folder: Path) -> None:
    """Compare a record with its row of the table."""
    assert (result.status, result.score) == (fault.status, None), result.error
    assert set(fault.flags) <= set(result.flags)
    assert "harness_error" not in result.flags
    worked = fault.phase != "open"
    assert [each.usage for each in result.spent] == [CALL] * worked
    assert [each.cost_usd for each in result.spent] == [CALL_USD] * worked
    assert result.steps == worked
    assert set(result.artifact_paths) == set(list_artifacts(folder))
    assert ("trajectory.jsonl" in result.artifact_paths) is worked
