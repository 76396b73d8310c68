"""What no server of Proctor's does for a client: wait for ever, hold without limit, or answer for another host."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from bench_core.serving import (
    BoundedHandler,
    BoundedServer,
    RefusedRequestError,
    foreign_origin,
    host_name,
    is_loopback,
    streams,
)
from bench_core.serving.streams import read_head

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = b"Host: localhost\r\n"


class Echo(BoundedHandler):
    """Answers with what it was sent."""

    most_body = 1000
    release = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/wait":
            self.release.wait(60)
        self.send_response(200)
        self.send_header("X-Path", unquote(self.path))
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    do_POST = do_GET  # same


@pytest.fixture
def handler() -> type[Echo]:
    class Own(Echo):
        release = threading.Event()

    return Own


@pytest.fixture
def server(handler: type[Echo]) -> Iterator[BoundedServer]:
    made = BoundedServer(("127.0.0.1", 0), handler)
    made.start()
    yield made
    handler.release.set()
    made.stop()


def connected(server: BoundedServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60)


def answer(server: BoundedServer, request: bytes) -> bytes:
    with connected(server) as client:
        # whoever is refused early may find the connection gone while it still sends; the answer is there
        with contextlib.suppress(OSError):
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
        return until_end(client)


def until_end(client: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


def status(server: BoundedServer, request: bytes) -> int:
    return int(answer(server, request).split(b" ", 2)[1])


def post(*headers: bytes, body: bytes = b"") -> bytes:
    lines = b"".join(each + b"\r\n" for each in headers)
    return b"POST / HTTP/1.1\r\n" + HOST + lines + b"\r\n" + body


def test_a_body_arrives_whole_out_of_its_chunks(server: BoundedServer) -> None:
    chunks = b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\nX: y\r\n\r\n"
    assert answer(server, post(b"Transfer-Encoding: chunked", body=chunks)).endswith(
        b"\r\n\r\nabcde"
    )


def test_a_connection_is_used_for_the_next_request(server: BoundedServer) -> None:
    both = post(b"Content-Length: 1", body=b"a") + post(b"Content-Length: 1", body=b"b")
    assert answer(server, both).count(b"HTTP/1.1 200") == 2


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ((b"Content-Length: -1",), 400),
        ((b"Content-Length: +5",), 400),
        ((b"Content-Length: 5, 5",), 400),
        ((b"Content-Length: 5", b"Content-Length: 6"), 400),
        ((b"Content-Length: 5", b"Transfer-Encoding: chunked"), 400),
        ((b"Transfer-Encoding: gzip, chunked",), 501),
        ((b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"), 501),
        ((b"Content-Length: 1001",), 413),
        ((b"Content-Length: 99999999999999",), 413),
        ((b"no header",), 400),
        ((b"X: y\nZ: z",), 400),
        ((b"X: y\r Z: z",), 400),
        ((b"X: y", b" folded"), 400),
        ((b"X: y", b"\tfolded"), 400),
        ((b"X: \0",), 400),
        ((b"X: \x0b",), 400),
        ((b"X: \x7f",), 400),
        ((b"Transfer-Encoding: \x0bchunked",), 400),
        ((b"Transfer-Encoding\x0b: chunked",), 400),
        ((b"Transfer-Encoding : chunked",), 400),
        ((b"Content-Length\x00: 5",), 400),
        ((b"X: " + b"y" * 100_000,), 431),
        ((b"X: y",) * 500, 431),
    ],
)
def test_a_request_that_is_none_is_refused(
    server: BoundedServer, headers: tuple[bytes, ...], code: int
) -> None:
    assert status(server, post(*headers)) == code


@pytest.mark.parametrize(
    ("chunks", "code"),
    [
        (b"zz\r\n", 400),
        (b"-1\r\n", 400),
        (b"2\r\nabc\r\n", 400),
        (b"2\nab\n", 400),
        (b"fffffff\r\n", 413),
        (b"1\r\na\r\n" * 900, 413),
        (b"0\r\n" + b"X: y\r\n" * 100, 400),
    ],
)
def test_chunks_that_are_none_or_too_many_are_refused(
    server: BoundedServer, chunks: bytes, code: int
) -> None:
    assert status(server, post(b"Transfer-Encoding: chunked", body=chunks)) == code


@pytest.mark.parametrize(
    ("hosts", "code"),
    [
        ((b"Host: localhost:80",), 200),
        ((b"Host: [::1]:80",), 200),
        ((b"Host: 127.0.0.7",), 200),
        ((b"Host: shop.localhost",), 200),
        ((b"Host: [::1]evil",), 403),
        ((b"Host: 127.0.0.1.evil.example",), 403),
        ((b"Host: evil.example",), 403),
        ((b"Host: localhost", b"Host: evil.example"), 400),
        ((), 400),
    ],
)
def test_only_a_name_of_this_machine_is_answered(
    server: BoundedServer, hosts: tuple[bytes, ...], code: int
) -> None:
    request = b"GET / HTTP/1.1\r\n" + b"".join(each + b"\r\n" for each in hosts) + b"\r\n"
    assert status(server, request) == code


def test_a_page_of_another_origin_changes_nothing(server: BoundedServer) -> None:
    assert status(server, post(b"Origin: http://evil.example")) == 403
    assert status(server, post(b"Origin: http://localhost")) == 200


def test_what_a_request_puts_into_a_header_ends_no_line(server: BoundedServer) -> None:
    said = answer(server, b"GET /%0d%0aX:y%E2%80%AE HTTP/1.1\r\n" + HOST + b"\r\n")
    assert b"\r\nX-Path: /%0D%0AX:y%E2%80%AE\r\n" in said


@pytest.mark.parametrize(
    "sent", [b"", b"POST / HTTP/1.1\r\nHost", post(b"Content-Length: 9", body=b"a")]
)
def test_a_connection_that_says_nothing_more_is_closed(
    server: BoundedServer, handler: type[Echo], sent: bytes
) -> None:
    handler.idle_s = 0.2  # type: ignore[misc]  # as a subclass sets it
    with connected(server) as client:
        client.sendall(sent)
        assert until_end(client) == b""


def test_a_request_that_comes_byte_by_byte_is_dropped(
    server: BoundedServer, handler: type[Echo]
) -> None:
    handler.request_s = 0.3  # type: ignore[misc]  # as a subclass sets it
    stop = threading.Event()
    with connected(server) as client:

        def drip() -> None:
            try:
                while not stop.wait(0.02):
                    client.sendall(b"x")
            except OSError:
                pass

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            assert client.recv(1) == b""
        except ConnectionResetError:
            pass  # an end as well
        finally:
            stop.set()
            dripping.join()


def test_the_connection_that_waited_longest_makes_room(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedServer, "most_connections", 2)
    with connected(server) as first, connected(server) as second:
        second.sendall(b"GET / HT")
        assert status(server, post()) == 200
        assert first.recv(1) == b""


def test_a_connection_that_is_being_answered_makes_no_room(
    server: BoundedServer, handler: type[Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedServer, "most_connections", 1)
    with connected(server) as busy:
        busy.sendall(b"GET /wait HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n")
        deadline = threading.Event()
        while not any(not waits for waits in server._waiting.values()):
            assert not deadline.wait(0.01)
        with connected(server) as other:
            assert other.recv(1) == b""
        handler.release.set()
        assert until_end(busy).startswith(b"HTTP/1.1 200")


def test_bodies_under_way_share_a_limit(
    server: BoundedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedServer, "most_held", 10)
    assert status(server, post(b"Content-Length: 11", body=b"a" * 11)) == 503
    assert status(server, post(b"Content-Length: 10", body=b"a" * 10)) == 200


def test_names_of_this_machine_are_told_from_names_that_look_like_them() -> None:
    assert [
        is_loopback(each) for each in ("localhost", "LOCALHOST.", "a.localhost", "::ffff:127.0.0.1")
    ] == [True] * 4
    assert [
        is_loopback(each) for each in ("", "localhostx", "0.0.0.0", "10.0.0.1", "xlocalhost")
    ] == [False] * 5
    assert [host_name(each) for each in ("[::1]:5", "a:1", "[::1]evil", "a:b", "a@b")] == [
        "[::1]",
        "a",
        "",
        "",
        "",
    ]
    assert foreign_origin("GET", "http://evil.example", "a") is None
    assert foreign_origin("POST", None, "a") is None
    assert foreign_origin("POST", "null", "a") is not None


def head_of(data: bytes, *, ends: bool = True) -> streams.Head:
    async def read() -> streams.Head:
        reader = asyncio.StreamReader(limit=1 << 20)
        reader.feed_data(data)
        if ends:
            reader.feed_eof()
        return await read_head(reader)

    return asyncio.run(read())


def test_the_head_of_a_request_is_kept_as_it_came() -> None:
    data = b"PUT /json/new?a HTTP/1.1\r\nHOST: 127.0.0.1:9222\r\nContent-Length: 3\r\n\r\n"
    head = head_of(data + b"abc")
    assert (head.raw, head.method, head.target) == (data, "PUT", "/json/new?a")
    assert head.body_length(3) == 3
    with pytest.raises(RefusedRequestError, match="more than 2"):
        head.body_length(2)


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET /\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: [::1]evil\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX : y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y\nZ: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * (2 << 20),
    ],
)
def test_a_head_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedRequestError):
        head_of(data)


def test_a_head_that_does_not_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEAD_S", 0.1)
    with pytest.raises(RefusedRequestError, match="did not arrive"):
        head_of(b"GET / HTTP/1.1\r\nHost", ends=False)
