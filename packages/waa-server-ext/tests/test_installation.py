"""Installing into WAA's server and back leaves it byte for byte as it was."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner

from waa_server_ext.cli import main
from waa_server_ext.server.installation import InstallError, install, is_installed, uninstall
from waa_server_ext.vm.access import TOKEN_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIATURE = Path(__file__).parent / "miniature"
SERVER = "src/win-arena-container/vm/setup/server/main.py"
CHECKOUTS = [Path(p) for p in os.environ.get("PROCTOR_WAA_CHECKOUT", "").split(os.pathsep) if p]
OPTIONS = {"vm": "127.0.0.1", "cache": "C:\\cache"}


@pytest.fixture(params=[MINIATURE, *(CHECKOUTS or [None])], ids=lambda path: path and path.name)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a server's main.py."""
    if request.param is None:
        pytest.skip("needs a Windows Agent Arena checkout: PROCTOR_WAA_CHECKOUT names its folder")
    return Path(shutil.copy(request.param / SERVER, tmp_path / "main.py"))


def test_a_round_trip_leaves_the_file_as_it_was(server: Path) -> None:
    before = server.read_bytes()
    report = install(server, OPTIONS)
    assert report.changed
    assert server.read_bytes() != before
    assert Path(report.backup or "").read_bytes() == before
    assert uninstall(server).changed
    assert server.read_bytes() == before
    assert [path.name for path in server.parent.iterdir()] == ["main.py"]


def test_what_is_installed_is_still_python_that_mounts_before_it_serves(server: Path) -> None:
    install(server, OPTIONS)
    text = server.read_text(encoding="utf-8")
    compile(text, "main.py", "exec")
    assert text.index("_mount_waa_server_ext(app, ") < text.index("if __name__ ==")
    assert "reloader=True" in text


def test_installing_twice_changes_nothing_and_other_options_replace_the_block(
    server: Path,
) -> None:
    before = server.read_bytes()
    install(server, OPTIONS)
    assert not install(server, OPTIONS).changed
    assert install(server, {**OPTIONS, "cache": "D:\\other"}).changed
    assert server.read_bytes().count(b">>> waa-server-ext >>>") == 1
    uninstall(server)
    assert server.read_bytes() == before


def test_uninstalling_what_is_not_installed_changes_nothing(server: Path) -> None:
    before = server.read_bytes()
    assert not uninstall(server).changed
    assert server.read_bytes() == before


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("end", [b"", b"\n# the end"])
def test_line_endings_and_the_last_line_stay(tmp_path: Path, newline: bytes, end: bytes) -> None:
    server = tmp_path / "main.py"
    before = (MINIATURE / SERVER).read_bytes().rstrip(b"\n") + end
    before = before.replace(b"\n", newline)
    server.write_bytes(before)
    install(server, OPTIONS)
    assert server.read_bytes().count(b"\r\n") in (0, server.read_bytes().count(b"\n"))
    uninstall(server)
    assert server.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("debug=True", "debug=True, threaded=False", "one request at a time"),
        ("debug=True", "processes=4", "one request at a time"),
        ('@app.route("/file", methods=["POST"])', "", "no route /file"),
        ("app = Flask(__name__)", "app = make()", "makes no Flask app"),
        (
            "app.run(debug=True, host=args.host, port=args.port)",
            "serve(app)",
            "does not call app.run",
        ),
        ('if __name__ == "__main__":', "if True", "is not Python"),
    ],
)
def test_a_file_that_is_not_the_threaded_server_is_refused_and_left_alone(
    tmp_path: Path, old: str, new: str, why: str
) -> None:
    server = tmp_path / "main.py"
    server.write_text((MINIATURE / SERVER).read_text("utf-8").replace(old, new), encoding="utf-8")
    before = server.read_bytes()
    with pytest.raises(InstallError, match=why):
        install(server, OPTIONS)
    assert server.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["main.py"]


def test_markers_that_do_not_pair_up_are_refused(tmp_path: Path) -> None:
    server = Path(shutil.copy(MINIATURE / SERVER, tmp_path / "main.py"))
    install(server, OPTIONS)
    server.write_bytes(server.read_bytes().replace(b"# <<< waa-server-ext <<<", b"#"))
    with pytest.raises(InstallError, match="do not pair up"):
        uninstall(server)


def test_the_commands_say_what_they_did(tmp_path: Path) -> None:
    server = shutil.copy(MINIATURE / SERVER, tmp_path / "main.py")
    run = CliRunner().invoke
    installed = run(main, ["install", "--server", str(server)])
    assert "/evaluate is mounted in" in installed.output
    assert is_installed(server)
    assert "removed from" in run(main, ["uninstall", "--server", str(server)]).output
    missing = run(main, ["install", "--server", str(tmp_path / "none.py")])
    assert missing.exit_code == 2


TOKEN = "a token of the test"


@contextlib.contextmanager
def running(server: Path, host: str) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "main.py", "--host", host], cwd=server.parent, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, TOKEN_VARIABLE: TOKEN},
    )  # fmt: skip
    try:
        yield f"http://{host}:5000"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answer(url: str, body: dict[str, object], token: str = TOKEN) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    for _ in range(600):
        with contextlib.suppress(httpx.ConnectError):
            return httpx.post(f"{url}/evaluate", json=body, headers=headers, timeout=120)
        time.sleep(0.1)
    raise AssertionError("the server never listened")


@pytest.mark.skipif(sys.platform == "win32", reason="ends a process group")
def test_the_mounted_server_evaluates_by_asking_itself(tmp_path: Path, vm_host: str) -> None:
    server = Path(shutil.copy(MINIATURE / SERVER, tmp_path / "main.py"))
    install(server, {"vm": vm_host, "cache": str(tmp_path / "c"), "checkout": str(MINIATURE)})
    evaluator = {
        "func": "exact_match",
        "result": {"type": "vm_command_line", "command": ["echo", "error"]},
        "expected": {"type": "rule", "rules": {"expected": "error\n"}},
    }
    body = {"task": {"id": "t", "instruction": "", "evaluator": evaluator}}
    with running(server, vm_host) as url:
        found = answer(url, body)
        unknown = httpx.get(f"{url}/nope", timeout=60)
        nameless = answer(url, {"task": "a/b"})
        stranger = answer(url, body, "wrong")
    assert (found.status_code, found.json()["score"]) == (200, 1.0)
    assert unknown.status_code == 500, "WAA's own answers stay what they were"
    assert stranger.status_code == 401
    assert nameless.status_code == 400
