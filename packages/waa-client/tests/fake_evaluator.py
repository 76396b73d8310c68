"""A loopback evaluator with waa-server-ext's answers, and verdicts from the test."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from fake_vm import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

EXCHANGE = {"target": "vm", "method": "POST", "path": "/file", "request": None, "status": 200}


def verdict(score: float | None, **more: Any) -> dict[str, Any]:
    answer = {
        "schema_version": 1,
        "score": score,
        "success": None if score is None else score >= 1.0,
        "reason": "because",
        "evaluation_error": None,
        "metrics": [
            {"metric": "exact_match", "getter": "vm_file", "actual": "a", "expected": "b",
             "score": score, "error": None}
        ],
        "evaluator": "native",
        "fidelity": "v2",
        "notes": [],
        "timings": {"total": 0.1},
        "transcript": [EXCHANGE],
    }  # fmt: skip
    return {**answer, **more}


def failure(kind: str = "HTTPError") -> dict[str, Any]:
    fault = {
        "phase": "evaluate", "stage": "expected", "func": "get_cloud_file", "type": kind,
        "message": "404",
    }  # fmt: skip
    return verdict(None, evaluation_error=fault)


class FakeEvaluator:
    """Use it as `with FakeEvaluator() as evaluator`; `judge` makes a verdict of a request."""

    def __init__(self, judge: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> None:
        self.judge = judge or (lambda request: verdict(float(request["action_history"] != [])))
        self.faults: dict[str, list[Reply]] = {}
        self.seen: list[tuple[str, dict[str, Any]]] = []
        self.tokens: list[str | None] = []
        self.evaluated: dict[str, dict[str, Any]] = {}
        self.steps: int | None = None
        self.setup: dict[str, Any] | None = None
        self.world: str | None = None
        self.missing: dict[str, str] = {}

    def paths(self) -> list[str]:
        return [path for path, _ in self.seen]

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [body for each, body in self.seen if each == path]

    def __enter__(self) -> Self:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self, {})

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                owner.answer(self, json.loads(self.rfile.read(length)))

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.thread.is_alive():
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()

    stop = __exit__

    def answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        path = handler.path
        self.seen.append((path, body))
        self.tokens.append(handler.headers.get("authorization"))
        made = json.dumps(self._answer(path, body)).encode()
        waiting = self.faults.get(path)
        reply = waiting.pop(0) if waiting else Reply(200, made)
        if reply.reset:
            handler.connection.close()
            return
        handler.send_response(reply.status)
        handler.send_header("content-type", reply.kind)
        handler.send_header("content-length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body)

    def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/setup" and self.setup is not None:
            return self.setup
        if path == "/setup":
            asked = [each["type"] for each in body["task"]["config"]][: self.steps]
            steps = [{"type": kind, "ok": True, "seconds": 0.1} for kind in asked]
            return {"ok": self.steps is None, "steps": steps}
        if path == "/evaluate":
            # the journal: a key is evaluated once, also when its answer gets lost
            key = body["idempotency_key"]
            if key not in self.evaluated:
                self.evaluated[key] = self.judge(body)
            return self.evaluated[key]
        if path == "/rescore":
            return self.judge(body)
        if path == "/capabilities":
            return {"missing": self.missing}
        evaluator = {"kind": "native", "fidelity": "v2"}
        looks_at = {"address": "vm", "reachable": True}
        if self.world is not None:
            looks_at["world"] = self.world
        return {"status": "ok", "evaluator": evaluator, "vm": looks_at}
