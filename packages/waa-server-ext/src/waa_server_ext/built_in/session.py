"""One run of `waa-server-ext simulate`: build, set up, listen, and write the requested files."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import require_writable, write_atomic
from bench_core.records import Record
from bench_core.serving import ServerToken
from waa_server_ext.built_in.reference_files import write_assets
from waa_server_ext.built_in.world import built_in_tasks
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.server.service import Service, ServiceSettings
from waa_server_ext.server.startup import ended_by_signals, running_server
from waa_server_ext.simulate.api.simulated_vm import SimulatedVm
from waa_server_ext.simulate.desktop.recorder import Recorder, screen_png
from waa_server_ext.simulate.scene import Scene, load_scene, snapshot
from waa_server_ext.vm.access import TOKEN_VARIABLE, VM_TOKEN_VARIABLE


class DesktopSession(Record):
    """The options of the command line."""

    scene: Path | None = None
    host: str = "127.0.0.1"
    port: int = 5000
    seed: int = 0
    task: str | None = None
    tasks: Path | None = None
    evaluate: int | None = None
    record: Path | None = None
    snapshot: Path | None = None
    without_tokens: bool = False


def run_session(
    session: DesktopSession, *, say: Callable[[str], None], until: threading.Event | None = None
) -> None:
    """Listen until a signal, or until `until` is set.

    Raises:
        InputError: The scene, the task or an address cannot be used.
        OSError: Recording or snapshot could not be written.
    """
    for file in (session.record, session.snapshot):
        if file is not None:
            require_writable(file)
    scene = load_scene(session.scene) if session.scene else Scene()
    with tempfile.TemporaryDirectory(prefix="waa-simulate-") as folder:
        task = _task(session)
        store = write_assets([task] if task else [], Path(folder) / "assets")
        token = ServerToken.choose(VM_TOKEN_VARIABLE, without=session.without_tokens)
        vm = SimulatedVm(
            scene, host=session.host, port=session.port, seed=session.seed,
            download=store.read, token=token.value,
        )  # fmt: skip
        with vm, token.handed(vm.url) as asked:
            if task is not None:
                settings = EvaluatorSettings(
                    cache=store.folder.parent, assets=store.folder, offline=True, skip_sleeps=True,
                    vm_token=token.value,
                )  # fmt: skip
                report = make_evaluator(settings).set_up(task, vm=vm.address)
                failed = [step for step in report.steps if not step.ok]
                if failed:
                    raise InputError(
                        f"the task {session.task} cannot be set up: {failed[0].type}: {failed[0].error}"
                    )
            recorder = Recorder(partial(vm.call, screen_png))
            if session.record is not None:
                vm.answered = recorder.add
            with _evaluator(session, vm, token.value, Path(folder)) as (url, asked_too):
                scorer = f", POST /evaluate at {url}" if url else ""
                say(
                    f"a simulated desktop answers at {vm.url}{scorer}; scores on it are never WAA "
                    "scores; Ctrl-C stops"
                )
                for each in dict.fromkeys(filter(None, (asked, asked_too))):
                    say(each)
                ended = ended_by_signals() if until is None else contextlib.nullcontext(until)
                with ended as stop:
                    while not stop.wait(0.5):
                        pass
            end = vm.call(snapshot)
        if session.record is not None and recorder.frames:
            recorder.animation(session.record)
        if session.snapshot is not None:
            _write_scene(end, session.snapshot)
    say("stopped")


def _task(session: DesktopSession) -> dict[str, Any] | None:
    if session.task is None:
        return None
    return (TaskFolder(session.tasks) if session.tasks else built_in_tasks()).load(session.task)


@contextlib.contextmanager
def _evaluator(
    session: DesktopSession, vm: SimulatedVm, vm_token: str | None, folder: Path
) -> Iterator[tuple[str | None, str | None]]:
    """Serve `/evaluate` for the desktop if asked to; yield its URL and its token."""
    if session.evaluate is None:
        yield None, None
        return
    tasks = TaskFolder(session.tasks) if session.tasks else built_in_tasks()
    store = write_assets([tasks.load(name) for name in tasks.names()], folder / "evaluator-assets")
    settings = EvaluatorSettings(
        cache=folder / "evaluations", assets=store.folder, offline=True, skip_sleeps=True,
        vm_token=vm_token,
    )  # fmt: skip
    service_settings = ServiceSettings(
        vm=vm.address, cache=settings.cache, tasks=tasks.folder, vm_token=vm_token
    )
    token = ServerToken.choose(TOKEN_VARIABLE, without=session.without_tokens)
    with (
        Service(make_evaluator(settings), service_settings) as service,
        running_server(service, port=session.evaluate, token=token.value) as server,
        token.handed(server.url) as asked,
    ):
        yield server.url, asked


def _write_scene(scene: Scene, path: Path) -> None:
    import yaml  # only snapshots need it

    text = yaml.safe_dump(scene.model_dump(mode="json", exclude_defaults=True), sort_keys=False)
    write_atomic(path, text.encode())
