"""Without a checkout the server scores with evaluators of its own, and agrees with vanilla."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings, create_app
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = json.loads(
    (Path(__file__).resolve().parents[1] / "cases" / "vanilla.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IsolatedEvaluator]:
    cache = tmp_path_factory.mktemp("native")
    with IsolatedEvaluator(EvaluatorSettings(cache=cache, skip_sleeps=True)) as made:
        assert made.describe().kind == "native"
        yield made


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case["id"])
def test_a_committed_case_scores_as_vanilla_does(
    evaluator: IsolatedEvaluator, tmp_path: Path, case: dict[str, Any]
) -> None:
    with (
        FixtureVm(VmState.load(case["vm_state"]), port=0) as vm,
        Service(evaluator, ServiceSettings(vm=vm.address, cache=tmp_path)) as service,
    ):
        task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
        body = {"task": task, "action_history": case["action_history"]}
        verdict = create_app(service).test_client().post("/evaluate", json=body).json
    error = verdict["evaluation_error"]
    found = error and {"phase": error["phase"], "stage": error["stage"], "type": error["type"]}
    assert (verdict["score"], found) == (case["vanilla"]["score"], case["vanilla"]["error"])
    calls = [each["path"] for each in vm.requests if not each["path"].startswith("/_cloud")]
    assert calls == case["vanilla"]["calls"]
