"""What native evaluators do must pass the guard of the process in which the server runs them."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Disagreement = Callable[..., str | None]

pytest.importorskip("cv2", reason="needs the extra [all]")

DECODED = ("writer/pdf-partial", "vlc/video-same", "vlc/audio-different")
STORED = ("chrome/cookie-fail", "chrome/history-fail", "edge/cookie-pass", "explorer/7z-pass")


def test_databases_and_decoders_work_behind_the_guard(
    golden: list[dict[str, Any]], vm_host: str, tmp_path: Path, disagreement: Disagreement
) -> None:
    cases = [case for case in golden if case["id"] in DECODED + STORED]
    found = []
    settings = EvaluatorSettings(cache=tmp_path, skip_sleeps=True)
    with closing(IsolatedEvaluator(settings)) as evaluator:
        for case in cases:
            with FixtureVm(VmState.load(case["vm_state"]), host=vm_host) as vm:
                task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
                verdict = evaluator.evaluate(task, case["action_history"], vm=vm.address)
            found.append(disagreement(case, verdict))
    assert found == [None] * len(DECODED + STORED)
