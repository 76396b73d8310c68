"""Requests that no honest client sends, drawn by seed, and what sends them and looks at the answers."""

# the lists are to be read as lists
# fmt: off

from __future__ import annotations

import contextlib
import json
import random
import socket
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CANARY", "Fuzzer", "Target"]

CANARY = "canary-of-a-file-outside-7f3a"
ANSWER_S = 120.0
"""An answer that takes longer counts as none; most take milliseconds, on a machine by themselves."""
_HELD = 40
"""Half-open connections that are held while a batch runs."""


@dataclass(frozen=True)
class Target:
    """A server, and what honest clients ask of it.

    Attributes:
        honest: Method, path and JSON body of requests whose answer is 200.
        headers: What every honest request says, as a token.
        any_host: Whether it answers under any name, because it asks for a token instead.
        relays: Whether it opens a connection of its own for each request. A system has some 28,000 ports for
            those to one address, and each rests for a minute when it was used.
    """

    name: str
    host: str
    port: int
    honest: tuple[tuple[str, str, Any], ...]
    headers: dict[str, str] = field(default_factory=dict)
    any_host: bool = False
    relays: bool = False

    def request(self, method: str, path: str, body: Any, **more: str) -> bytes:
        """Return an honest request, which may end its connection."""
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Host": f"{self.host}:{self.port}", **self.headers}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(data))}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{k}: {v}" for k, v in {**headers, **more}.items()),
        ]
        return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + data


def draw(chance: random.Random, target: Target) -> bytes:
    """Return what is sent over one connection."""
    return chance.choice(_KINDS)(chance, target)


def _honest(chance: random.Random, target: Target, **more: str) -> bytes:
    return target.request(*chance.choice(target.honest or (("GET", "/x", None),)), **more)


def _head_of(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[0]


def _lines(chance: random.Random, target: Target) -> bytes:
    _, _, rest = _honest(chance, target).partition(b"\r\n")
    first = chance.choice((
        b"", b" ", b"GET", b"GET /", b"GET  / HTTP/1.1", b"GET / HTTP/9.9", b"GET / HTTP/1.1 x", b"\0\0\0",
        b"GET / HTTP/" + b"1" * 400, b"PRI * HTTP/2.0", b"G\xc3\x89T / HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
        b"OPTIONS * HTTP/1.1", b"get / http/1.1", b"GET http://[::1]evil/ HTTP/1.1", b"GET //[ HTTP/1.1",
        b"GET //evil.example/ HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00", b"GET /\x7f\x01 HTTP/1.1", b"A" * 70_000,
        b"POST / HTTP/1.0", b"GET / HTTP/-1.1", b"GET / HTTP/1.1\r\r", b"HEAD / HTTP/1.1", b"PATCH / HTTP/1.1",
    ))  # fmt: skip
    return first + b"\r\n" + rest


def _headers(chance: random.Random, target: Target) -> bytes:
    head = _head_of(_honest(chance, target))
    more = chance.choice((
        b"X: y\r\n" * chance.choice((99, 101, 5000)), b"X: " + b"y" * chance.choice((8_000, 66_000, 200_000)),
        b"no colon", b" : x", b"X : y", b": y", b"X:\0", b"X: \xff\xfe", b" folded", b"X: a\r\n b", b"Cookie: " + b"a=b;" * 5000,
        b"Cookie: \x01=\x02", b"Expect: 100-continue", b"Connection: keep-alive, x", b"Range: bytes=0-,5-1",
        b"Content-Type: multipart/form-data; boundary=\xff", b"Content-Type: message/rfc822", b"If-None-Match: *",
        b"Accept-Encoding: gzip;q=x", b"Content-Encoding: gzip", b"X: " + "\u202e".encode(), b"X\r: y", b"X: a\rb: c",
        b"Authorization: Bearer " + b"x" * 100, b"Authorization: Basic \xff", b"Origin: http://evil.example", b"Upgrade: h2c",
    ))  # fmt: skip
    return head + b"\r\n" + more + b"\r\n\r\n"


def _framing(chance: random.Random, target: Target) -> bytes:
    path = chance.choice(target.honest or (("", "/x", None),))[1]
    line = target.request("POST", path, None).removesuffix(b"\r\n\r\n")
    more = chance.choice((
        b"Content-Length: -1", b"Content-Length: 1e3", b"Content-Length: +5", b"Content-Length: " + b"9" * 400,
        b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 5, 5", b"Content-Length: 999999999999",
        b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Content-Length: 0x5",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: \x0bchunked",
        b"Content-Length:", "Content-Length: \u0665".encode(), b"Content-Length: 100", b"Transfer-Encoding : chunked",
    ))  # fmt: skip
    return line + b"\r\n" + more + b"\r\n\r\n" + b"hello"[: chance.randrange(6)]


def _chunks(chance: random.Random, target: Target) -> bytes:
    method, path, body = chance.choice(target.honest or (("POST", "/x", {}),))
    data = json.dumps(body).encode()
    whole = b"".join(b"%x\r\n%c\r\n" % (1, each) for each in data) + b"0\r\n\r\n"
    chunks = chance.choice((
        whole, whole[: chance.randrange(len(whole))], b"zz\r\n", b"-5\r\nhello\r\n", b"f" * 40 + b"\r\n", b"5\nhello\n0\n\n",
        b"5;" + b"x" * 5000 + b"\r\nhello\r\n0\r\n\r\n", b"5\r\nhello!\r\n0\r\n\r\n", b"0\r\n" + b"X: y\r\n" * 500 + b"\r\n",
        b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n", b"7fffffff\r\nhello", b"\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"5",
    ))  # fmt: skip
    kind = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    return target.request(method if body else "POST", path, None, **kind) + chunks


def _bodies(chance: random.Random, target: Target) -> bytes:
    path = chance.choice(
        (*target.honest, ("", "/execute", None), ("", "/evaluate", None), ("", "/act", None))
    )[1]
    deep = chance.choice((100, 5_000, 200_000))
    data = chance.choice((
        b"[" * deep, b'{"a":' * deep + b"1" + b"}" * deep, b"1" * 20_000, b"NaN", b"\xff\xfe\0", b'"\\ud800"', b"null", b"[]", b"{}",
        b"1e999999", b'{"command": null}', b'{"command": 5, "shell": []}', b'{"model": 5}', b'{"task": {"id": "../../x"}}',
        b'{"kind": "click"}', b'{"a": "' + b"x" * 100_000 + b'"}', b"[" + b"{}," * 3_000 + b"{}]", b"a=b&c=%ff&%00=%", b"",
    ))  # fmt: skip
    kind = chance.choice(
        (
            "application/json",
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=a",
        )
    )
    more = {"Content-Type": kind, "Content-Length": str(len(data))}
    return (
        target.request(chance.choice(("POST", "POST", "PUT", "DELETE", "GET")), path, None, **more)
        + data
    )


def _paths(chance: random.Random, target: Target) -> bytes:
    up = chance.choice(
        ("../", "..%2f", "%2e%2e/", "..\\", "..%5c", "..%c0%af", "..;/", "%252e%252e/", "....//")
    )
    start = chance.choice(
        (
            "/",
            "//",
            "/files/0/",
            "/files/0/trials/",
            "/files/00/",
            "/files/-1/",
            "/evidence/",
            "/bodies/",
            "/tasks/x/",
            "/_cloud/",
            "/file?file_path=",
            "/json/new?file://",
            "/devtools/page/",
            "file://",
            "http://[::1]evil/",
        )
    )
    end = chance.choice(
        (
            "canary.txt",
            "outside/canary.txt",
            "etc/passwd",
            "etc/passwd%00.png",
            "x" * 9_000,
            "x" * 70_000,
            "%",
            "%zz",
            "?" + "a=b&" * 2_000,
            "\u00e9",
            "%ff%fe",
            "%0d%0aX:%20y",
            "nul",
            "\x7f",
        )
    )
    path = start + up * chance.randrange(12) + end
    return target.request(chance.choice(("GET", "GET", "HEAD", "POST")), path, None)


def _hosts(chance: random.Random, target: Target) -> bytes:
    line, *others = _head_of(_honest(chance, target)).split(b"\r\n")
    host = chance.choice((
        [], [b"Host: evil.example"], [b"Host: [::1]evil"], [b"Host: localhost", b"Host: evil.example"], [b"Host:"],
        [b"Host: 127.0.0.1.evil.example"], [b"Host: 127.0.0.1@evil.example"], [b"Host: localhost, evil"], [b"Host: [::1"],
        [b"Host: 127.0.0.1:80:80"], [b"Host: \xff"], [b"Host: localhostevil"], [b"Host: 0.0.0.0"], [b"Host: 169.254.169.254"],
    ))  # fmt: skip
    rest = [each for each in others if not each.lower().startswith(b"host:")]
    return b"\r\n".join([line, *host, *rest]) + b"\r\n\r\n"


def _pipelined(chance: random.Random, target: Target) -> bytes:
    return b"".join(_honest(chance, target) for _ in range(chance.randrange(2, 12)))


def _flipped(chance: random.Random, target: Target) -> bytes:
    data = bytearray(_honest(chance, target))
    for _ in range(chance.randrange(1, 8)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _websocket(chance: random.Random, target: Target) -> bytes:
    path = chance.choice(("/devtools/browser/1", "/devtools/page/A", "/ws", "/json/list"))
    more = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    frames = chance.choice((
        b"\x81\x05hello", b"\xff\xff" + b"\xff" * 12, b"\x81\xff" + b"\x7f" * 8, b"\x09\x80\0\0\0\0", b"\x88\x80\0\0\0\0", b"\x00\x80\0\0\0\0" * 500,
        b"\x01\x81\0\0\0\0a" * 200, b"\x81\xfe\xff\xff\0\0\0\0" + b"{" * 65535, chance.randbytes(300), b"\x81\x82\0\0\0\0{}", b"\x8f\x80\0\0\0\0", b"\x89\xff" + b"\0" * 12,
    ))  # fmt: skip
    return target.request("GET", path, None, **more) + frames


def _garbage(chance: random.Random, _target: Target) -> bytes:
    return chance.randbytes(chance.choice((1, 10, 500, 20_000)))


def _half(chance: random.Random, target: Target) -> bytes:
    request = target.request("POST", "/x", {"a": "b" * 50})
    return request[: chance.randrange(len(request))]


_KINDS = (
    _lines,
    _headers,
    _framing,
    _chunks,
    _bodies,
    _paths,
    _hosts,
    _pipelined,
    _flipped,
    _websocket,
    _garbage,
    _half,
)


# -- sending them


class Fuzzer:
    """Sends to one server and keeps what is wrong."""

    def __init__(self, target: Target, seed: int) -> None:
        self.target = target
        self.problems: list[str] = []
        self._chance = random.Random(f"{target.name} {seed}")  # noqa: S311  # reproducible, not secret
        self._held: list[socket.socket] = []

    def batch(self, count: int) -> None:
        """Send `count` requests, some of them never whole, then an honest one."""
        for _ in range(count):
            kind = self._chance.choice(_KINDS)
            data = kind(self._chance, self.target)
            if kind is _half and len(self._held) < _HELD:
                self._held.append(self._connected(data))
                continue
            answer = self._ask(data, kind.__name__)
            if kind is _hosts and not self.target.any_host and b" 200 " in answer[:20]:
                self._wrong("an answer under another host's name", data, answer)
        self._honest()
        for each in self._held:
            each.close()
        self._held = []

    def _honest(self) -> None:
        for asked in self.target.honest:
            data = self.target.request(*asked, Connection="close")
            answer = self._ask(data, "honest", half_close=False)
            if b" 200 " not in answer[:20]:
                self._wrong("no answer to an honest request", data, answer)

    def _connected(self, data: bytes) -> socket.socket:
        made = socket.create_connection((_address(self.target.host), self.target.port), ANSWER_S)
        with contextlib.suppress(OSError):  # it may have said no before the end
            made.sendall(data)
        return made

    def _ask(self, data: bytes, kind: str, *, half_close: bool = True) -> bytes:
        answer = bytearray()
        try:
            with self._connected(data) as connection:
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    answer += part
        except TimeoutError:
            self._wrong(f"{kind}: no end within {ANSWER_S:g} s", data, bytes(answer))
        except OSError:
            pass  # a reset is an end
        if CANARY.encode() in answer or b"root:x:0:0" in answer:
            self._wrong(f"{kind}: a file from outside", data, bytes(answer))
        return bytes(answer)

    def _wrong(self, what: str, data: bytes, answer: bytes) -> None:
        self.problems.append(f"{self.target.name}: {what}: {data[:200]!r} -> {answer[:200]!r}")


def _address(host: str) -> str:
    return "127.0.0.1" if host.endswith("localhost") else host
