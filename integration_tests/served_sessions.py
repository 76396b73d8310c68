"""Servers of sessions and the real OpenEnv client, for tests; and players that solve tasks through it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.agents import Done

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = [
    "ENDED",
    "LATE_S",
    "TOKEN",
    "Client",
    "below",
    "clone_player",
    "connected",
    "interpreter",
    "served",
    "served_process",
    "site_player",
]

TOKEN = "sesame-sesame"  # opens nothing but a test's own server
LATE_S = 900.0
ENDED = Done().model_dump(mode="json")
_LINE = re.compile(r'\s*\[(\d+)\] (\S+)(?: "(.*?)"(?= |:?$))?')
_SETTLED = {"kind": "wait", "seconds": 1.5}
"""The clones answer after a latency, and draw the page anew then."""
_LABELS = {
    "body": "Message", "request": "Special request", "opinion": "Your opinion", "checkin": "Check-in",
    "checkout": "Check-out", "q": "Search entire store here...", "query": "Search",
    "user_biography[biography]": "Biography",
}  # fmt: skip
"""Labels that do not begin with the field's name."""
_ROLES = {"a": "link", "button": "button"}


def interpreter(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        pytest.skip(f"{name} names no interpreter: `nox -t interop` makes one")
    return found


@contextmanager
def served_process(
    benchmark: str, *options: str, protocol: str = "openenv"
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "bench_core.cli.main", "serve", f"--{protocol}"]
    command += [benchmark, "--port", "0", *options]
    environment = {**os.environ, "BENCH_SESSION_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split(" at ")[1].split(",")[0], process
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()


@contextmanager
def served(benchmark: str, *options: str) -> Iterator[str]:
    with served_process(benchmark, *options) as (url, _):
        yield url


class Client:
    """One session through the real client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def reset(self, **data: Any) -> dict[str, Any]:
        return self._ask("reset", data)

    def step(self, action: dict[str, Any]) -> dict[str, Any]:
        return self._ask("step", action)

    def play(self, task: str, actions: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Return what the last frame of an episode says, without what there is to see."""
        said = self.reset(task=task, view="elements")
        for each in actions:
            said = self.step(each)
        said.pop("observation", None)
        return said

    def _ask(self, name: str, data: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{json.dumps([name, data])}\n")
        self.process.stdin.flush()
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


@contextmanager
def connected(url: str, timeout_s: float = LATE_S) -> Iterator[Client]:
    """Connect the real client; a call waits for `timeout_s`, which is 60 s by default there."""
    script = str(Path(__file__).with_name("openenv_client.py"))
    command = [interpreter("PROCTOR_OPENENV"), script, url, TOKEN, str(timeout_s)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield Client(process)
        finally:
            process.kill()


def below(pid: int) -> set[int]:
    """Return the processes that a process has started, and theirs."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        try:
            found = (each / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if each.name.isdecimal() and found[0] != "Z":
            parents[int(each.name)] = int(found[1])
    found_below, new = set[int](), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found_below
        found_below |= new
    return found_below


def clone_player(client: Client, steps: Iterable[Any], order: list[str]) -> dict[str, Any]:
    """Take the steps of a clone's solution and return what the last frame says."""
    said: dict[str, Any] = {}
    for each in steps:
        if each.do == "open":
            said = client.step({"kind": "switch_tab", "index": order.index(each.app)})
        elif each.do == "click":
            said = _click(client, each.text)
            client.step(_SETTLED)
        elif each.do == "fill":
            said = _fill(client, each.field, each.text)
        else:
            said = client.step(ENDED)
        assert "error" not in said, (each, said)
    return said


def site_player(client: Client, turns: Iterable[Any]) -> dict[str, Any]:
    """Take the turns of a stand-in's script, clicks and texts, and return what the last frame says."""
    said: dict[str, Any] = {}
    for turn in turns:
        for each in turn if isinstance(turn, tuple) else (turn,):
            if each.name == "done":
                empty = {"retrieved_data": None, "error_details": None}
                said = client.step({**ENDED, "answer": {**empty, **each.parameters["data"]}})
            elif each.name == "input":
                name = each.target.attributes.get("name", "")
                said = _fill(client, name, each.parameters["text"])
            else:
                said = _click(client, each.target.text, _ROLES.get(each.target.tag or ""))
            assert "error" not in said, (each, said)
    return said


def _click(client: Client, text: str, role: str | None = None) -> dict[str, Any]:
    lines = _outline(client)
    called = [each for each in lines if role in {None, each[0]}]
    exact = [each for each in called if each[1] == text]
    found = exact or [each for each in called if text in each[1]]
    assert found, (text, lines)
    return client.step({"kind": "click", "target": {"element": found[0][2]}})


def _fill(client: Client, name: str, text: str) -> dict[str, Any]:
    label = _LABELS.get(name, name).casefold()
    lines = _outline(client)
    boxes = [each for each in lines if each[0] in {"textbox", "searchbox", "combobox"}]
    found = [each for each in boxes if each[1].casefold().startswith(label)]
    assert found, (name, lines)
    return client.step({"kind": "set_value", "target": {"element": found[0][2]}, "value": text})


def _outline(client: Client) -> list[tuple[str, str, str]]:
    """Return role, name and id of what can be acted on, as the page itself lists it."""
    said = client.step({"kind": "read_page", "interactive": True, "depth": 100})
    assert "error" not in said, said
    (result,) = said["observation"]["results"]
    matched = filter(None, map(_LINE.match, result["text"].splitlines()))
    return [(each[2], each[3] or "", each[1]) for each in matched]
