"""The evaluation cases score on the simulated desktop what vanilla's own code made of them."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from flask import request
from in_process import InProcessVm

from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.fixture.routes import make_vm_app
from waa_server_ext.simulate import Scene
from waa_server_ext.simulate.scene import SceneFile, SceneWindow
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from werkzeug import Response

_STEP = 12


def _scene(state: VmState) -> Scene:
    zone = state.timezone or {}
    return Scene(
        screen=(state.screen_size.width, state.screen_size.height),
        files={
            path: SceneFile(
                b64=base64.b64encode(file.data).decode(),
                hidden=file.hidden,
                modified=file.mtime,
            )
            for path, file in state.files.items()
        },
        folders=state.dirs,
        registry=state.registry,
        windows=tuple(SceneWindow(title=title) for title in reversed(state.windows)),
        libraries=state.library_folders,
        timezone=str(zone["StandardName"]) if "StandardName" in zone else None,
    )


def _is_by_rote(vm: InProcessVm, case: FixtureVm) -> bool:
    """Return whether the case says what is answered, instead of a state that answers it."""
    state, path = case.state, request.path
    if path in {"/execute", "/setup/execute"}:
        asked = request.get_json().get("command", "")
        command = asked if isinstance(asked, str) else " ".join(map(str, asked))
        return any(rule.match in command for rule in state.commands) or (
            state.active_window_title is not None and "getActiveWindowTitle" in command
        )
    if path == "/file":  # a case holds the state after its post-config
        asked = vm.desktop.machine.expand(request.form["file_path"])
        return case.disk.read(asked) is not None and vm.desktop.machine.files.exists(asked)
    return (
        f"{request.method} {path}" in state.endpoints
        or path in {"/platform", "/wallpaper"}
        or path.removeprefix("/") in state.checks
        or (
            path == "/accessibility" and request.args.get("backend", "win32") in state.accessibility
        )
    )


def _vm_of(state: VmState, host: str) -> InProcessVm:
    """Return a desktop in the state of a case; what the case says by rote, a fixture VM answers."""
    vm = InProcessVm(host, _scene(state))
    vm.desktop.machine.packages += [{k: str(v) for k, v in each.items()} for each in state.appx]
    case = FixtureVm(state, port=0)
    fixture = make_vm_app(case).test_client()

    def answer() -> Response | None:
        body = request.get_data()
        if not _is_by_rote(vm, case):
            return None
        return fixture.open(
            request.full_path, method=request.method, data=body, content_type=request.content_type
        )

    vm.api.app.before_request(answer)
    return vm


def _scored(case: dict[str, Any], host: str, folder: Path) -> float | None:
    state = VmState.load(case["vm_state"])
    base = f"http://{host}:5000/_cloud"
    store = AssetStore(folder / "assets")
    store.folder.mkdir(parents=True)
    for name, file in state.cloud.items():
        if file.status == 200:
            store.add(f"{base}/{quote(name)}", file.data)
    settings = EvaluatorSettings(
        cache=folder / "cache", assets=store.folder, skip_sleeps=True,
        offline=all(file.status == 200 for file in state.cloud.values()),
    )  # fmt: skip
    task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", base))
    with _vm_of(state, host) as vm:
        verdict = make_evaluator(settings).evaluate(task, case["action_history"], vm=vm.address)
    return verdict.score


def _compare(cases: list[dict[str, Any]], hosts: Callable[[], str], folder: Path) -> None:
    wrong = {}
    for number, case in enumerate(cases):
        score = _scored(case, hosts(), folder / str(number))
        if score != pytest.approx(case["vanilla_score"]):
            wrong[case["id"]] = (score, case["vanilla_score"])
    assert wrong == {}


def test_evaluation_cases_score_as_with_vanilla(
    golden: list[dict[str, Any]], next_vm_host: Callable[[], str], tmp_path: Path
) -> None:
    cases = [case for case in golden if not {"audio", "video"} & set(case["tags"])]
    _compare(cases[::_STEP], next_vm_host, tmp_path)


@pytest.mark.slow
def test_all_evaluation_cases_score_as_with_vanilla(
    golden: list[dict[str, Any]], next_vm_host: Callable[[], str], tmp_path: Path
) -> None:
    _compare(golden, next_vm_host, tmp_path)
