"""What requests that run programs do to a desktop, in whichever process that is."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import StopRunning
from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.code.python import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable

    from waa_server_ext.simulate.code.computer import ComputerUpdate
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["ProgramRequest", "ended", "perform"]

Answer = Any
_ENDED = 1


@dataclass(frozen=True)
class ProgramRequest:
    """A request that runs programs, and what they depend on beside the desktop; also its answer.

    Attributes:
        kind: `execute`, `execute_windows` or `launch`.
        data: The JSON of the request.
        update: What `/update_computer` was sent last.
        settings: What programs have set on the server's own `pyautogui`.
        answer: What the route returns, once the request is done.
        error: What it raised instead.
    """

    kind: str
    data: Any
    update: ComputerUpdate | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    answer: Answer = None
    error: str | None = None

    @property
    def is_done(self) -> bool:
        """Whether it has an answer."""
        return self.answer is not None or self.error is not None


def perform(request: ProgramRequest, desktop: Desktop) -> ProgramRequest:
    """Do what a request asks for and return it with its answer."""
    process = ServerProcess(CmdShell(desktop), request.settings)
    try:
        with Budget.shared():
            answer = _KINDS[request.kind](request, desktop, process)
    except StopRunning as error:
        answer = ended(request.kind, str(error))
    except Exception as error:  # noqa: BLE001  # WAA answers whatever is raised
        return replace(request, error=str(error), settings=process.settings)
    return replace(request, answer=answer, settings=process.settings)


def ended(kind: str, why: str) -> Answer:
    """Return the answer for a program that was ended: to `execute` it is one that failed."""
    if kind == "execute":
        error = f"RuntimeError: {why}\n"
        return {"status": "success", "output": "", "error": error, "returncode": _ENDED}
    return {"status": "error", "message": why}, 500


def _execute(request: ProgramRequest, desktop: Desktop, _process: ServerProcess) -> Answer:
    """Run a command in a new process; a program that fails is still a success here."""
    use_shell = request.data.get("shell", False)
    command = request.data.get("command", "" if use_shell else [])
    if isinstance(command, str) and not use_shell:
        # by POSIX' rules, as WAA: backslashes outside quotes are lost
        command = shlex.split(command)
    try:
        command = [_at_home(part) for part in command] if isinstance(command, list) else command
        shell = CmdShell(desktop)
        result = shell.run(command) if use_shell else shell.start([str(part) for part in command])
    except Exception as error:  # noqa: BLE001  # WAA answers whatever subprocess raises
        return {"status": "error", "message": _windows_words(error)}, 500
    return {
        "status": "success",
        "output": result.output,
        "error": result.error,
        "returncode": result.code,
    }


def _execute_windows(request: ProgramRequest, _desktop: Desktop, process: ServerProcess) -> Answer:
    """Run a block of Python in the server, with `computer`; what it prints is lost."""
    try:
        process.execute(request.data.get("command"), request.update)
    except Exception as error:  # noqa: BLE001  # a block may raise anything
        return {"status": "error", "message": str(error)}, 500
    return {"status": "success"}


def _launch(request: ProgramRequest, desktop: Desktop, _process: ServerProcess) -> Answer:
    """Start a program in a shell; whether it exists does not matter."""
    data = request.data
    command = data.get("command", "")
    try:
        if "google-chrome" in command:
            # a string cannot be assigned to, which is why WAA fails there
            command[command.index("google-chrome")] = "chrome"
        CmdShell(desktop).run(command)
        return f"{command} launched successfully"  # noqa: TRY300  # as WAA's own order
    except Exception as error:  # noqa: BLE001  # as in WAA
        shown = {"status": "error", "message": str(error), "shell": "True"}
        return {**shown, "command": command, "data": data}, 500


_KINDS: dict[str, Callable[[ProgramRequest, Desktop, ServerProcess], Answer]] = {
    "execute": _execute,
    "execute_windows": _execute_windows,
    "launch": _launch,
}


def _at_home(part: Any) -> Any:
    return os.path.join("C:\\Users\\Docker", part[2:]) if str(part).startswith("~/") else part  # noqa: PTH118  # Windows paths


def _windows_words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "[WinError 2] The system cannot find the file specified"
    return str(error)
