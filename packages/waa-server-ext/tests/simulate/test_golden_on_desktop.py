"""The evaluation cases score on the simulated desktop what vanilla's own code made of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.simulate import SimulatedVm
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_STEP = 12


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
    with SimulatedVm.of_state(state, host=host) as vm:
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
