"""The programs that tasks start and a VM may lack, and the layout of its keyboard.

WAA's server reports that a program was started even if it does not exist, and PyAutoGUI types `()<` as other
characters with other layouts than that of the United States.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field, ValidationError

from bench_core.records import Record, Task
from waa_client.errors import VmError
from waa_client.vm import CommandOutcome, VmClient, calls
from waa_client.vm.wire import VmCall

_US_LAYOUT = 0x0409  # Windows' number of English (United States)
_STARTS = frozenset({"launch", "execute", "command"})
# the server itself starts Chrome under this name on Windows
_RENAMED = {"google-chrome": "chrome"}
# `socat` does not exist on Windows: 23 tasks start it in vain, whoever runs them
_OF_NO_USE = frozenset({"socat"})
_OF_CMD = frozenset({"rmdir", "mkdir", "start", "dir", "copy", "del", "move", "echo", "type"})
# `start` finds registered programs; other programs are searched in PATH.
_QUERY = r"""
import ctypes, json, shutil, sys, winreg
def registered(name):
    for root in (winreg.HKEY_CURRENT_USER, winreg.HKEY_LOCAL_MACHINE):
        try:
            winreg.CloseKey(winreg.OpenKey(
                root, "Software\\Microsoft\\Windows\\CurrentVersion\\App Paths\\" + name + ".exe"))
            return True
        except OSError:
            pass
    return False
wanted = json.loads(sys.argv[1])
missing = [name for name, started in wanted if not shutil.which(name) and not (started and registered(name))]
print(json.dumps({"missing": missing, "layout": ctypes.windll.user32.GetKeyboardLayout(0) & 0xFFFF}))
"""


class Installed(Record):
    """A VM's answer.

    Attributes:
        missing: The programs that it does not have.
        layout: Windows' number of the keyboard's language; None if the VM did not say.
    """

    missing: tuple[str, ...] = ()
    layout: int | None = Field(default=None, ge=0, le=0xFFFF)

    @property
    def types_as_us(self) -> bool:
        """Whether its keyboard has the United States layout, as far as is known."""
        return self.layout in {None, _US_LAYOUT}


def started_programs(config: Mapping[str, Any]) -> dict[str, bool]:
    """Return the programs that a task's setup starts, each with whether `start` looks for it.

    >>> step = {"type": "launch", "parameters": {"command": ["start", "msedge", "https://x"]}}
    >>> started_programs({"config": [step]})
    {'msedge': True}
    """
    found: dict[str, bool] = {}
    for step in config.get("config") or []:
        given = step.get("parameters") if isinstance(step, dict) else None
        if isinstance(given, dict) and step.get("type") in _STARTS:
            command = given.get("command")
            words = command if isinstance(command, list) else str(command or "").split()
            found |= _program([str(each) for each in words])
    return found


def _program(words: list[str]) -> dict[str, bool]:
    if [each.casefold() for each in words[:2]] == ["cmd", "/c"]:
        words = [part for each in words[2:] for part in each.split()]
    by_start = bool(words) and words[0].casefold() == "start"
    words = words[by_start:]
    name = _RENAMED.get(words[0], words[0]).casefold() if words else ""
    plain = name.removesuffix(".exe")
    if not plain or ":" in plain or plain in _OF_NO_USE | _OF_CMD:  # `ms-clock://` is an address
        return {}
    return {plain: by_start}


async def installed_on(vm: VmClient, programs: Mapping[str, bool]) -> Installed:
    """Ask a VM which of the programs it has, and for its keyboard; without an answer nothing counts as missing."""
    try:
        found = answered(await vm.send(question(programs)))
    except VmError:
        return Installed()
    # only programs of the question: the VM's answer is not trusted
    missing = tuple(each for each in programs if each in found.missing)
    return found.model_copy(update={"missing": missing})


def question(programs: Mapping[str, bool]) -> VmCall[CommandOutcome]:
    """Return the call that asks for programs, each with whether `start` looks for it, and for the keyboard."""
    return calls.execute(["python", "-c", _QUERY, json.dumps(list(programs.items()))])


def answered(outcome: CommandOutcome) -> Installed:
    """Read the answer to `question`."""
    try:
        return Installed.model_validate_json(outcome.output.strip().splitlines()[-1])
    except (ValidationError, IndexError):
        return Installed()


def missing_text(url: str, missing: Iterable[str], tasks: Iterable[Task]) -> str:
    """Return the sentence that names the programs a VM lacks and how many tasks start them."""
    started = {task.task_id: started_programs(task.config) for task in tasks}
    parts = []
    for name in missing:
        needing = [task_id for task_id, names in started.items() if name in names]
        number = f"{len(needing)} task{'s' * (len(needing) != 1)}"
        parts.append(f"{name} ({number}: {', '.join(needing[:3])}{', ...' * (len(needing) > 3)})")
    return (
        f"{url} has no {'; no '.join(parts)}: WAA's server says that they were started all the same; their trials "
        f"are flagged program_missing"
    )
