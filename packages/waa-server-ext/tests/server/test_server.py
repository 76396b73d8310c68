"""What the routes answer, and whom."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from flask import Flask

from bench_core.errors import EnvironmentFaultError, InputError
from waa_server_ext.evaluation.evaluators import Description
from waa_server_ext.evaluation.verdicts import SetupReport, SetupStep, Verdict
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings, create_app, make_blueprint
from waa_server_ext.vm.access import Access
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from flask.testing import FlaskClient

TASK = {"id": "t", "instruction": "x", "evaluator": {"func": "infeasible"}}


class Counting:
    """An evaluator that counts what it is asked and gives 1.0."""

    def __init__(self) -> None:
        self.asked: list[tuple[dict[str, Any], list[str]]] = []

    def evaluate(
        self, task: Mapping[str, Any], action_history: Sequence[str], *, vm: str,
        deadline: float | None = None, replayed: bool = False,
    ) -> Verdict:  # fmt: skip
        self.asked.append((dict(task), list(action_history)))
        if task["id"] == "broken":
            raise RuntimeError("a bug")
        return Verdict(score=1.0, success=True, reason="yes", evaluator="native", fidelity="v2")

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        if task["id"] == "dying":
            raise EnvironmentFaultError("the evaluator is gone: its process ended")
        step = SetupStep(type="launch", ok=True)
        return SetupReport(ok=True, steps=(step,), evaluator="native", fidelity="v2")

    def describe(self) -> Description:
        return Description(kind="native", fidelity="v2", metrics=("exact_match",))


@pytest.fixture
def vm() -> Iterator[FixtureVm]:
    with FixtureVm(port=0) as running:
        yield running


@pytest.fixture
def evaluator() -> Counting:
    return Counting()


@pytest.fixture
def service(tmp_path: Path, vm: FixtureVm, evaluator: Counting) -> Iterator[Service]:
    folder = tmp_path / "tasks" / "notepad"
    folder.mkdir(parents=True)
    (folder / "one.json").write_text(json.dumps({**TASK, "id": "größe"}), encoding="utf-8")
    (folder / "bad.json").write_text("{", encoding="utf-8")
    settings = ServiceSettings(vm=vm.address, cache=tmp_path / "cache", tasks=tmp_path / "tasks")
    with Service(evaluator, settings) as made:
        yield made


@pytest.fixture
def client(service: Service) -> FlaskClient:
    return create_app(service).test_client()


def test_a_task_in_the_body_is_evaluated(client: FlaskClient, evaluator: Counting) -> None:
    answer = client.post("/evaluate", json={"task": TASK, "action_history": ["a", "DONE"]})
    assert answer.status_code == 200
    assert answer.json["score"] == 1.0
    assert evaluator.asked == [(TASK, ["a", "DONE"])]


def test_a_task_may_be_named(client: FlaskClient, evaluator: Counting) -> None:
    assert client.post("/evaluate", json={"task": "notepad/one"}).status_code == 200
    assert evaluator.asked[0][0]["id"] == "größe"


def test_a_bare_task_with_the_last_action_is_accepted(
    client: FlaskClient, evaluator: Counting
) -> None:
    answer = client.post("/evaluate", json={**TASK, "agent_last_action": "FAIL"})
    assert answer.status_code == 200
    assert evaluator.asked == [(TASK, ["FAIL"])]


def test_the_same_key_and_body_return_the_stored_verdict(
    client: FlaskClient, evaluator: Counting
) -> None:
    body = {"task": TASK, "action_history": ["DONE"], "idempotency_key": "k"}
    answers = [client.post("/evaluate", json=body).data for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert len(evaluator.asked) == 1


def test_the_same_key_with_another_body_is_a_conflict(client: FlaskClient) -> None:
    client.post("/evaluate", json={"task": TASK, "idempotency_key": "k"})
    body = {"task": TASK, "action_history": ["DONE"], "idempotency_key": "k"}
    answer = client.post("/evaluate", json=body)
    assert (answer.status_code, answer.json["error"]["code"]) == (409, "other_body")


def test_a_verdict_outlives_the_server(tmp_path: Path, vm: FixtureVm, evaluator: Counting) -> None:
    settings = ServiceSettings(vm=vm.address, cache=tmp_path)
    body = {"task": TASK, "idempotency_key": "k"}
    answers = []
    for _ in range(2):
        with Service(evaluator, settings) as service:
            answers.append(create_app(service).test_client().post("/evaluate", json=body).json)
    assert answers[0] == answers[1]
    assert len(evaluator.asked) == 1


def test_an_evaluator_that_breaks_is_500_and_its_key_is_never_evaluated_again(
    client: FlaskClient, evaluator: Counting
) -> None:
    body = {"task": {**TASK, "id": "broken"}, "idempotency_key": "k"}
    answers = [client.post("/evaluate", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [500, 409]
    assert answers[1].json["error"]["code"] == "interrupted"
    assert len(evaluator.asked) == 1


def test_two_servers_on_one_cache_are_refused(
    service: Service, tmp_path: Path, evaluator: Counting
) -> None:
    with pytest.raises(InputError, match="another server uses the cache"):
        Service(evaluator, ServiceSettings(vm="localhost", cache=tmp_path / "cache"))


def test_a_vm_that_is_not_there_is_503_and_the_key_can_be_used_again(
    tmp_path: Path, evaluator: Counting, vm_host: str
) -> None:
    body = {"task": TASK, "idempotency_key": "k"}
    with Service(evaluator, ServiceSettings(vm=vm_host, cache=tmp_path)) as service:
        client = create_app(service).test_client()
        refused = client.post("/evaluate", json=body)
        health = client.get("/health").json
        with FixtureVm(host=vm_host):
            accepted = client.post("/evaluate", json=body)
    assert (refused.status_code, refused.json["error"]["code"]) == (503, "vm_unreachable")
    assert (health["status"], health["vm"]["reachable"]) == ("degraded", False)
    assert health["vm"]["world"] is None
    assert (accepted.status_code, accepted.json["score"]) == (200, 1.0)


@pytest.mark.parametrize("digest", ["../../secret", "/etc/passwd", "A" * 64, "0" * 63])
def test_a_transcript_names_bodies_by_digest_only(client: FlaskClient, digest: str) -> None:
    body = {"sha256": digest, "size": 3, "file": digest}
    call = {"method": "POST", "path": "/file", "status": 200, "body": body}
    answer = client.post("/rescore", json={"task": TASK, "transcript": [call]})
    assert answer.status_code == 400
    assert "sha256" in answer.json["error"]["message"]


def test_set_up_reports_its_steps(client: FlaskClient) -> None:
    answer = client.post("/setup", json={"task": TASK})
    assert [step["type"] for step in answer.json["steps"]] == ["launch"]


def test_a_set_up_whose_evaluator_died_is_no_report(client: FlaskClient) -> None:
    answer = client.post("/setup", json={"task": {**TASK, "id": "dying"}})
    assert (answer.status_code, answer.json["error"]["code"]) == (503, "not_ready")


def test_health_proves_evaluator_and_vm(client: FlaskClient, vm: FixtureVm) -> None:
    health = client.get("/health").json
    assert health["status"] == "ok"
    assert health["evaluator"]["kind"] == "native"
    stand_in = {"address": vm.address, "reachable": True, "world": "built-in", "error": None}
    assert health["vm"] == stand_in


@pytest.mark.parametrize(
    "answer",
    [
        {"json": {"status": "Probe successful"}},
        {"json": {"world": "elsewhere"}},
        {"json": ["built-in"]},
        {"text": "built-in"},
    ],
    ids=["nothing", "another", "list", "text"],
)
def test_a_vm_that_does_not_say_that_it_is_a_stand_in_is_real(
    tmp_path: Path, evaluator: Counting, answer: dict[str, Any]
) -> None:
    state = VmState.load({"endpoints": {"GET /probe": {"status": 200, **answer}}})
    with FixtureVm(state, port=0) as vm:
        settings = ServiceSettings(vm=vm.address, cache=tmp_path)
        with Service(evaluator, settings) as service:
            health = create_app(service).test_client().get("/health").json
    assert (health["vm"]["reachable"], health["vm"]["world"]) == (True, "real")


def test_capabilities_name_what_can_be_scored(client: FlaskClient) -> None:
    assert client.get("/capabilities").json["metrics"] == ["exact_match"]


def test_tasks_are_given_as_they_are(client: FlaskClient) -> None:
    assert client.get("/tasks").json == {"tasks": ["notepad/bad", "notepad/one"]}
    assert client.get("/tasks/notepad/one").json["id"] == "größe"


@pytest.mark.parametrize(
    "path",
    ["/tasks/notepad/two", "/tasks/../cache", "/tasks/notepad/..%2f..%2fjournal", "/nope", "/"],
)
def test_what_is_not_there_is_404_with_a_json_body(client: FlaskClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "list, not an object"),
        (b"{}", "there is no task"),
        (b'{"task": 3}', "task is int"),
        (b'{"task": "notepad/bad"}', "is not JSON"),
        (b'{"task": {"id": "a/b"}}', "id is 'a/b'"),
        (b'{"task": {}, "action_history": "DONE"}', "list of at most"),
        (b'{"task": {}, "action_history": [3]}', "list of at most"),
        (b'{"task": {}, "idempotency_key": ""}', "idempotency_key"),
        (b'{"task": {}, "idempotency_key": 3}', "idempotency_key"),
        (b'{"task": {}, "idempotency_key": "auto-1"}', "the server makes those itself"),
        (b'{"task": {"x": NaN}}', "NaN is not JSON"),
        (b'{"task": {"x": "\\ud800"}}', "half a character"),
        (b'{"task": {"x": ' + b"9" * 10_000 + b"}}", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b'{"a":' * 100 + b"1" + b"}" * 100, "nests deeper"),
        (b"[" * 1_000_000, "nests deeper"),
    ],
)
def test_a_bad_body_is_400_and_says_why(client: FlaskClient, body: bytes, part: str) -> None:
    answer = client.post("/evaluate", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert part in answer.json["error"]["message"]


def test_brackets_in_strings_do_not_count_as_depth(client: FlaskClient) -> None:
    body = {"task": TASK, "action_history": ['\\"[' * 1000]}
    assert client.post("/evaluate", json=body).status_code == 200


def test_a_huge_body_is_413(client: FlaskClient) -> None:
    data = b'{"task": "' + b"x" * (9 * 1024 * 1024) + b'"}'
    answer = client.post("/evaluate", data=data, content_type="application/json")
    assert answer.status_code == 413
    assert answer.json["error"]["code"] == "request_entity_too_large"


def test_a_form_is_no_json_so_no_web_page_can_send_one(client: FlaskClient) -> None:
    answer = client.post("/evaluate", data=json.dumps({"task": TASK}), content_type="text/plain")
    assert answer.status_code == 400


def test_with_a_token_only_its_bearer_gets_in(service: Service) -> None:
    client = create_app(service, token="planted-token").test_client()
    statuses = [
        client.get("/health", headers=headers).status_code
        for headers in (
            {}, {"Authorization": "Bearer wrong"}, {"Authorization": "planted-token"},
            {"Authorization": "Bearer planted-token"},
        )
    ]  # fmt: skip
    assert statuses == [401, 401, 401, 200]


@pytest.mark.parametrize(
    ("peer", "host", "status"),
    [
        ("127.0.0.1", "localhost:5050", 200),
        ("127.0.0.1", "127.0.0.1:5050", 200),
        ("::1", "[::1]:5050", 200),
        ("127.0.0.1", "attacker.example", 401),
        ("20.20.20.1", "localhost", 401),
        ("10.0.0.7", "10.0.0.1:5050", 401),
    ],
)
def test_without_a_token_only_this_machine_gets_in(
    service: Service, peer: str, host: str, status: int
) -> None:
    client = create_app(service).test_client()
    answer = client.get("/capabilities", headers={"Host": host}, environ_base={"REMOTE_ADDR": peer})
    assert answer.status_code == status


def test_mounted_in_a_server_that_makes_every_error_a_500_ours_keep_their_status(
    service: Service,
) -> None:
    host = Flask("waa")
    host.errorhandler(Exception)(lambda error: (str(error), 500))
    host.register_blueprint(make_blueprint(service, Access()))
    client = host.test_client()
    huge = b'{"task": "' + b"x" * (9 * 1024 * 1024) + b'"}'
    answers = [
        client.post("/evaluate", json={}),
        client.post("/evaluate", json={"task": "a/b"}),
        client.post("/evaluate", data=huge, content_type="application/json"),
        client.get("/unknown"),
    ]
    assert [answer.status_code for answer in answers] == [400, 404, 413, 500]


@pytest.mark.parametrize("token", ["", "x", "1234567"])
def test_a_token_that_can_be_guessed_is_refused(service: Service, token: str) -> None:
    with pytest.raises(InputError, match="guessed"):
        create_app(service, token=token)


@pytest.mark.parametrize(
    "host", ["[::1]evil", "[::1]evil:5050", "localhost@evil", "127.0.0.1.evil", "[::1", "", "a b"]
)
def test_a_host_that_only_begins_as_this_machine_is_refused(client: FlaskClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 401


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1"])
def test_a_page_of_another_origin_changes_nothing(client: FlaskClient, origin: str) -> None:
    answer = client.post("/setup", json={"task": TASK}, headers={"Origin": origin})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "foreign_origin")


def test_a_page_of_the_servers_own_origin_is_not_refused(client: FlaskClient) -> None:
    own = {"Host": "localhost:5050", "Origin": "http://localhost:5050"}
    assert client.post("/evaluate", json={}, headers=own).status_code == 400
