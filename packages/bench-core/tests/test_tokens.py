"""Tokens of servers: who makes them, who reads them, and what is answered without one."""

from __future__ import annotations

import http.client
import stat
from http import HTTPStatus
from pathlib import Path

import pytest

from bench_core.errors import InputError
from bench_core.sealing.files import sealed_files
from bench_core.serving import (
    BoundedHandler,
    BoundedServer,
    ServerToken,
    behind_token,
    token_file,
    token_for,
)

VARIABLE = "SOME_SERVER_TOKEN"
URL = "http://127.0.0.1:8123"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PROCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def test_a_token_is_made_and_handed_over_while_the_server_runs() -> None:
    token = ServerToken.choose(VARIABLE)
    assert len(token.value or "") >= 32
    with token.handed(URL) as said:
        file = token_file(URL)
        assert str(file) in said
        assert str(token.value) not in said
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert token_for("http://localhost:8123/", VARIABLE) == token.value
        assert token_for("http://127.0.0.1:8124", VARIABLE) is None
    assert token_for(URL, VARIABLE) is None


def test_what_a_killed_server_left_is_replaced() -> None:
    token_file(URL).parent.mkdir()
    token_file(URL).symlink_to(token_file(URL).parent / "elsewhere")
    token = ServerToken.choose(VARIABLE)
    with token.handed(URL):
        assert not token_file(URL).is_symlink()
        assert token_for(URL, VARIABLE) == token.value


def test_a_token_of_ones_own_is_written_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "a token of mine")
    token = ServerToken.choose(VARIABLE)
    assert token.value == "a token of mine"
    with token.handed(URL) as said:
        assert f"${VARIABLE}" in said
        assert not token_file(URL).exists()
    assert token_for(URL, VARIABLE) == "a token of mine"


def test_a_server_without_a_token_is_asked_for_and_on_loopback_only() -> None:
    token = ServerToken.choose(VARIABLE, without=True)
    assert token.value is None
    with token.handed(URL) as said:
        assert said == "every program of this machine is answered"
    with pytest.raises(InputError, match="with a token"):
        ServerToken.choose(VARIABLE, host="192.0.2.7", without=True)


def test_a_token_that_can_be_guessed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1234567")
    with pytest.raises(InputError, match="can be guessed"):
        ServerToken.choose(VARIABLE)


def test_agents_do_not_see_the_tokens(cache: Path) -> None:
    run = cache / "runs" / "one"
    run.mkdir(parents=True)
    assert str((cache / "tokens").resolve()) in sealed_files(run).hidden


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/secret/a?b", "/a?b"),
        ("/secret/", "/"),
        ("/secre/a", None),
        ("/secrets/a", None),
        ("//secret/a", None),
        ("/%73ecret/a", None),
        ("/a/secret", None),
        ("/", None),
        ("/s\xe9cret/a", None),
    ],
)
def test_only_what_begins_with_the_token_is_answered(path: str, found: str | None) -> None:
    assert behind_token(path, "secret") == found


def test_a_server_answers_only_behind_its_token() -> None:
    class Handler(BoundedHandler):
        def do_GET(self) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Length", str(len(self.path)))
            self.end_headers()
            self.wfile.write(self.path.encode())

    server = BoundedServer(("127.0.0.1", 0), Handler)
    server.token = "secret"  # of this server
    server.start()

    def get(path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=60)
        connection.request("GET", path)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    try:
        assert get("/secret/place") == (200, b"/place")
        assert get("/place")[0] == 404
    finally:
        server.stop()


def test_a_token_that_cannot_be_handed_over_is_told(cache: Path) -> None:
    (cache / "tokens").write_bytes(b"")
    handed = ServerToken.choose(VARIABLE).handed(URL)
    with pytest.raises(InputError, match="cannot be handed over"), handed:
        pass
