"""`waa-server-ext simulate`: listens, sets a task up, and leaves a recording and a snapshot."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner
from PIL import Image

from bench_core.errors import InputError
from bench_core.serving import token_file
from waa_server_ext.built_in.session import DesktopSession, run_session
from waa_server_ext.cli import main
from waa_server_ext.simulate import load_scene

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_CACHE_DIR", str(tmp_path))


def _headers(url: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_file(url).read_text()}"}


def _ran(session: DesktopSession, use: str, *, times: int = 1) -> list[str]:
    lines: list[str] = []
    ready, over = threading.Event(), threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        ready.set()

    thread = threading.Thread(
        target=run_session, args=(session,), kwargs={"say": say, "until": over}
    )
    thread.start()
    try:
        assert ready.wait(600)
        url = next(word for word in lines[0].split() if word.startswith("http")).rstrip(";")
        with httpx.Client(base_url=url, headers=_headers(url), timeout=600, trust_env=False) as vm:
            for number in range(times):
                if number:
                    assert vm.post("/simulation/reset", json={}).status_code == 200
                vm.get("/screenshot")
                vm.post("/setup/launch", json={"command": use})
                vm.get("/screenshot")
    finally:
        over.set()
        thread.join()
    return lines


def test_a_session_leaves_what_was_seen_and_where_it_ended(tmp_path: Path) -> None:
    film, end = tmp_path / "film.webp", tmp_path / "end.yaml"
    lines = _ran(DesktopSession(port=0, record=film, snapshot=end), "notepad")
    assert "never WAA scores" in lines[0]
    assert lines[-1] == "stopped"
    with Image.open(film) as frames:
        assert getattr(frames, "n_frames", 1) == 2
    assert load_scene(end).build().active_title == "Untitled - Notepad"


def test_a_film_goes_on_after_a_reset(tmp_path: Path) -> None:
    film = tmp_path / "film.webp"
    _ran(DesktopSession(port=0, record=film), "notepad", times=2)
    with Image.open(film) as frames:
        assert getattr(frames, "n_frames", 1) == 4


def test_a_task_is_set_up_before_it_listens(tmp_path: Path) -> None:
    end = tmp_path / "end.yaml"
    task = "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS"
    _ran(DesktopSession(port=0, task=task, snapshot=end), "calc")
    assert [window.title for window in load_scene(end).build().windows] == ["Clock", "Calculator"]


def test_an_unknown_task_and_a_taken_port_are_said() -> None:
    with pytest.raises(InputError, match="notepad/none"):
        run_session(DesktopSession(port=0, task="notepad/none"), say=lambda _: None)
    result = CliRunner().invoke(main, ["simulate", "--host", "0.0.0.0"])
    assert (result.exit_code, "loopback only" in result.output) == (2, True)


@pytest.mark.parametrize("what", ["record", "snapshot"])
def test_a_file_that_cannot_be_written_is_told_before_it_listens(what: str, tmp_path: Path) -> None:
    lines: list[str] = []
    session = DesktopSession.model_validate({"port": 0, what: tmp_path})
    with pytest.raises(IsADirectoryError):
        run_session(session, say=lines.append)
    assert lines == []


def test_help_loads_neither_pillow_nor_flask() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from waa_server_ext.cli import main;"
        "print(CliRunner().invoke(main, ['simulate', '--help']).exit_code,"
        "[m for m in ('flask', 'PIL', 'yaml', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "0 []\n"


def test_desktop_and_scorer_answer_together() -> None:
    lines: list[str] = []
    ready, over = threading.Event(), threading.Event()

    def say(text: str) -> None:
        lines.append(text)
        ready.set()

    session = DesktopSession(port=0, evaluate=0)
    thread = threading.Thread(
        target=run_session, args=(session,), kwargs={"say": say, "until": over}
    )
    thread.start()
    try:
        assert ready.wait(600)
        vm, scorer = (word.strip(",;") for word in lines[0].split() if word.startswith("http"))
        with httpx.Client(timeout=600, trust_env=False) as client:
            body = {"task": "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS"}
            unasked = [
                client.get(f"{vm}/screenshot"),
                client.get(f"{scorer}/tasks/{body['task']}", headers=_headers(vm)),
                client.post(f"{scorer}/evaluate", json=body),
            ]
            assert client.get(f"{vm}/screenshot", headers=_headers(vm)).status_code == 200
            capabilities = client.get(f"{scorer}/capabilities", headers=_headers(scorer))
            verdict = client.post(f"{scorer}/evaluate", json=body, headers=_headers(scorer))
    finally:
        over.set()
        thread.join()
    assert [each.status_code for each in unasked] == [403, 401, 401]
    assert capabilities.status_code == 200
    assert verdict.json()["score"] == 0.0
