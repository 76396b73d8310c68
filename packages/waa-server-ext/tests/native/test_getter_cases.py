"""Every getter the real tasks use, on states of a VM: what vanilla made of them and what we make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.vm.state import VmState

pytest.importorskip("cv2", reason="needs the extra [all]")

LINES = Path(__file__).with_name("cases").joinpath("getters.jsonl").read_text("utf-8").splitlines()
CASES = [json.loads(line) for line in LINES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
@pytest.mark.filterwarnings("ignore:size must be:UserWarning")  # LnkParse3, of a broken shortcut
def test_scores_as_vanilla_did(case: dict[str, Any], tmp_path: Path) -> None:
    with FixtureVm(VmState.load(case["vm_state"]), port=0) as vm:
        task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
        evaluator = NativeEvaluator(EvaluatorSettings(cache=tmp_path, skip_sleeps=True))
        verdict = evaluator.evaluate(task, case["action_history"], vm=vm.address)
    fault = verdict.evaluation_error
    found: dict[str, Any] = {"score": verdict.score}
    if fault is not None:
        found |= {"phase": fault.phase, "raised": fault.type}
    assert found == {**case["vanilla"], "score": pytest.approx(case["vanilla"]["score"], abs=1e-6)}


def test_every_getter_passes_somewhere_and_fails_somewhere() -> None:
    # pages of a live browser pass in test_live_tabs.py
    live = {"active_tab_info", "page_info", "pdf_from_url"}
    scores: dict[str, set[Any]] = {}
    for case in CASES:
        scores.setdefault(case["getter"], set()).add(case["vanilla"]["score"])
    passing = {getter for getter, found in scores.items() if 1.0 in found}
    failing = {getter for getter, found in scores.items() if found - {1.0}}
    assert (len(scores), scores.keys() - passing, scores.keys() - failing) == (62, live, set())
