"""Whoever dies - client, VM or server - every key is evaluated once or refused with a reason."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings
from waa_server_ext.server.startup import running_server
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIATURE = Path(__file__).resolve().parents[1] / "miniature"
STATE = VmState.load({"commands": [{"match": "cmd /c ", "output": "1"}]})
CLIENTS = 16
EACH = 6


def body_of(key: str, **more: Any) -> dict[str, Any]:
    evaluator = {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": ["cmd", "/c", key]},
        "expected": {"type": "rule", "rules": {"expected": "1"}},
        **more,
    }
    task = {"id": key, "instruction": "", "config": [], "evaluator": evaluator}
    return {"task": task, "action_history": ["DONE"], "idempotency_key": key}


def asked_until_settled(client: httpx.Client, key: str) -> dict[str, Any]:
    """Do what a client does: ask again while nothing was done or another request is on it."""
    for _ in range(600):
        answer = client.post("/evaluate", json=body_of(key))
        waits = answer.status_code == 503 or answer.json().get("error", {}).get("code") == "in_use"
        if not waits:
            return {"status": answer.status_code, **answer.json()}
        time.sleep(0.05)
    raise AssertionError(f"{key} was never settled")


def test_sixteen_clients_and_a_vm_that_comes_and_goes(tmp_path: Path, vm_host: str) -> None:
    settings = EvaluatorSettings(cache=tmp_path / "worker", checkout=MINIATURE)
    lives: list[list[dict[str, Any]]] = []
    keys = [f"key-{number}" for number in range(CLIENTS * EACH // 2)] * 2  # each asked by two
    done = threading.Event()

    def come_and_go() -> None:
        while not done.is_set():
            with FixtureVm(STATE, host=vm_host) as vm:
                done.wait(0.3)
            lives.append(list(vm.requests))
            done.wait(0.1)

    with (
        IsolatedEvaluator(settings) as evaluator,
        Service(evaluator, ServiceSettings(vm=vm_host, cache=tmp_path / "server")) as service,
        running_server(service) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=300) as client,
        ThreadPoolExecutor(CLIENTS) as pool,
    ):
        vm_thread = threading.Thread(target=come_and_go)
        vm_thread.start()
        answers = list(pool.map(lambda key: asked_until_settled(client, key), keys))
        done.set()
        vm_thread.join()
    by_key: dict[str, list[dict[str, Any]]] = {}
    for key, answer in zip(keys, answers, strict=True):
        by_key.setdefault(key, []).append(answer)
    assert all(first == second for first, second in by_key.values())
    outcomes = {
        (answer["status"], answer["score"], (answer["evaluation_error"] or {}).get("type"))
        for answer in answers
    }
    assert (200, 1.0, None) in outcomes
    assert outcomes <= {(200, 1.0, None), (200, None, "VmTransportError")}
    calls = [
        [request["json"]["command"][2] for request in life if request["path"] == "/execute"]
        for life in lives
    ]
    # a VM may go before it answers the last call that it got, and the next one is asked that again
    in_order = [(key, at + 1 < len(life)) for life in calls for at, key in enumerate(life)]
    twice = [
        key
        for at, (key, answered) in enumerate(in_order)
        if answered and key in dict(in_order[at + 1 :])
    ]
    assert not twice, "a key was evaluated twice"


class Server:
    """`waa-server-ext serve` as users start it."""

    def __init__(self, vm: str, cache: Path) -> None:
        command = "from waa_server_ext.cli import main; main()"
        options = ["--vm", vm, "--cache", cache, "--waa-checkout", MINIATURE, "--port", "0"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "serve", "--no-token", *map(str, options)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline()
        self.port = int(self.greeting.partition("127.0.0.1:")[2].partition("/")[0])
        self.url = f"http://127.0.0.1:{self.port}"

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        status = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return status


@pytest.fixture
def vm(vm_host: str) -> Iterator[FixtureVm]:
    with FixtureVm(STATE, host=vm_host) as running:
        yield running


@contextlib.contextmanager
def serving(vm: FixtureVm, cache: Path) -> Iterator[Server]:
    server = Server(vm.address, cache)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.end(signal.SIGTERM)


def until(happened: Any) -> None:
    for _ in range(1200):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


def send_and_forget(server: Server, body: dict[str, Any]) -> socket.socket:
    """Send a request and do not read the answer."""
    data = json.dumps(body).encode()
    connection = socket.create_connection(("127.0.0.1", server.port))
    head = (
        f"POST /evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    connection.sendall(head.encode() + data)
    return connection


@pytest.mark.slow
def test_killed_while_evaluating_the_key_is_refused_and_the_vm_left_alone(
    vm: FixtureVm, tmp_path: Path
) -> None:
    save = {"type": "execute", "parameters": {"command": ["save"]}}
    sleep = {"type": "sleep", "parameters": {"seconds": 3600}}
    body = body_of("k", postconfig=[save, sleep])
    with serving(vm, tmp_path) as server, send_and_forget(server, body):
        until(lambda: len(vm.requests) == 1)
        server.end(signal.SIGKILL)
    with serving(vm, tmp_path) as server:
        answer = httpx.post(f"{server.url}/evaluate", json=body, timeout=300)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "interrupted")
    assert len(vm.requests) == 1


@pytest.mark.slow
def test_killed_before_the_answer_arrived_the_verdict_is_given_again(
    vm: FixtureVm, tmp_path: Path
) -> None:
    body = body_of("k")
    journal = tmp_path / "journal.jsonl"
    with serving(vm, tmp_path) as server, send_and_forget(server, body):
        until(lambda: b'"state":"done"' in journal.read_bytes())
        server.end(signal.SIGKILL)
    with serving(vm, tmp_path) as server:
        answer = httpx.post(f"{server.url}/evaluate", json=body, timeout=300)
    assert (answer.status_code, answer.json()["score"]) == (200, 1.0)
    assert len(vm.requests) == 1


@pytest.mark.slow
def test_a_client_that_hangs_up_loses_nothing(vm: FixtureVm, tmp_path: Path) -> None:
    body = body_of("k")
    journal = tmp_path / "journal.jsonl"
    with serving(vm, tmp_path) as server:
        send_and_forget(server, body).close()
        until(lambda: journal.exists() and b'"state":"done"' in journal.read_bytes())
        answer = httpx.post(f"{server.url}/evaluate", json=body, timeout=300)
    assert (answer.status_code, answer.json()["score"]) == (200, 1.0)
    assert len(vm.requests) == 1


def test_a_termination_signal_ends_the_server_cleanly(vm: FixtureVm, tmp_path: Path) -> None:
    server = Server(vm.address, tmp_path)
    assert "scores on the VM" in server.greeting
    assert server.end(signal.SIGTERM) == 0
