"""Scoring again over HTTP: what a transcript may hold, and which bodies are given out."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings, create_app
from waa_server_ext.vm.client import BodyStore
from waa_server_ext.vm.exchanges import Body
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from flask.testing import FlaskClient

LONG = "long " * 2000
"""More than a transcript holds itself."""
TASK: dict[str, Any] = {
    "id": "long", "instruction": "", "evaluator": {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": ["type", "a.txt"]},
        "expected": {"type": "rule", "rules": {"expected": LONG}},
    },
}  # fmt: skip
CALL: dict[str, Any] = {"method": "GET", "path": "/x"}


def inline(call: dict[str, Any], answer: str, **more: Any) -> dict[str, Any]:
    """Return `call` with the body `answer`, held by the transcript itself."""
    data = answer.encode()
    digest = hashlib.sha256(data).hexdigest()
    return {**call, "body": {"sha256": digest, "size": len(data), "text": answer, **more}}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def client(cache: Path) -> Iterator[FlaskClient]:
    """A server whose VM has been switched off after one evaluation."""
    with FixtureVm(VmState.load({"commands": [{"match": "a.txt", "output": LONG}]}), port=0) as vm:
        evaluator = make_evaluator(EvaluatorSettings(cache=cache, offline=True, skip_sleeps=True))
        with Service(evaluator, ServiceSettings(vm=vm.address, cache=cache)) as service:
            made = create_app(service).test_client()
            made.verdict = made.post("/evaluate", json={"task": TASK}).json
            vm.stop()
            yield made


@pytest.fixture(scope="module")
def transcript(client: FlaskClient) -> list[dict[str, Any]]:
    """What the VM was asked for `TASK`: one call with a body that is stored apart."""
    calls = client.verdict["transcript"]
    assert [call["path"] for call in calls] == ["/execute"]
    assert calls[0]["body"]["file"] == calls[0]["body"]["sha256"]
    return calls


def rescored(client: FlaskClient, transcript: Any) -> dict[str, Any]:
    answer = client.post("/rescore", json={"task": TASK, "transcript": transcript})
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_transcript_gives_its_verdict_again_when_the_vm_is_gone(
    client: FlaskClient, transcript: list[dict[str, Any]]
) -> None:
    again = rescored(client, transcript)
    assert (client.verdict["score"], again["score"]) == (1.0, 1.0)
    assert [call["path"] for call in again["transcript"]] == ["/execute"]


def test_what_the_vm_said_otherwise_scores_otherwise(
    client: FlaskClient, transcript: list[dict[str, Any]]
) -> None:
    answer = inline(
        transcript[0], json.dumps({"status": "success", "output": "x", "returncode": 0})
    )
    assert rescored(client, [answer])["score"] == 0.0


def test_rescoring_leaves_the_journal_as_it_is(
    client: FlaskClient, transcript: list[dict[str, Any]], cache: Path
) -> None:
    before = (cache / "journal.jsonl").read_bytes()
    body = {"task": TASK, "transcript": transcript, "idempotency_key": "k"}
    for _ in range(2):
        assert client.post("/rescore", json=body).status_code == 200
    assert (cache / "journal.jsonl").read_bytes() == before


def test_a_transcript_may_be_larger_than_a_task(
    client: FlaskClient, transcript: list[dict[str, Any]]
) -> None:
    padded = inline({**transcript[0], "path": "/other"}, "x" * 9_000_000)
    assert rescored(client, [padded, *transcript])["score"] == 1.0


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda _: [], id="nothing was recorded"),
        pytest.param(lambda call: [{**call, "path": "/elsewhere"}], id="another path"),
        pytest.param(lambda call: [{**call, "status": None}], id="it failed then"),
        pytest.param(lambda call: [{**call, "body": None}], id="no body"),
        pytest.param(
            lambda call: [{**call, "body": {"sha256": "0" * 64, "size": 1, "file": "0" * 64}}],
            id="a body that was not kept",
        ),
        pytest.param(
            lambda call: [inline(call, "x", content_type="text/plain\r\nX-Y: z")],
            id="a content type of two lines",
        ),
        pytest.param(
            lambda call: [inline(call, "x", content_type="text/€")],
            id="a content type that no header can hold",
        ),
    ],
)
def test_a_call_that_cannot_be_replayed_leaves_no_score(
    client: FlaskClient,
    transcript: list[dict[str, Any]],
    spoil: Callable[[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    verdict = rescored(client, spoil(transcript[0]))
    assert verdict["score"] is None
    assert verdict["evaluation_error"]["type"]


def test_a_stored_body_that_was_damaged_leaves_no_score(
    client: FlaskClient, transcript: list[dict[str, Any]], cache: Path
) -> None:
    held = BodyStore(cache / "bodies").keep(json.dumps({"output": LONG * 2}).encode())
    (cache / "bodies" / held.sha256).write_bytes(b'{"output": ""}')
    call = {**transcript[0], "body": held.model_dump()}
    assert rescored(client, [call])["score"] is None
    assert client.get(f"/bodies/{held.sha256}").status_code == 404


@pytest.mark.parametrize(
    ("transcript", "part"),
    [
        (None, "there is no transcript"),
        ("[]", "there is no transcript"),
        ({}, "there is no transcript"),
        ([3], "transcript"),
        ([{}], "method"),
        ([{**CALL, "more": 1}], "more"),
        ([{**CALL, "target": "file"}], "target"),
        ([{**CALL, "seconds": -1}], "seconds"),
        ([{**CALL, "status": "200 OK"}], "status"),
        ([{**CALL, "status": -1}], "status"),
        ([{**CALL, "status": 1000}], "status"),
        ([{**CALL, "status": 10**30}], "status"),
        ([{**CALL, "body": {"size": 1}}], "sha256"),
        ([inline(CALL, "x", b64="!")], "b64"),
        ([inline(CALL, "x", size=2)], "body"),
        ([inline(CALL, "x", sha256="0" * 64)], "body"),
        ([inline(CALL, "x", text=None, b64="eQ==")], "sha256"),
        ([inline(CALL, "x", text=None, b64="eA=")], "decoded"),
    ],
)
def test_a_bad_transcript_is_400_and_says_where(
    client: FlaskClient, transcript: Any, part: str
) -> None:
    answer = client.post("/rescore", json={"task": TASK, "transcript": transcript})
    assert answer.status_code == 400
    assert part in answer.json["error"]["message"]


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"", "not JSON"),
        (b'{"task": {}, "transcript": [', "not JSON"),
        (b"[]", "not an object"),
        (b'{"transcript": []}', "there is no task"),
        (b'{"task": {"id": "../x"}, "transcript": []}', "id is"),
        (b'{"task": {}, "transcript": ' + b"[" * 100 + b"]" * 100 + b"}", "nests deeper"),
        (b'{"task": {}, "transcript": [' + b"{}," * 1_500_000 + b"{}]}", "values"),
    ],
)
def test_a_bad_body_is_400_and_says_why(client: FlaskClient, body: bytes, part: str) -> None:
    answer = client.post("/rescore", data=body, content_type="application/json")
    assert answer.status_code == 400
    assert part in answer.json["error"]["message"]


@pytest.mark.parametrize("path", ["/evaluate", "/setup", "/rescore"])
@pytest.mark.parametrize("end", [b"", b"\\"], ids=["open", "torn"])
def test_a_string_without_an_end_is_refused_without_searching_for_one_again_and_again(
    client: FlaskClient, path: str, end: bytes
) -> None:
    body = b'{"task": "' + b'\\"' * 1_000_000 + end
    started = time.process_time()
    answer = client.post(path, data=body, content_type="application/json")
    assert answer.status_code == 400
    assert time.process_time() - started < 20  # searched for from every quote, it takes hours


def test_a_huge_transcript_is_413_before_it_is_read(client: FlaskClient) -> None:
    environ = {"CONTENT_LENGTH": str(129 * 1024 * 1024)}
    answer = client.post(
        "/rescore", data=b"{}", content_type="application/json", environ_overrides=environ
    )
    assert (answer.status_code, answer.json["error"]["code"]) == (413, "request_entity_too_large")


def test_a_transcript_in_a_form_is_refused_so_no_web_page_can_send_one(client: FlaskClient) -> None:
    body = json.dumps({"task": TASK, "transcript": []})
    assert client.post("/rescore", data=body, content_type="text/plain").status_code == 400


def test_a_body_that_a_transcript_names_is_given_out_whole(
    client: FlaskClient, transcript: list[dict[str, Any]]
) -> None:
    digest = transcript[0]["body"]["sha256"]
    answer = client.get(f"/bodies/{digest}")
    assert answer.status_code == 200
    assert answer.mimetype == "application/octet-stream"
    assert hashlib.sha256(answer.data).hexdigest() == digest
    assert LONG in answer.data.decode()


@pytest.mark.parametrize(
    "digest",
    [
        "0" * 64,
        "0" * 63,
        "0" * 65,
        "A" * 64,
        "0" * 64 + "%0a",
        "journal.jsonl",
        "..%2fjournal.jsonl",
        "..%5cjournal.jsonl",
        "../journal.jsonl",
        "%2e%2e/journal.jsonl",
        "%2fetc%2fpasswd",
        "0" * 64 + "/../../journal.jsonl",
        "%00" * 64,
        "%ff" * 64,
        "%D9%A0" * 64,
        "x" * 10_000,
        "",
    ],
)
def test_nothing_is_given_out_but_bodies_by_digest(client: FlaskClient, digest: str) -> None:
    answer = client.get(f"/bodies/{digest}")
    assert answer.status_code == 404
    assert len(answer.json["error"]["message"]) < 400


@pytest.mark.parametrize("method", ["put", "delete", "patch", "post"])
def test_bodies_can_only_be_read(
    client: FlaskClient, transcript: list[dict[str, Any]], method: str
) -> None:
    path = f"/bodies/{transcript[0]['body']['sha256']}"
    assert getattr(client, method)(path, data=b"other").status_code == 405
    assert client.get(path).status_code == 200


def test_with_a_token_neither_route_answers_without_it(tmp_path: Path) -> None:
    cache = tmp_path
    evaluator = make_evaluator(EvaluatorSettings(cache=cache, offline=True, skip_sleeps=True))
    digest = BodyStore(cache / "bodies").keep(LONG.encode()).file
    with Service(evaluator, ServiceSettings(vm="127.0.0.1:1", cache=cache)) as service:
        client = create_app(service, token="planted-token").test_client()
        asked = {"task": TASK, "transcript": []}
        statuses = [
            (
                client.post("/rescore", json=asked, headers=headers).status_code,
                client.get(f"/bodies/{digest}", headers=headers).status_code,
            )
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer planted-token"})
        ]  # fmt: skip
    assert statuses == [(401, 401), (401, 401), (200, 200)]


@pytest.mark.parametrize(("peer", "host"), [("10.0.0.7", "localhost"), ("127.0.0.1", "evil.test")])
def test_without_a_token_another_machine_or_name_gets_neither(
    client: FlaskClient, transcript: list[dict[str, Any]], peer: str, host: str
) -> None:
    who = {"headers": {"Host": host}, "environ_base": {"REMOTE_ADDR": peer}}
    digest = transcript[0]["body"]["sha256"]
    assert client.get(f"/bodies/{digest}", **who).status_code == 401
    asked = {"task": TASK, "transcript": transcript}
    assert client.post("/rescore", json=asked, **who).status_code == 401


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_binary_bodies_survive_a_transcript(tmp_path: Path, size: int) -> None:
    store = BodyStore(tmp_path)
    data = bytes(number % 256 for number in range(size))
    held = Body.model_validate_json(store.keep(data).model_dump_json())
    assert store.load(held) == data


def test_a_body_that_was_torn_is_written_again(tmp_path: Path) -> None:
    store = BodyStore(tmp_path)
    held = store.keep(LONG.encode())
    (tmp_path / held.sha256).write_bytes(LONG.encode()[:100])
    assert store.load(held) is None
    assert store.load(store.keep(LONG.encode())) == LONG.encode()
