"""WAA's own server under Wine, asked by our client, evaluator and runs; `nox -s real_windows -- CHECKOUT` runs it.

Each test starts machines of its own, with a file system, processes, a network and a screen of their own.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from integration_tests.real_windows.answers import answers_of, kept_answers, unlike

from bench_core.discovery import load_plugin
from bench_core.run_folder import read_run
from waa_server_ext.built_in import SimulatedDesktopWorld

MACHINE = os.environ.get("PROCTOR_WINE_MACHINE")
RESETS = int(os.environ.get("PROCTOR_WINE_RESETS", "3"))
pytestmark = pytest.mark.skipif(
    MACHINE is None,
    reason="PROCTOR_WINE_MACHINE names no machine: `nox -s real_windows -- CHECKOUT` builds one",
)
LOOK = r"""
import glob, os, subprocess
import pyperclip, win32gui
files = sorted(f"{each} {os.path.getsize(each)}" for each in glob.glob(r"C:\Users\Docker\**", recursive=True)
               if os.path.isfile(each) and "Temp" not in each)
subprocess.run(["reg", "export", r"HKCU\Software", r"C:\windows\temp\keys.reg", "/y"], capture_output=True)
keys = open(r"C:\windows\temp\keys.reg", "rb").read().decode("utf-16").splitlines()
windows = []
win32gui.EnumWindows(lambda handle, _: windows.append(win32gui.GetWindowText(handle)), None)
open_ = sorted(each for each in windows if each and win32gui.FindWindow(None, each))
print(repr((files, keys, open_, pyperclip.paste())))
"""
SOIL = r"""
import subprocess, winreg
import pyperclip
open(r"C:\Users\Docker\Documents\left.txt", "w").write("left")
winreg.SetValue(winreg.HKEY_CURRENT_USER, r"Software\Left", winreg.REG_SZ, "left")
# its output is not the program's, for whose end the server would wait
nowhere = subprocess.DEVNULL
subprocess.Popen(["notepad"], stdin=nowhere, stdout=nowhere, stderr=nowhere)
pyperclip.copy("left")
"""


@pytest.fixture
async def machine() -> AsyncIterator[Any]:
    world = load_plugin("world", "waa-wine")(str(MACHINE))
    yield world
    await world.stop()


def python(url: str, code: str) -> str:
    """Run a program in a machine, and return what it prints."""
    given = {"command": ["python", "-c", code], "shell": False}
    answer = httpx.post(f"{url}/execute", json=given, timeout=120, trust_env=False).json()
    assert answer["returncode"] == 0, answer
    return str(answer["output"])


async def test_it_answers_as_what_was_kept_of_it(machine: Any) -> None:
    info = await machine.start()
    assert [*unlike(await asyncio.to_thread(answers_of, info.urls["vm"]), kept_answers())] == []


async def test_a_reset_leaves_nothing_of_what_was_done() -> None:
    first = None
    for _ in range(RESETS + 1):
        world = load_plugin("world", "waa-wine")(str(MACHINE))
        info = await world.start()
        try:
            found = await asyncio.to_thread(python, info.urls["vm"], LOOK)
            first = first or found
            assert _differences(first, found) == []
            await asyncio.to_thread(python, info.urls["vm"], SOIL)
            soiled = await asyncio.to_thread(python, info.urls["vm"], LOOK)
            assert _differences(first, soiled) == ["files", "registry", "windows", "clipboard"]
        finally:
            await world.stop()


def _differences(one: str, other: str) -> list[str]:
    parts = zip(
        ("files", "registry", "windows", "clipboard"),
        ast.literal_eval(one), ast.literal_eval(other), strict=True,
    )  # fmt: skip
    return [name for name, before, after in parts if before != after]


async def test_three_machines_at_once_share_nothing() -> None:
    worlds = [load_plugin("world", "waa-wine")(str(MACHINE)) for _ in range(3)]
    try:
        started = await asyncio.gather(*(each.start() for each in worlds))
        urls = [info.urls["vm"] for info in started]
        own = "import pyperclip; pyperclip.copy('{0}'); open(r'C:\\Users\\Docker\\who.txt', 'w').write('{0}')"
        for at, url in enumerate(urls):
            await asyncio.to_thread(python, url, own.format(at))
        told = (
            "import pyperclip; print(pyperclip.paste(), open(r'C:\\Users\\Docker\\who.txt').read())"
        )
        found = [(await asyncio.to_thread(python, url, told)).split() for url in urls]
        assert found == [[str(at)] * 2 for at in range(3)]
        listen = (
            "import socket; s = socket.create_server(('0.0.0.0', 9222)); print(s.getsockname()[1])"
        )
        assert [await asyncio.to_thread(python, url, listen) for url in urls] == ["9222\n"] * 3
    finally:
        for each in worlds:
            await each.stop()


async def test_nothing_of_this_computer_is_within_reach(machine: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    url = (await machine.start()).urls["vm"]
    there = f"import os; print(os.path.exists(r'Z:{tmp_path}/secret.txt'.replace('/', chr(92))))"
    assert python(url, there) == "False\n"
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reach = f"import socket; s = socket.socket(); print(s.connect_ex(('127.0.0.1', {port})) == 0)"
    assert await asyncio.to_thread(python, url, reach) == "False\n"
    server.close()


@pytest.mark.parametrize(
    ("code", "status"),
    [("raise SystemExit", "completed"), ("import os; os._exit(0)", "environment_error")],
)
async def test_a_trial_whose_block_ends_its_request_goes_on_and_one_that_ends_the_server_does_not(
    machine: Any, tmp_path: Path, code: str, status: str
) -> None:
    info = await machine.start()
    script = tmp_path / "script.json"
    script.write_text(json.dumps([code, "DONE"]), encoding="utf-8")
    result = await _one_trial(info.urls, tmp_path, "scripted", f"script={script}")
    assert (result.status.value, result.world) == (status, "wine")
    assert ("block_ended_server" in result.flags) is (status != "completed")


async def test_a_task_that_is_done_is_scored_and_one_that_is_not_is_not(
    machine: Any, tmp_path: Path
) -> None:
    info = await machine.start()
    script = tmp_path / "script.json"
    code = r"open(r'C:\Users\Docker\Documents\draft.txt', 'w').write('This is a draft.')"
    script.write_text(json.dumps([code, "DONE"]), encoding="utf-8")
    idle = await _one_trial(info.urls, tmp_path / "idle", "do-nothing")
    done = await _one_trial(info.urls, tmp_path / "done", "scripted", f"script={script}")
    assert (idle.score, done.score) == (0.0, 1.0)
    assert idle.world == done.world == "wine"


async def _one_trial(urls: dict[str, str], folder: Path, agent: str, *options: str) -> Any:
    """Do one trial of a built-in task by the command, and return its result."""
    command = [
        "waa-client", "run", "--vm", urls["vm"], "--evaluate", urls["evaluate"], "--agent", agent,
        "--tasks-dir", str(SimulatedDesktopWorld.tasks_folder()), "--task", "366de66e", "--attempts", "1",
        "--agent-option", "tree_backend=win32", "--out", str(folder / "run"),
    ]  # fmt: skip
    for each in options:
        command += ["--agent-option", each]
    process = await asyncio.create_subprocess_exec(*command)
    await process.wait()
    (result,) = read_run(folder / "run").results.values()
    return result
