"""WAA's own server under Wine, asked by our client, evaluator and runs; `nox -s real_windows -- CHECKOUT` runs it.

Each test starts machines of its own, with a file system, processes, a network and a screen of their own.
"""

from __future__ import annotations

import ast
import asyncio
import json
import os
import sys
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
# What a machine holds. Passed over: temporary folders, Templates, which is the sandbox's own home, and the server's
# log, which has a line for each look whether it is up.
LOOK = r"""
import os, subprocess
import psutil, pyperclip, win32api, win32gui, win32process

def files(folder):
    for each in os.scandir(folder):
        if each.name in ("Temp", "temp", "Templates", "server.log"):
            continue
        if each.is_dir(follow_symlinks=False):
            yield from files(each.path)
        else:
            # each start compiles Python's modules
            written = 0 if each.name.endswith(".pyc") else each.stat().st_mtime_ns
            yield f"{each.path} {each.stat().st_size} {written}"

def keys(root):
    subprocess.run(["reg", "export", root, r"C:\windows\temp\keys.reg", "/y"], capture_output=True)
    with open(r"C:\windows\temp\keys.reg", encoding="utf-16") as exported:
        key = ""
        for each in exported:
            key = each if each.startswith("[") else key
            # each start gives the screen a number and its driver a date
            if "DriverDateData" not in each and r"Control\Video\{" not in key:
                yield key + each

def program(process):
    try:
        return win32process.GetModuleFileNameEx(win32api.OpenProcess(0x410, False, process), 0)
    except win32api.error:
        return "ended"

windows = []
win32gui.EnumWindows(lambda handle, _: windows.append(win32gui.GetWindowText(handle)), None)
print(ascii({
    "files": sorted(files("C:\\")),
    "registry": sorted([*keys("HKCU"), *keys("HKLM")]),  # their order is not the same in each
    "processes": sorted(map(program, psutil.pids())),
    "ports": sorted(each.laddr.port for each in psutil.net_connections() if each.status == "LISTEN"),
    "windows": sorted(each for each in windows if each and win32gui.FindWindow(None, each)),
    "clipboard": pyperclip.paste(),
}))
"""
# What it starts gets no output of the program's, whose end the server would wait for.
SOIL = r"""
import subprocess, sys, time, winreg
import pyperclip
for path in (r"C:\Users\Docker\Documents\left.txt", r"C:\oem\server\left.py", r"C:\windows\system32\left.dll"):
    open(path, "w").write("left")
winreg.SetValue(winreg.HKEY_CURRENT_USER, r"Software\Left", winreg.REG_SZ, "left")
winreg.SetValue(winreg.HKEY_LOCAL_MACHINE, r"Software\Left", winreg.REG_SZ, "left")
nowhere = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.Popen(["notepad"], **nowhere)
subprocess.Popen([sys.executable, "-m", "http.server", "9222"], **nowhere)
pyperclip.copy("left")
time.sleep(5)
"""


OWN = r"""
import os, socket, subprocess, sys, time
import pyperclip
try:
    socket.create_connection(("127.0.0.1", 9222), timeout=5).close()
except OSError:
    print("9222 is free")
pyperclip.copy("{0}")
with open(r"C:\Users\Docker\who.txt", "w") as file:
    file.write("{0}")
with open(r"C:\Users\Docker\machine {0}.txt", "w") as file:
    file.write("{0}")
nowhere = dict(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
subprocess.Popen([sys.executable, "-m", "http.server", "9222"], cwd=r"C:\Users\Docker", **nowhere)
subprocess.Popen(["notepad", r"C:\Users\Docker\machine {0}.txt"], **nowhere)
time.sleep(8)
"""
TOLD = r"""
import re
import pyperclip, win32gui
titles = []
win32gui.EnumWindows(lambda handle, _: titles.append(win32gui.GetWindowText(handle)), None)
windows = "".join(re.findall(r"machine (\d)", " ".join(titles)))
with open(r"C:\Users\Docker\who.txt") as file:
    print(f"clipboard {pyperclip.paste()}, file {file.read()}, window {windows}")
"""


DRAFT = r"open(r'C:\Users\Docker\Documents\draft.txt', 'w').write('This is a draft.')"
# What a block starts gets no output of the server's. The last block of each damage sees that it is there.
_START = """
import subprocess, sys, time
import pyperclip, win32gui
titles = []
win32gui.EnumWindows(lambda handle, found: found.append(win32gui.GetWindowText(handle)), titles)
no = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
"""
_TEXT = r"""
path = "C:\\Users\\Docker\\Documents\\" + {name!r}
with open(path, "w", encoding="utf-8") as file:
    file.write({text!r})
subprocess.Popen(["notepad", path], **no)
time.sleep(8)
"""
DAMAGES = {
    "a clipboard that a program holds": (
        r"""
hold = "import time, win32clipboard\nwhile True:\n try: win32clipboard.OpenClipboard(); time.sleep(90)\n except Exception: pass"
subprocess.Popen([sys.executable, "-c", hold], **no)
""",
        """
held = False
for _ in range(100):
    try:
        pyperclip.copy("x")
        time.sleep(0.3)
    except Exception:
        held = True
        break
assert held
""",
    ),
    "windows that come and go": (
        """
storm = "import tkinter\\nfor i in range(999):\\n w = tkinter.Tk(); w.title('storm'); w.update(); w.destroy()"
subprocess.Popen([sys.executable, "-c", storm], **no)
""",
        """
for _ in range(300):
    win32gui.EnumWindows(lambda handle, found: found.append(win32gui.GetWindowText(handle)), titles)
    time.sleep(0.02)
assert "storm" in titles
""",
    ),
    "30 windows at once": (
        "for _ in range(30): subprocess.Popen(['notepad'], **no)\ntime.sleep(15)",
        "assert sum('Notepad' in each for each in titles) >= 30",
    ),
    "signs of other scripts": (
        _TEXT.format(name="\u65e5\u672c \u05e9\u05dc.txt", text="\U0001f600 \u202e \u65e5\u672c"),
        r"assert any('\u65e5\u672c \u05e9\u05dc' in each for each in titles)",
    ),
    "a control character": (
        _TEXT.format(name="feed.txt", text="a\x0cb"),
        "assert any('feed' in each for each in titles)",
    ),
}


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
    kept = kept_answers()
    different = [*unlike(await asyncio.to_thread(answers_of, info.urls["vm"]), kept)]
    sys.stdout.write(
        f"calls and programs, answered as before: {len(kept) - len(different)} of {len(kept)}\n"
    )
    assert different == []


async def test_a_reset_leaves_nothing_of_what_was_done() -> None:
    first: dict[str, Any] = {}
    for number in range(RESETS + 1):
        world = load_plugin("world", "waa-wine")(str(MACHINE), scored=False)
        info = await world.start()
        try:
            found = await asyncio.to_thread(looked_at, info.urls["vm"])
            first = first or found
            unlike = {
                name: {*each} ^ {*first[name]}
                for name, each in found.items()
                if each != first[name]
            }
            assert unlike == {}, f"after {number} resets"
            await asyncio.to_thread(python, info.urls["vm"], SOIL)
            soiled = await asyncio.to_thread(looked_at, info.urls["vm"])
            assert [name for name, each in soiled.items() if each == first[name]] == []
        finally:
            await world.stop()


def looked_at(url: str) -> dict[str, Any]:
    found = ast.literal_eval(python(url, LOOK))
    assert isinstance(found, dict)
    return found


async def test_three_machines_at_once_share_nothing() -> None:
    """Each has its own clipboard, files, server on the browser's port and window; all are written before one is read."""
    worlds = [load_plugin("world", "waa-wine")(str(MACHINE), scored=False) for _ in range(3)]
    try:
        started = await asyncio.gather(*(each.start() for each in worlds))
        urls = [info.urls["vm"] for info in started]
        for at, url in enumerate(urls):
            assert await asyncio.to_thread(python, url, OWN.format(at)) == "9222 is free\n"
        for at, url in enumerate(urls):
            found = await asyncio.to_thread(python, url, TOLD)
            assert found == f"clipboard {at}, file {at}, window {at}\n"
            page = url.replace(":5000", ":9222/who.txt")
            answer = await asyncio.to_thread(httpx.get, page, trust_env=False, timeout=60)
            assert answer.text == str(at)
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
    script.write_text(json.dumps([DRAFT, "DONE"]), encoding="utf-8")
    idle = await _one_trial(info.urls, tmp_path / "idle", "do-nothing")
    done = await _one_trial(info.urls, tmp_path / "done", "scripted", f"script={script}")
    assert (idle.score, done.score) == (0.0, 1.0)
    assert idle.world == done.world == "wine"


@pytest.mark.parametrize(("damage", "seen"), DAMAGES.values(), ids=DAMAGES)
async def test_a_trial_on_a_damaged_desktop_goes_on_and_is_scored(
    machine: Any, tmp_path: Path, damage: str, seen: str
) -> None:
    info = await machine.start()
    script = tmp_path / "script.json"
    blocks = [_START + damage, f"{_START}{seen}\n{DRAFT}", "DONE"]
    script.write_text(json.dumps(blocks), encoding="utf-8")
    result = await _one_trial(info.urls, tmp_path, "scripted", f"script={script}")
    # the task's own last step opens Notepad by a file's type, which Wine does not
    assert (result.status.value, result.score, result.flags) == ("completed", 1.0, ("vm_errors",))


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
