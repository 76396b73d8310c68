"""A stand-in for a model server of one's own, with which the ten-minute page can be tried without a model.

It speaks Chat Completions, knows no `response_format` (it answers 400, as small servers do), and has its answers
about one order of lamps by heart::

    python own_server.py 8099
"""

# ruff: noqa: INP001  # a script beside the samples, no part of the package
from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_NEW = {"op": "created"}
_IN_EFFECT = {
    "op": "word", "field": "/status", "meaning": "the order is in effect",
    "accept": ["confirmed", "paid", "shipped", "delivered"], "reject": ["cancelled", "draft", "pending"],
}  # fmt: skip
_LAMP = {"op": "is", "field": "/item", "values": ["lamp", "lamps"], "kind": "text"}
_TWO = {"op": "number", "field": "/quantity", "compare": "=", "value": 2}
_OAK = {"op": "is", "field": "/address", "values": ["Oak Street 5"], "kind": "address"}
KNOWN: dict[str, dict[str, Any]] = {
    "Two lamps were ordered.": {
        "quotes": {"/orders/1/item": "lamp", "/orders/1/quantity": "2"},
        "facts": [
            {"text": "ordered", "fields": ["/orders/*/status"]},
            {"text": "lamps", "fields": ["/orders/*/item"]},
            {"text": "two", "fields": ["/orders/*/quantity"]},
        ],
        "claim": {
            "op": "exists", "over": "/orders/*", "where": {"op": "and", "of": [_NEW, _IN_EFFECT, _LAMP, _TWO]},
        },
    },
    "The order goes to Oak Street 5.": {
        "quotes": {"/orders/1/address": "Oak Street 5"},
        "facts": [
            {"text": "the order", "fields": ["/orders/*/status"]},
            {"text": "Oak Street 5", "fields": ["/orders/*/address"]},
        ],
        "claim": {"op": "exists", "over": "/orders/*", "where": {"op": "and", "of": [_NEW, _IN_EFFECT, _OAK]}},
    },
    "Nothing else was ordered.": {
        "quotes": {"/orders/1/id": "o2"},
        "facts": [{"text": "nothing else", "fields": ["/orders/*/id"]}],
        "claim": {"op": "exactly", "over": "/orders/*", "where": _NEW, "count": 1},
    },
}  # fmt: skip


def reply_to(system: str, user: str) -> dict[str, Any]:
    """Return what the model says: answers to questions, or claims."""
    if "The questions:" in system:
        asked = map(json.loads, system.partition("The questions:\n")[2].splitlines())
        return {"answers": [_answer(each["question"], each["text"]) for each in asked]}
    criteria = json.loads(user.partition("\n\nThe shape of the state:")[0])["criteria"]
    return {"claims": [_claim(each["id"], each["text"]) for each in criteria]}


def _answer(question: str, text: str) -> dict[str, Any]:
    known = KNOWN.get(text)
    quotes = known["quotes"].items() if known else ()
    return {
        "question": question,
        "reason": "The new order shows it." if known else "No record shows it.",
        "evidence": [{"kind": "present", "pointer": at, "quote": quote} for at, quote in quotes],
        "verdict": "pass" if known else "unknown",
        "confidence": 0.9,
    }


def _claim(criterion: str, text: str) -> dict[str, Any]:
    known = KNOWN.get(text)
    if known is None:
        return {"criterion": criterion, "assertion": None, "reason": "I know three sentences only."}
    return {"criterion": criterion, "facts": known["facts"], "assertion": known["claim"]}


class Handler(BaseHTTPRequestHandler):
    """Answers `POST .../chat/completions`."""

    def do_POST(self) -> None:
        """Answer one call."""
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "response_format" in call:
            self._send(400, {"error": {"message": "unknown field response_format"}})
            return
        texts = {each["role"]: _text(each["content"]) for each in reversed(call["messages"])}
        system = texts.get("system") or texts.get("developer") or ""
        said = json.dumps(reply_to(system, texts["user"]))
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        made = {"id": "1", "object": "chat.completion", "created": 0, "model": call["model"]}
        self._send(200, {**made, "choices": [choice], "usage": usage})

    def _send(self, status: int, data: dict[str, Any]) -> None:
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _text(content: Any) -> str:
    return (
        content if isinstance(content, str) else "".join(each.get("text", "") for each in content)
    )


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
