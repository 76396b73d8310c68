from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fake_evaluator import FakeEvaluator, failure, verdict
from fake_vm import FakeVm, Reply

from bench_core.errors import EnvironmentFaultError, EvaluationError, InputError
from waa_client.errors import EvaluatorDownError
from waa_client.evaluation import EvaluationClient, EvaluationFault, MetricDetail, Verdict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TASK = {"id": "x", "instruction": "y", "evaluator": {"func": "exact_match"}}


@pytest.fixture
async def client(evaluator: FakeEvaluator) -> AsyncIterator[EvaluationClient]:
    async with EvaluationClient(evaluator.url, wait_s=0.01) as made:
        yield made


def refused(status: int, code: str) -> Reply:
    return Reply(status, b'{"error": {"code": "%s", "message": "no"}}' % code.encode())


async def test_a_verdict_is_read_with_its_metrics(
    client: EvaluationClient, evaluator: FakeEvaluator
) -> None:
    evaluator.judge = lambda _: verdict(0.5, something_new={"of": "a later server"})
    found = await client.evaluate(TASK, ["DONE"])
    assert (found.score, found.method) == (0.5, "/evaluate, native evaluators, v2")
    assert [(c.criterion, c.actual, c.expected, c.passed) for c in found.checks] == [
        ("exact_match", "a", "b", False)
    ]
    assert found.raw["something_new"] == {"of": "a later server"}


@pytest.mark.parametrize(
    ("score", "metric", "passed"),
    [
        pytest.param(
            0.0, {"error": "KeyError: 'x'"}, False, id="a-zero-that-rests-on-an-exception"
        ),
        pytest.param(None, {"error": "KeyError: 'x'"}, None, id="no-score"),
        pytest.param(
            1.0, {"error": "FileNotFoundError: f", "score": 1.0}, True, id="another-was-used"
        ),
        pytest.param(0.0, {}, None, id="not-reached"),
    ],
)
def test_an_exception_of_the_evaluator_is_a_failed_check_where_the_score_rests_on_it(
    score: float | None, metric: dict[str, Any], passed: object
) -> None:
    fault = EvaluationFault(phase="evaluate", type="KeyError") if score is None else None
    given = MetricDetail(metric="exact_match", getter="vm_file", getter_arguments="{}", **metric)
    (check,) = Verdict(score=score, evaluation_error=fault, metrics=(given,)).checks
    assert check.passed is passed
    raised = f"the evaluator raised {metric['error']}; " if metric else ""
    assert check.reason == f"{raised}found by vm_file({{}})"


async def test_no_score_is_never_a_zero(client: EvaluationClient, evaluator: FakeEvaluator) -> None:
    evaluator.judge = lambda _: failure()
    found = await client.evaluate(TASK, [])
    assert found.score is None
    assert found.evaluation_error is not None
    assert found.evaluation_error.func == "get_cloud_file"


@pytest.mark.parametrize(
    ("stored", "got"),
    [
        pytest.param(Reply(200, b"pixels", "image/png"), True, id="there"),
        pytest.param(Reply(404, b"{}"), False, id="gone"),
        pytest.param(Reply(reset=True), False, id="no-answer"),
    ],
)
async def test_a_transcript_has_the_bodies_that_its_server_still_has(
    client: EvaluationClient, evaluator: FakeEvaluator, stored: Reply, got: object
) -> None:
    digest = "a" * 64
    body = {"file": digest, "sha256": digest, "size": 6}
    asked = {"target": "vm", "method": "POST", "path": "/file", "status": 200, "body": body}
    evaluator.judge = lambda _: verdict(1.0, transcript=[{"note": "no body"}, asked])
    evaluator.faults[f"/bodies/{digest}"] = [stored]
    first, second = await client.transcript(await client.evaluate(TASK, []))
    assert first == {"note": "no body"}
    assert (second != asked) is got
    assert second["path"] == "/file"


async def test_an_evaluation_whose_process_died_is_no_verdict(
    client: EvaluationClient, evaluator: FakeEvaluator
) -> None:
    evaluator.judge = lambda _: failure("EvaluatorGone")
    with pytest.raises(EvaluatorDownError):
        await client.evaluate(TASK, [])


async def test_an_evaluator_that_is_busy_is_asked_more_often_than_one_that_is_silent(
    evaluator: FakeEvaluator,
) -> None:
    async with EvaluationClient(evaluator.url, tries=2, wait_s=0.001) as client:
        evaluator.faults["/evaluate"] = [refused(409, "in_use")] * 5
        assert (await client.evaluate(TASK, ["DONE"])).score == 1.0
        evaluator.faults["/evaluate"] = [Reply(reset=True)] * 5
        with pytest.raises(EvaluatorDownError):
            await client.evaluate(TASK, ["DONE"])


@pytest.mark.parametrize(
    "lost",
    [
        Reply(reset=True),
        Reply(503, b"{}"),
        Reply(502, b"gateway"),
        Reply(200, b"<html>gateway</html>", "text/html"),
        refused(409, "in_use"),
    ],
    ids=["dropped", "unavailable", "bad-gateway", "gateway-page", "in-use"],
)
async def test_a_lost_answer_is_asked_for_again_with_the_same_key(
    client: EvaluationClient, evaluator: FakeEvaluator, lost: Reply
) -> None:
    evaluator.faults["/evaluate"] = [lost, lost]
    assert (await client.evaluate(TASK, ["DONE"])).score == 1.0
    keys = {body["idempotency_key"] for body in evaluator.bodies("/evaluate")}
    assert (len(evaluator.bodies("/evaluate")), len(keys), len(evaluator.evaluated)) == (3, 1, 1)


async def test_two_evaluations_have_two_keys(
    client: EvaluationClient, evaluator: FakeEvaluator
) -> None:
    await client.evaluate(TASK, [])
    await client.evaluate(TASK, [])
    assert len(evaluator.evaluated) == 2


@pytest.mark.parametrize(
    ("reply", "kind", "message"),
    [
        (refused(409, "interrupted"), EvaluatorDownError, "no"),
        (refused(409, "other_body"), EvaluationError, "no"),
        (refused(400, "bad_request"), EvaluationError, "HTTP 400: no"),
        (refused(404, "unknown_task"), EvaluationError, "HTTP 404: no"),
        (refused(401, "unauthorized"), InputError, "set WAA_SERVER_TOKEN"),
        (Reply(404, b"<html>", "text/html"), EvaluationError, "has no /evaluate"),
        (Reply(500, b'{"status": "error", "message": "404 Not Found: x"}'), EvaluationError,
         "has no /evaluate"),
        (refused(500, "server"), EvaluationError, "HTTP 500: no"),
        (Reply(500, b"oops", "text/plain"), EvaluatorDownError, "oops"),
        (Reply(200, b"not json"), EvaluatorDownError, "did not answer JSON"),
        (Reply(200, b"[]"), EvaluatorDownError, "did not answer an object"),
        (Reply(200, b"{}"), EvaluationError, "score"),
        (Reply(200, b'{"score": "high"}'), EvaluationError, "score"),
        (Reply(200, b'{"score": 1e999}'), EvaluationError, "score"),
    ],
)  # fmt: skip
async def test_what_is_no_verdict_says_why(
    client: EvaluationClient, evaluator: FakeEvaluator, reply: Reply, kind: Any, message: str
) -> None:
    evaluator.faults["/evaluate"] = [reply] * 30
    with pytest.raises(kind, match=message):
        await client.evaluate(TASK, [])


async def test_an_evaluator_that_is_gone_is_an_environment_fault() -> None:
    with FakeEvaluator() as gone:
        pass
    async with EvaluationClient(gone.url, tries=2, wait_s=0.01) as client:
        with pytest.raises(EvaluatorDownError, match="does not answer"):
            await client.evaluate(TASK, [])
        with pytest.raises(EnvironmentFaultError):
            await client.health()


async def test_waas_own_server_is_distinguished_from_an_evaluator(vm: FakeVm) -> None:
    async with EvaluationClient(vm.url, tries=1) as client:
        with pytest.raises(EvaluationError, match="has no /evaluate: is this waa-server-ext"):
            await client.evaluate(TASK, [])


async def test_the_token_is_sent_as_bearer(evaluator: FakeEvaluator) -> None:
    async with EvaluationClient(evaluator.url, token="planted") as client:  # planted
        await client.evaluate(TASK, [])
    assert evaluator.tokens == ["Bearer planted"]


async def test_a_set_up_is_never_repeated(
    client: EvaluationClient, evaluator: FakeEvaluator
) -> None:
    evaluator.faults["/setup"] = [Reply(reset=True)]
    with pytest.raises(EvaluatorDownError):
        await client.set_up(TASK)
    assert evaluator.paths() == ["/setup"]
