"""Vanilla evaluators score as vanilla does, over HTTP and with the same calls to the VM.

The committed cases run on a miniature tree of our own and carry what WindowsAgentArena-V2 and
upstream made of them. With `PROCTOR_WAA_CHECKOUT` (one folder or several, separated as in PATH) the
same cases and the real ones run on real trees, too.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server.service import Service, ServiceSettings
from waa_server_ext.server.startup import running_server
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).resolve().parents[1]
MINIATURE = HERE / "miniature"
CASES = json.loads((HERE / "cases" / "vanilla.json").read_text(encoding="utf-8"))
CHECKOUTS = [Path(p) for p in os.environ.get("PROCTOR_WAA_CHECKOUT", "").split(os.pathsep) if p]


class Lab:
    """One evaluator, and servers that use it: one per VM."""

    def __init__(
        self, evaluator: IsolatedEvaluator, folder: Path, hosts: Callable[[], str]
    ) -> None:
        self.evaluator = evaluator
        self._folder = folder
        self._hosts = hosts
        self._count = 0

    @property
    def fidelity(self) -> str:
        return self.evaluator.describe().fidelity

    def score(self, case: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the verdict of a case and what the VM was asked."""
        with FixtureVm(VmState.load(case["vm_state"]), host=self._hosts()) as vm:
            text = json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base)
            body = {"task": json.loads(text), "action_history": case["action_history"]}
            with self.serving(vm.address) as client:
                answer = client.post("/evaluate", json=body)
            assert answer.status_code == 200, answer.text
            return answer.json(), vm.requests

    @contextlib.contextmanager
    def serving(self, vm: str) -> Iterator[httpx.Client]:
        self._count += 1
        settings = ServiceSettings(vm=vm, cache=self._folder / str(self._count))
        with (
            Service(self.evaluator, settings) as service,
            running_server(service) as server,
            httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=600) as client,
        ):
            yield client


def lab_of(checkout: Path, folder: Path, hosts: Callable[[], str]) -> Iterator[Lab]:
    settings = EvaluatorSettings(cache=folder / "cache", checkout=checkout, skip_sleeps=True)
    with IsolatedEvaluator(settings) as evaluator:
        yield Lab(evaluator, folder, hosts)


@pytest.fixture(scope="module")
def miniature(
    tmp_path_factory: pytest.TempPathFactory, next_vm_host: Callable[[], str]
) -> Iterator[Lab]:
    yield from lab_of(MINIATURE, tmp_path_factory.mktemp("miniature"), next_vm_host)


@pytest.fixture(scope="module", params=CHECKOUTS or [None], ids=lambda path: path and path.name)
def real(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    next_vm_host: Callable[[], str],
) -> Iterator[Lab]:
    """A real checkout."""
    if request.param is None:
        pytest.skip("needs a Windows Agent Arena checkout: PROCTOR_WAA_CHECKOUT names its folder")
    yield from lab_of(request.param, tmp_path_factory.mktemp("real"), next_vm_host)


def agrees(verdict: dict[str, Any], score: float | None, error: dict[str, Any] | None) -> bool:
    found = verdict["evaluation_error"]
    if score is None or error is not None:
        return (
            verdict["score"] is None
            and error is not None
            and {key: found[key] for key in error if key != "message"}
            == {key: error[key] for key in error if key != "message"}
        )
    return verdict["score"] is not None and abs(verdict["score"] - score) <= 1e-9


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_committed_case_scores_as_vanilla_does(miniature: Lab, case: dict[str, Any]) -> None:
    verdict, seen = miniature.score(case)
    assert agrees(verdict, case["vanilla"]["score"], case["vanilla"]["error"]), verdict
    calls = [each["path"] for each in seen if not each["path"].startswith("/_cloud")]
    assert calls == case["vanilla"]["calls"]


@pytest.mark.slow
def test_the_committed_cases_are_what_a_real_tree_gives(real: Lab) -> None:
    wrong = []
    for case in CASES:
        verdict, seen = real.score(case)
        calls = [each["path"] for each in seen if not each["path"].startswith("/_cloud")]
        expected = case["vanilla"]
        if not agrees(verdict, expected["score"], expected["error"]) or calls != expected["calls"]:
            wrong.append((case["id"], verdict["score"], verdict["evaluation_error"], calls))
    assert wrong == []


@pytest.mark.slow
def test_every_real_case_agrees_with_vanilla_in_score_error_and_calls(
    real: Lab, golden: list[dict[str, Any]]
) -> None:
    wrong = []
    for case in golden:
        verdict, seen = real.score(case)
        of_tree = "_orig" if real.fidelity == "orig" and "vanilla_score_orig" in case else ""
        score, error = case["vanilla_score" + of_tree], case["vanilla_error" + of_tree]
        if "float-tolerance" in case["tags"] and verdict["score"] is not None:
            score = verdict["score"] if abs(verdict["score"] - score) <= 1e-6 else score
        calls = [each for each in seen if not each["path"].startswith("/_cloud")]
        if not agrees(verdict, score, error) or calls != case["vanilla_http"]:
            wrong.append((case["id"], verdict["score"], score, verdict["evaluation_error"], calls))
    assert wrong == []


@pytest.mark.slow
def test_giving_up_is_right_for_infeasible_tasks_only_for_all_154(
    real: Lab, waa_data: Path
) -> None:
    tasks = TaskFolder(waa_data / "examples")
    names = tasks.names()
    given_up, done = {}, {}
    with FixtureVm(host=real._hosts()) as vm, real.serving(vm.address) as client:
        for name in names:
            task = tasks.load(name)
            infeasible = task["evaluator"]["func"] == "infeasible"
            for scores, history in ((given_up, ["FAIL"]), (done, ["DONE"])):
                if history == ["DONE"] and not infeasible:
                    continue  # the other tests score those
                body = {"task": task, "action_history": history}
                scores[name] = (infeasible, client.post("/evaluate", json=body).json()["score"])
    assert len(given_up) == 154
    assert sum(infeasible for infeasible, _ in given_up.values()) == 13
    assert [n for n, (bad, score) in given_up.items() if score != (1.0 if bad else 0.0)] == []
    assert [n for n, (_, score) in done.items() if score != 0.0] == []
