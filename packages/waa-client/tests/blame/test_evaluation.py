"""Evaluators and VMs that fail while a trial is scored, and scores that are suspect."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from blamed_trials import QUICK, OwnAgent, message_of, scripted
from fake_evaluator import FakeEvaluator, verdict
from fake_vm import FakeVm, Reply
from sample_tasks import make_task, only, run

from bench_core.records import Status
from bench_core.records.vocabulary import SuspectCause
from waa_client.actions import Block

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.protocols import EnvironmentHandle

STEP = {"type": "open", "parameters": {"path": "draft.txt"}}


def test_a_set_up_whose_last_step_raised_is_no_score(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    step = {"type": "open", "ok": False, "error": "the evaluator is gone", "seconds": 0}
    evaluator.setup = {"ok": False, "abandoned": True, "steps": [step]}
    run(out, [make_task(config=[STEP])], [vm.url], [evaluator.url])
    assert only(out).status is Status.ENVIRONMENT_ERROR
    assert "the set-up ended at step 1 of 1: open: the evaluator is gone" in message_of(only(out))


def test_a_score_after_a_set_up_that_was_refused_is_suspect(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    step = {"type": "open", "ok": False, "error": "POST /setup/open_file: 500", "seconds": 0}
    evaluator.setup = {"ok": False, "steps": [step, step]}
    run(out, [make_task(config=[STEP, STEP])], [vm.url], [evaluator.url])
    result = only(out)
    assert (result.score, result.suspect) == (0.0, (SuspectCause.SETUP_INCOMPLETE,))


def test_a_score_on_a_vm_that_could_not_be_cleaned_is_suspect(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    vm.always["/setup/clear_task_files"] = Reply(500, b"in use", "text/html")
    run(out, [make_task()], [vm.url], [evaluator.url])
    assert (only(out).score, only(out).suspect) == (0.0, (SuspectCause.SETUP_INCOMPLETE,))


def test_a_vm_in_which_nothing_runs_makes_the_score_suspect(
    tmp_path: Path, out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    refusal = {"status": "error", "message": "[WinError 1455] The paging file is too small"}
    vm.always["/execute_windows"] = Reply(500, json.dumps(refusal).encode())
    run(out, [make_task()], [vm.url], [evaluator.url], **scripted(tmp_path, "x()", "x()", "DONE"))
    result = only(out)
    assert (result.score, result.suspect) == (0.0, (SuspectCause.ENVIRONMENT_FAULT,))


BUSY = Reply(409, b'{"error": {"code": "in_use", "message": "busy"}}')
GATEWAY = Reply(200, b"<html>gateway</html>", "text/html")


@pytest.mark.parametrize(
    "answers",
    [
        pytest.param([Reply(reset=True), *[BUSY] * 9], id="lost-and-busy"),
        pytest.param([GATEWAY] * 3, id="gateway-pages"),
        pytest.param([Reply(reset=True), GATEWAY, BUSY], id="in-turn"),
    ],
)
def test_an_evaluator_that_answers_late_is_asked_until_it_does(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, answers: list[Reply]
) -> None:
    evaluator.faults["/evaluate"] = list(answers)
    settings = {"ask_again_s": 0.02}
    run(out, [make_task()], [vm.url], [evaluator.url], settings=settings)
    assert (only(out).status, only(out).score) == (Status.COMPLETED, 0.0)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Reply(reset=True), id="dropped"),
        pytest.param(BUSY, id="busy"),
        pytest.param(GATEWAY, id="gateway-page"),
        pytest.param(Reply(503, b"starting", "text/html"), id="unavailable"),
    ],
)
def test_an_evaluator_that_fails_costs_one_run_of_the_agent_and_gives_no_lasting_result(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, answer: Reply
) -> None:
    async def act(environment: EnvironmentHandle) -> None:
        del environment

    evaluator.faults["/evaluate"] = [answer] * 9999
    agent = OwnAgent(act)
    settings = {"ask_again_s": 0.001, "evaluation_s": 1.0}
    outcome = run(
        out, [make_task()], [vm.url], [evaluator.url], working=agent, attempts=3, settings=settings
    )
    result = only(out)
    assert (result.status, result.score, agent.runs) == (Status.ENVIRONMENT_ERROR, None, 1)
    assert "not_retried" in result.flags
    assert (outcome.remaining, result.usage.requests, result.cost_usd) == (1, 1, 0.25)


LOST = verdict(
    None,
    evaluation_error={
        "phase": "evaluate", "stage": "result", "func": "get_vm_file", "type": "VmTransportError",
        "message": "/file: no answer",
    },
)  # fmt: skip


def losing_the_vm(times: int, then: dict[str, Any]) -> Any:
    """Make verdicts of evaluations, of which the first got no answer of the VM."""
    left = [LOST] * times
    return lambda _: left.pop() if left else then


def types(*, sends_screen: bool = True) -> OwnAgent:
    async def act(environment: EnvironmentHandle) -> None:
        language = "code_block" if sends_screen else "pyautogui"
        await environment.live.run(Block(code="computer.keyboard.write('x')", language=language))

    return OwnAgent(act, in_process=True)


def test_a_vm_that_was_away_for_a_moment_is_evaluated_again_as_the_agent_left_it(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    evaluator.judge = losing_the_vm(1, verdict(1.0))
    agent = types()
    run(out, [make_task()], [vm.url], [evaluator.url], working=agent, attempts=3)
    result = only(out)
    assert (result.status, result.score, agent.runs) == (Status.COMPLETED, 1.0, 1)
    assert "evaluated_again" in result.flags
    first, second = (body["idempotency_key"] for body in evaluator.bodies("/evaluate"))
    assert first != second


@pytest.mark.parametrize("how", ["gone", "restarted", "restart-unknown"])
def test_a_vm_that_is_lost_while_it_is_evaluated_costs_one_run_and_gives_no_lasting_result(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, how: str
) -> None:
    def judge(_: Any) -> Any:
        if how == "gone":
            vm.always["/probe"] = Reply(reset=True)
        elif how == "restarted":
            vm.computer.updated = False
        return LOST

    evaluator.judge = judge
    agent = types(sends_screen=how != "restart-unknown")
    outcome = run(
        out, [make_task()], [vm.url], [evaluator.url], working=agent, attempts=3, options=QUICK
    )
    result = only(out)
    assert (result.status, result.score, agent.runs) == (Status.ENVIRONMENT_ERROR, None, 1)
    assert ("not_retried" in result.flags, outcome.remaining) == (True, 1)
    assert (result.usage.requests, result.cost_usd, result.steps) == (1, 0.25, 1)
    assert {"action_history.json", "evaluation.json"} <= set(result.artifact_paths)
    assert len(evaluator.bodies("/evaluate")) == 1


def test_an_evaluation_that_never_gets_its_answer_of_a_working_vm_is_undecided(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    evaluator.judge = lambda _: LOST
    run(out, [make_task()], [vm.url], [evaluator.url], working=types())
    assert (only(out).status, only(out).score) == (Status.EVALUATION_ERROR, None)
    assert len(evaluator.bodies("/evaluate")) == 3


@pytest.mark.parametrize("score", [0.0, 1.0])
@pytest.mark.parametrize("how", ["picture", "restarted"])
def test_a_vm_that_is_out_of_order_after_its_evaluation_gives_no_score(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, how: str, score: float
) -> None:
    def judge(_: Any) -> Any:
        if how == "picture":
            vm.always["/screenshot"] = Reply(502, b"bad", "text/html")
        else:
            vm.computer.updated = False
        return verdict(score)

    evaluator.judge = judge
    agent = types()
    run(out, [make_task()], [vm.url], [evaluator.url], working=agent, attempts=3)
    result = only(out)
    found = (result.status, result.score, "not_retried" in result.flags, agent.runs)
    assert found == (Status.ENVIRONMENT_ERROR, None, True, 1)


@pytest.mark.parametrize(
    ("text", "suspect"),
    [
        ("<html>bad gateway</html>", (SuspectCause.ENVIRONMENT_FAULT,)),
        ('{"status": "error", "message": "no such file"}', ()),
    ],
    ids=["gateway", "own"],
)
def test_a_score_from_a_gateways_errors_is_suspect(
    out: Path, vm: FakeVm, evaluator: FakeEvaluator, text: str, suspect: tuple[SuspectCause, ...]
) -> None:
    asked = {"target": "vm", "method": "POST", "path": "/file", "status": 500}
    seen = {**asked, "body": {"text": text, "sha256": "0" * 64, "size": len(text)}}
    evaluator.judge = lambda _: verdict(0.0, transcript=[seen])
    run(out, [make_task()], [vm.url], [evaluator.url], working=types())
    assert (only(out).score, only(out).suspect) == (0.0, suspect)
