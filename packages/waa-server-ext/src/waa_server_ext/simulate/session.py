"""One run of `waa-server-ext simulate`: build, set up, listen, and leave what was asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Record
from waa_server_ext.evaluating import EvaluatorSettings, make_evaluator
from waa_server_ext.running import ended_by_signals
from waa_server_ext.simulate.recorder import Recorder
from waa_server_ext.simulate.reference import write_assets
from waa_server_ext.simulate.scene import Overrides, Scene, load_scene, snapshot
from waa_server_ext.simulate.simulated_vm import SimulatedVm
from waa_server_ext.simulate.world import built_in_tasks
from waa_server_ext.tasks import TaskFolder

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

__all__ = ["Session", "run_session"]


class Session(Record):
    """What the command line asked for."""

    scene: Path | None = None
    host: str = "127.0.0.1"
    port: int = 5000
    seed: int = 0
    task: str | None = None
    tasks: Path | None = None
    record: Path | None = None
    snapshot: Path | None = None


def run_session(
    session: Session, *, say: Callable[[str], None], until: threading.Event | None = None
) -> None:
    """Listen until a signal, or until `until` is set.

    Raises:
        InputError: The scene, the task or the address cannot be used.
    """
    scene = load_scene(session.scene) if session.scene else Scene()
    with tempfile.TemporaryDirectory(prefix="waa-simulate-") as folder:
        vm = SimulatedVm(scene, host=session.host, port=session.port, seed=session.seed)
        with vm:
            if session.task is not None:
                _set_up(session, vm, Path(folder))
            recorder = Recorder(vm.desktop)
            if session.record is not None:
                vm.api.listeners.append(recorder.add)
            say(
                f"a simulated desktop answers at {vm.url}; scores on it are never WAA scores; Ctrl-C stops"
            )
            _wait(until)
        if session.record is not None and recorder.frames:
            recorder.animation(session.record)
        if session.snapshot is not None:
            _write_scene(snapshot(vm.desktop), session.snapshot)
    say("stopped")


def _set_up(session: Session, vm: SimulatedVm, folder: Path) -> None:
    tasks = TaskFolder(session.tasks) if session.tasks else built_in_tasks()
    task = tasks.load(session.task or "")
    store = write_assets([task], folder / "assets")
    vm.api.overrides = Overrides(download=store.read)
    settings = EvaluatorSettings(cache=folder, assets=store.folder, offline=True, skip_sleeps=True)
    report = make_evaluator(settings).set_up(task, vm=vm.address)
    failed = [step for step in report.steps if not step.ok]
    if failed:
        raise InputError(
            f"the task {session.task} cannot be set up: {failed[0].type}: {failed[0].error}"
        )


def _write_scene(scene: Scene, path: Path) -> None:
    import yaml  # noqa: PLC0415  # only snapshots need it

    text = yaml.safe_dump(scene.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
    write_atomic(path, text.encode())


def _wait(until: threading.Event | None) -> None:
    if until is not None:
        until.wait()
        return
    with ended_by_signals() as stop:
        while not stop.wait(0.5):
            pass
