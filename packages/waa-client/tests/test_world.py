"""Runs on simulations are recorded as built-in, whatever their options."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from fake_evaluator import FakeEvaluator, verdict
from fake_vm import FakeVm, Reply
from sample_tasks import make_task, run, script
from test_cli import invoke

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.protocols import WorldInfo
from bench_core.records import Status
from bench_core.run_folder import read_run
from bench_core.scheduling import FileLocks
from waa_client.pool import LeasedVm, VmPool
from waa_client.world.launch import BuiltInDesktops

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.records import TrialResult

TYPE = "computer.keyboard.write('This is a draft.')"


@pytest.fixture
def simulation() -> Iterator[FakeVm]:
    with FakeVm(world="built-in") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One task."""
    path = tmp_path / "tasks" / "examples" / "notepad"
    path.mkdir(parents=True)
    task = {"id": "x", "instruction": "Do.", "config": [], "evaluator": {"func": "exact_match"}}
    (path / "0a1b2c3d-WOS.json").write_text(json.dumps(task), encoding="utf-8")
    return tmp_path / "tasks"


def only(out: Path) -> TrialResult:
    (result,) = read_run(out).results.values()
    return result


def command(folder: Path, vms: list[FakeVm], evaluators: list[FakeEvaluator]) -> list[str]:
    return [
        "run", "--tasks-dir", str(folder), "--agent", "do-nothing", "--out", str(folder / "run"),
        "--vm", ",".join(vm.url for vm in vms),
        "--evaluate", ",".join(each.url for each in evaluators),
    ]  # fmt: skip


def test_a_run_against_a_simulation_is_recorded_as_built_in(
    folder: Path, simulation: FakeVm, evaluator: FakeEvaluator
) -> None:
    found = invoke(*command(folder, [simulation], [evaluator]), "--world", "real")
    assert found.exit_code == 0, found.output
    assert f"Warning: {simulation.url} simulate a desktop" in found.output
    assert read_run(folder / "run").info.world == "built-in"
    assert only(folder / "run").world == "built-in"


def test_a_vm_that_says_nothing_is_real(folder: Path, vm: FakeVm, evaluator: FakeEvaluator) -> None:
    assert invoke(*command(folder, [vm], [evaluator])).exit_code == 0
    assert (read_run(folder / "run").info.world, only(folder / "run").world) == ("real", "real")
    assert "/simulation/reset" not in vm.paths()


def test_simulations_beside_real_vms_are_refused(
    folder: Path, vm: FakeVm, simulation: FakeVm
) -> None:
    with FakeEvaluator() as first, FakeEvaluator() as second:
        found = invoke(*command(folder, [vm, simulation], [first, second]))
    assert found.exit_code == 2
    assert f"{simulation.url} are simulations and {vm.url} are not" in found.output
    assert not (folder / "run").exists()


def test_an_evaluator_that_looks_at_a_simulation_is_believed(
    folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    evaluator.world = "built-in"
    found = invoke(*command(folder, [vm], [evaluator]))
    assert found.exit_code == 2
    assert f"{evaluator.url} are simulations and {vm.url} are not" in found.output


def test_built_in_is_not_claimed_of_a_real_vm(
    folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    found = invoke(*command(folder, [vm], [evaluator]), "--world", "built-in")
    assert found.exit_code == 2
    assert "do not report that they are simulations" in found.output


@pytest.mark.parametrize("option", ["--evaluate", "--reset-command"])
def test_desktops_of_the_runs_own_bring_everything(folder: Path, option: str) -> None:
    found = invoke(
        "run", "--tasks-dir", folder, "--world", "built-in", "--agent", "do-nothing", option, "x"
    )
    assert found.exit_code == 2
    assert f"{option} needs --vm" in found.output


@pytest.mark.parametrize("who", ["vm", "evaluator"])
def test_a_trial_that_meets_another_world_than_its_runs_has_no_score(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator, who: str
) -> None:
    """As where VMs were off when the run began, and a reset command started them."""
    (vm if who == "vm" else evaluator).world = "built-in"
    run(tmp_path / "run", [make_task()], [vm.url], [evaluator.url])
    result = only(tmp_path / "run")
    assert (result.status, result.score, result.world) == (Status.ENVIRONMENT_ERROR, None, "real")
    assert result.error is not None
    assert result.error.kind == "WrongWorldError"
    assert evaluator.bodies("/evaluate") == []


def test_what_a_trial_did_to_a_simulation_does_not_solve_the_next_one(
    tmp_path: Path, simulation: FakeVm, evaluator: FakeEvaluator
) -> None:
    evaluator.judge = lambda _: verdict(float(bool(simulation.computer.typed)))
    ended = {}
    for name, steps in {"solves": [TYPE, "DONE"], "crashes": []}.items():
        config = {"agent_options": {"script": script(tmp_path / "s.json", steps)}}
        run(
            tmp_path / name, [make_task()], [simulation.url], [evaluator.url],
            agent="scripted", world="built-in", config=config,
        )  # fmt: skip
        ended[name] = (only(tmp_path / name).status, only(tmp_path / name).score)
    assert ended == {"solves": (Status.COMPLETED, 1.0), "crashes": (Status.AGENT_ERROR, 0.0)}


def test_a_simulation_that_cannot_be_reset_gives_no_score(
    tmp_path: Path, simulation: FakeVm, evaluator: FakeEvaluator
) -> None:
    simulation.always["/simulation/reset"] = Reply(500, b'{"message": "no"}')
    run(tmp_path / "run", [make_task()], [simulation.url], [evaluator.url], world="built-in")
    assert (only(tmp_path / "run").status, only(tmp_path / "run").score) == (
        Status.ENVIRONMENT_ERROR, None,
    )  # fmt: skip


class SlowWorld:
    """Starts when it is let, and remembers what was asked of it."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.asked: list[str] = []
        self.fault: Exception | None = None

    async def start(self, *, task: dict[str, Any]) -> WorldInfo:
        assert task["id"] == "01-WOS"
        await self.go.wait()
        self.asked.append("started")
        if self.fault is not None:
            raise self.fault
        return WorldInfo(name="waa", urls={"vm": "http://v", "evaluate": "http://e"})

    async def stop(self) -> None:
        self.asked.append("stopped")


async def test_a_desktop_ends_with_its_trial() -> None:
    world = SlowWorld()
    world.go.set()
    async with BuiltInDesktops(lambda: world).lease(make_task()) as machine:
        assert machine == LeasedVm(url="http://v", evaluator="http://e")
        assert world.asked == ["started"]
    assert world.asked == ["started", "stopped"]


async def test_a_trial_cancelled_while_its_desktop_starts_leaves_none_behind() -> None:
    world = SlowWorld()

    async def trial() -> None:
        async with BuiltInDesktops(lambda: world).lease(make_task()):
            pytest.fail("it was cancelled before")

    task = asyncio.create_task(trial())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert (world.asked, task.done()) == ([], False)
    world.go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.asked == ["started", "stopped"]


async def test_a_desktop_that_does_not_start_is_a_fault_of_the_environment() -> None:
    world = SlowWorld()
    world.fault = InputError("no address is free")
    world.go.set()
    with pytest.raises(EnvironmentFaultError, match="no address is free"):
        async with BuiltInDesktops(lambda: world).lease(make_task()):
            pytest.fail("it did not start")
    assert world.asked == ["started", "stopped"]


async def test_a_session_is_told_that_others_hold_every_vm(tmp_path: Path) -> None:
    mine, other = (VmPool(["http://a:1"], FileLocks(tmp_path), longest_wait_s=0) for _ in range(2))
    async with mine.lease(make_task()):
        with pytest.raises(EnvironmentFaultError, match="hold every VM of the 1 that are named"):
            await other.lease(make_task()).__aenter__()
    async with other.lease(make_task()) as machine:
        assert machine.url == "http://a:1"
