"""Requests that run programs on a desktop."""

from __future__ import annotations

import os
import shlex
from typing import Any

from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.desktop.composition import Desktop

Answer = Any


def execute(desktop: Desktop, data: Any) -> Answer:
    """Run a command in a new process; as in WAA, a program that fails still counts as a success."""
    use_shell = data.get("shell", False)
    command = data.get("command", "" if use_shell else [])
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


def launch(desktop: Desktop, data: Any) -> Answer:
    """Start a program in a shell; as in WAA, one that does not exist is not an error."""
    command = data.get("command", "")
    try:
        if "google-chrome" in command:
            # a string does not support item assignment, which is why WAA fails here too
            command[command.index("google-chrome")] = "chrome"
        CmdShell(desktop).run(command)
        return f"{command} launched successfully"  # noqa: TRY300  # as WAA's own order
    except Exception as error:  # noqa: BLE001  # as in WAA
        shown = {"status": "error", "message": str(error), "shell": "True"}
        return {**shown, "command": command, "data": data}, 500


def _at_home(part: Any) -> Any:
    return os.path.join("C:\\Users\\Docker", part[2:]) if str(part).startswith("~/") else part  # noqa: PTH118  # Windows paths


def _windows_words(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "[WinError 2] The system cannot find the file specified"
    return str(error)
