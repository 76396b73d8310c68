from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings, Fidelity, make_evaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native.registry import declared
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from waa_server_ext.evaluation.verdicts import Verdict

    Disagreement = Callable[..., str | None]

pytest.importorskip("cv2", reason="needs the extra [all]")


def evaluate(case: dict[str, Any], host: str, cache: Path, fidelity: Fidelity) -> Verdict:
    settings = EvaluatorSettings(cache=cache, skip_sleeps=True, fidelity=fidelity)
    with FixtureVm(VmState.load(case["vm_state"]), host=host) as vm:
        task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
        return make_evaluator(settings).evaluate(task, case["action_history"], vm=vm.address)


def test_every_evaluation_case_scores_as_vanilla_scores_it(
    golden: list[dict[str, Any]], vm_host: str, tmp_path: Path, disagreement: Disagreement
) -> None:
    verdicts = [evaluate(case, vm_host, tmp_path, "v2") for case in golden]
    found = [disagreement(*pair) for pair in zip(golden, verdicts, strict=True)]
    assert [each for each in found if each] == []


def test_cases_that_score_otherwise_upstream_do_so_with_fidelity_orig(
    golden: list[dict[str, Any]], vm_host: str, tmp_path: Path, disagreement: Disagreement
) -> None:
    cases = [case for case in golden if "vanilla_score_orig" in case]
    verdicts = [evaluate(case, vm_host, tmp_path, "orig") for case in cases]
    found = [disagreement(*pair, "_orig") for pair in zip(cases, verdicts, strict=True)]
    assert (len(cases) > 0, [each for each in found if each]) == (True, [])


def test_every_getter_and_metric_of_the_real_tasks_is_declared(waa_data: Path) -> None:
    wanted: dict[str, set[str]] = {"getter": set(), "metric": set()}
    for path in sorted(waa_data.glob("examples/*/*.json")):
        evaluator = json.loads(path.read_text(encoding="utf-8"))["evaluator"]
        wanted["metric"] |= set(as_list(evaluator["func"]))
        for key in ("result", "expected"):
            given = as_list(evaluator.get(key) or {})
            wanted["getter"] |= {each["type"] for each in given if each}
    assert (len(wanted["getter"]), len(wanted["metric"])) == (62, 45)
    assert wanted["getter"] <= set(declared("getter"))
    assert wanted["metric"] <= set(declared("metric"))


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
