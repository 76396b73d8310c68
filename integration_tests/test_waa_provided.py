"""VMs that a provider starts for a run: one dies in mid-trial, one cannot be reset, all trials are scored."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from click.testing import CliRunner

from bench_core.agents.plugins import ScriptedPlugin
from bench_core.errors import InputError
from bench_core.machines import Journal, MachineError, machine_folder
from bench_core.providers import ProcessBackend
from bench_core.records import Limits
from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import Purpose, RunEnvironment, run_benchmark_sync
from waa_client import WaaRunOptions
from waa_client.benchmark import WaaBenchmark
from waa_client.cli import main
from waa_client.provided import ProvidedVms, provided_vms, read_vm_spec
from waa_client.tasks import load_tasks
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.machines import Found

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")

VMS = 3
TASKS = 5


class FailingOnce(ProcessBackend):
    """Processes, of which one cannot be reset the first time."""

    failed: ClassVar[list[str]] = []

    async def restore(self, name: str, tag: str) -> Found:
        if "vm-1" in name and not self.failed:
            self.failed.append(name)
            raise MachineError("planted")
        return await super().restore(name, tag)


class Killing(ScriptedPlugin):
    """Kills a VM as soon as a trial is under way on each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun = 0

    async def run(self, *arguments: Any) -> Any:
        self._begun += 1
        if self._begun == VMS:
            entries = Journal(self._folder).entries("process").values()
            (last,) = [each.last for each in entries if each.last.key.endswith("vm-0")]
            os.killpg(int(last.id), signal.SIGKILL)
        deadline = time.monotonic() + 300.0
        while self._begun < VMS:  # other agents count
            assert time.monotonic() < deadline, "no trial began on each of the VMs"
            await asyncio.sleep(0.05)
        return await super().run(*arguments)


def test_a_pool_goes_on_when_one_vm_dies_and_one_cannot_be_reset(tmp_path: Path) -> None:
    world = built_in_world()
    tasks = load_tasks(world.tasks_folder())
    ids = tuple(each.task_id for each in tasks)[:TASKS]
    assert len(ids) == TASKS
    pool = ProvidedVms(
        f"{__name__}:FailingOnce", VMS, read_vm_spec(None, "process"), folder=tmp_path / "machines"
    )
    spec = RunSpec(
        tasks=TaskFilter(ids=ids), agent="scripted", world="built-in", timing="fast",
        workers=VMS, limits=Limits(max_steps=60),
    )  # fmt: skip
    agent = Killing(tmp_path / "machines")
    try:
        run_benchmark_sync(
            WaaBenchmark(tasks, pool=pool), spec, tmp_path / "run",
            run_environment=RunEnvironment(
                agent_for=lambda *_: agent, event_sources=(pool.keep_events,)
            ),
        )  # fmt: skip
    finally:
        pool.stop()
    results = read_run(tmp_path / "run").results
    assert {each.task_id: each.score for each in results.values()} == dict.fromkeys(ids, 1.0)
    entries = Journal(tmp_path / "machines").entries("process")
    story = {name: [line.event for line in entry.lines] for name, entry in entries.items()}
    (failed,) = FailingOnce.failed
    assert "quarantined" in story[failed]
    assert entries[failed].last.ending == "replaced"
    assert all(events[0] == "intent" and events[-1] == "ended" for events in story.values())
    (replaced_by,) = [name for name in story if "vm-1" in name and name != failed]
    told = [event.data for event in read_run(tmp_path / "run").events if event.kind == "vm"]
    by_name = {name: [each["what"] for each in told if each.get("vm") == name] for name in story}
    (killed,) = [name for name in story if "vm-0" in name]
    assert by_name[killed][:3] == ["started", "reset", "failed"]
    assert by_name[failed] == ["started", "quarantined"]
    assert by_name[replaced_by][:2] == ["started", "reset"]
    assert next(each["reason"] for each in told if each["what"] == "quarantined").count("planted")


def test_a_run_starts_its_vms_and_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_MACHINES", str(tmp_path / "machines"))
    task = load_tasks(built_in_world().tasks_folder())[0].task_id
    ran = CliRunner().invoke(
        main,
        ["run", "--world", "built-in", "--vm", "process:1", "--agent", "scripted", "--task", task,
         "--out", str(tmp_path / "run")],
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    (result,) = read_run(tmp_path / "run").results.values()
    assert result.score == 1.0
    (entry,) = Journal(machine_folder()).entries("process").values()
    assert entry.last.ending == "stopped"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vms": ("qemu:4",)}, "needs --vm-spec"),
        ({"vms": ("process:1",)}, "add --world built-in"),
        ({"vms": ("process:1",), "world": "built-in", "reset_command": "true"}, "resets its VMs"),
        ({"vms": ("localhost:5000",), "vm_spec": "x.json"}, "needs a provider"),
        ({"vms": ("qemu:4",), "vm_spec": "absent.json"}, "cannot be read"),
    ],
)
def test_what_does_not_fit_a_provider_is_refused(given: dict[str, Any], said: str) -> None:
    folder = built_in_world().tasks_folder()
    asked = WaaRunOptions(agent="do-nothing", tasks_dir=folder, **given)
    with pytest.raises(InputError, match=said), WaaBenchmark.prepare(asked, Purpose.RUN):
        pass


def test_vms_of_a_provider_are_started_by_the_process_of_the_run_alone(tmp_path: Path) -> None:
    common = {"agent": "do-nothing", "world": "built-in", "out": tmp_path / "run"}
    with WaaBenchmark.prepare(WaaRunOptions(**common), Purpose.PLAN) as ready:
        assert ready.run_environment.recipe is not None
    asked = WaaRunOptions(vms=("process:1",), **common)
    with WaaBenchmark.prepare(asked, Purpose.PLAN) as ready:
        assert ready.run_environment.recipe is None  # so that workers are refused


def test_addresses_stay_addresses() -> None:
    assert provided_vms(["qemu:4"]) == ("qemu", 4)
    assert provided_vms(["vm2:5001"]) is None
    assert provided_vms(["docker:5000"]) is None
    assert provided_vms(["process:1", "process:2"]) is None
