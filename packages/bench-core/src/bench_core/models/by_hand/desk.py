"""The page on which people answer in a model's place: one server per run, found by a variable."""

from __future__ import annotations

import base64
import itertools
import json
import os
import secrets
import select
import socket
import sys
import threading
import time
from dataclasses import dataclass
from http import HTTPStatus
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import ValidationError

from bench_core.models.records import ImagePart, ModelRequest, ToolResult
from bench_core.records.codec import decode_json
from bench_core.serving import BoundedHandler, BoundedServer

BY_HAND = "by-hand"
DESK_VARIABLE = "PROCTOR_BY_HAND"
"""Address of the page, with its token; set by the process of the run, read by those that it starts."""

_LOOK_S = 20.0
"""So long the page waits for news before it asks again."""
_POLL_S = 0.2
_ELSEWHERE = frozenset({"messages", "system", "tools", "native_tools", "trial", "output_schema"})
_starting = threading.Lock()


def desk_url() -> str:
    """Return the address of the run's page; serve it if it is not served yet."""
    with _starting:
        if DESK_VARIABLE not in os.environ:
            desk = _Desk(("127.0.0.1", 0), _DeskHandler)
            desk.start("by-hand")
            os.environ[DESK_VARIABLE] = f"http://127.0.0.1:{desk.server_address[1]}/{desk.token}/"
            print(  # noqa: T201  # on the terminal, before anybody waits for an answer
                f"answer in the model's place: {os.environ[DESK_VARIABLE]}",
                file=sys.stderr,
                flush=True,
            )
        return os.environ[DESK_VARIABLE]


@dataclass
class _WaitingRequest:
    """A request that waits for a person, and the person's answer."""

    request: ModelRequest
    answer: dict[str, Any] | None = None


@dataclass
class _TrialRequests:
    """The requests of one trial's model, one after another; `turn` counts them."""

    number: int
    person: str = ""
    turn: int = 0
    waits: _WaitingRequest | None = None


class _Desk(BoundedServer):
    """Requests that wait for an answer, by conversation."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.token = secrets.token_urlsafe(24)
        self.news = threading.Condition()
        self.conversations: dict[str, _TrialRequests] = {}
        self._numbers = itertools.count(1)

    def ask(self, key: str, request: ModelRequest, asker: socket.socket) -> dict[str, Any] | None:
        """Wait until a person has answered; None if the asker has hung up."""
        waits = _WaitingRequest(request)
        with self.news:
            here = self.conversations.get(key) or _TrialRequests(next(self._numbers))
            self.conversations[key] = here
            here.turn += 1
            here.waits = waits
            self.news.notify_all()
            while waits.answer is None and not _hung_up(asker):
                self.news.wait(_POLL_S)
            if here.waits is waits:
                here.waits = None
            self.news.notify_all()
            return waits.answer

    def waiting(self) -> list[dict[str, Any]]:
        """Return the entries of the page's list."""
        with self.news:
            return [
                {
                    "conversation": key, "number": each.number, "person": each.person, "turn": each.turn,
                    "waits": each.waits is not None,
                }
                for key, each in self.conversations.items()
            ]  # fmt: skip


def _hung_up(connection: socket.socket) -> bool:
    ready, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(ready) and not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


class _DeskHandler(BoundedHandler):
    server: _Desk
    most_body: ClassVar[int] = 256 * 1024 * 1024

    def do_GET(self) -> None:
        place = self._place()
        if place == [""]:
            page = (files(__package__) / "page.html").read_bytes()
            self._send(HTTPStatus.OK, page, "text/html; charset=utf-8")
        elif place in (["page.js"], ["page.css"]):
            kind = "text/javascript" if place == ["page.js"] else "text/css"
            self._send(
                HTTPStatus.OK,
                (files(__package__) / place[0]).read_bytes(),
                f"{kind}; charset=utf-8",
            )
        elif place == ["list"]:
            self._json(self.server.waiting())
        elif len(place) == 3 and place[0] == "request":  # and which, and its turn
            self._request(place[1], place[2])
        elif len(place) == 3 and place[0] == "picture":  # of which, and which
            self._picture(place[1], place[2])
        else:
            self._nothing()

    def do_POST(self) -> None:
        place = self._place()
        try:
            value = decode_json(self.body)
            if place == ["ask"]:
                asked = ModelRequest.model_validate(value["request"])
                answer = self.server.ask(str(value["conversation"]), asked, self.connection)
                if answer is None:
                    self.close_connection = True  # the one who asked is gone
                else:
                    self._json(answer)
            elif place == ["take"]:
                self._take(str(value["conversation"]), str(value["person"])[:80])
            elif place == ["reply"]:
                self._reply(str(value["conversation"]), int(value["turn"]), value)
            else:
                self._nothing()
        except (KeyError, TypeError, ValueError, ValidationError) as error:
            self._json({"error": str(error)[:500]}, HTTPStatus.BAD_REQUEST)

    def _take(self, key: str, person: str) -> None:
        with self.server.news:
            found = self.server.conversations[key]
            if found.person and found.person != person:
                self._json({"error": f"{found.person} answers in it already"}, HTTPStatus.CONFLICT)
                return
            found.person = person
        self._json({})

    def _reply(self, key: str, turn: int, value: dict[str, Any]) -> None:
        calls = [
            {
                "name": str(each["name"]), "toolset": each.get("toolset") or None,
                "arguments": dict(each["arguments"]),
            }
            for each in value.get("tool_calls") or ()
        ]  # fmt: skip
        text = str(value.get("text") or "")
        if not calls and not text.strip():
            raise ValueError("a reply has a text or calls a tool")
        with self.server.news:
            found = self.server.conversations[key]
            if found.waits is None or found.turn != turn:
                self._json({"error": "this request is no longer open"}, HTTPStatus.CONFLICT)
                return
            found.waits.answer = {"text": text, "tool_calls": calls, "person": found.person}
            self.server.news.notify_all()
        self._json({})

    def _request(self, key: str, after: str) -> None:
        """Answer with a conversation's next request after turn `after`, or none if none comes in `_LOOK_S` seconds."""
        end = time.monotonic() + _LOOK_S
        with self.server.news:
            found = self.server.conversations.get(key)
            while found is not None and (found.waits is None or found.turn <= int(after or 0)):
                left = end - time.monotonic()
                if left <= 0:
                    found = None
                else:
                    self.server.news.wait(left)
            waits = None if found is None else found.waits
            turn = 0 if found is None else found.turn
        self._json({"turn": turn, "request": None if waits is None else _shown(waits.request)})

    def _picture(self, key: str, digest: str) -> None:
        found = self.server.conversations.get(key)
        waits = None if found is None else found.waits
        picture = None if waits is None else _picture_of(waits.request, digest)
        if picture is None:
            self._nothing()
        else:
            self._send(HTTPStatus.OK, *picture)

    def _place(self) -> list[str]:
        return self.path.partition("?")[0].lstrip("/").split("/")

    def _nothing(self) -> None:
        self._json({"error": "there is nothing here"}, HTTPStatus.NOT_FOUND)

    def _json(self, value: Any, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: HTTPStatus, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("cache-control", "no-store")
        self.send_header("referrer-policy", "no-referrer")
        self.send_header(
            "content-security-policy",
            "default-src 'none'; img-src 'self' data:; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'",
        )
        self.end_headers()
        self.wfile.write(data)


def _shown(request: ModelRequest) -> dict[str, Any]:
    """Return a request as the page's script reads it."""
    whole = request.model_dump(mode="json", exclude={"messages": {"__all__": {"native"}}})
    for message in whole["messages"]:
        message["parts"] = [_named(part) for part in message["parts"]]
    rest = {name: value for name, value in whole.items() if value and name not in _ELSEWHERE}
    return {**{name: whole[name] for name in _ELSEWHERE}, "rest": rest}


def _named(part: dict[str, Any]) -> dict[str, Any]:
    """Replace a picture's bytes by its name."""
    if part["type"] == "image":
        return {"type": "image", "picture": ImagePart.model_validate(part).sha256}
    if part["type"] == "tool_result":
        return {**part, "content": [_named(each) for each in part["content"]]}
    return part


def _picture_of(request: ModelRequest, digest: str) -> tuple[bytes, str] | None:
    """Return the bytes and the type of one of a request's pictures."""
    for message in request.messages:
        for part in message.parts:
            for each in part.content if isinstance(part, ToolResult) else (part,):
                if isinstance(each, ImagePart) and each.sha256 == digest:
                    return base64.b64decode(each.data), each.media_type
    return None
