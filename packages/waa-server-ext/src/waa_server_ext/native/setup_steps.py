"""Setup and postconfig steps: a task's changes to the VM before it starts and before it is scored.

The names and parameters are those of upstream's `SetupController`. Refusals of the VM are noted and
skipped; mistakes in the task itself raise.
"""

from __future__ import annotations

import posixpath
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from waa_server_ext.native.chrome import HISTORY as CHROME_HISTORY
from waa_server_ext.native.context import OK, EvaluationContext
from waa_server_ext.native.edge import HISTORY as EDGE_HISTORY
from waa_server_ext.native.profiles import Location, locate
from waa_server_ext.vm.client import VmResponse, VmTransportError

# upstream's numbers, except for the most repeats: upstream has no limit
_REPEAT_PAUSE_S = 0.3
_OPENED_PAUSE_S = 2.0
_MAX_FAILURES = 5
_MAX_REPEATS = 200
_DOWNLOAD_TRIES = 3
_HISTORY_START = datetime(1601, 1, 1)  # noqa: DTZ001  # Chromium counts local microseconds from here
_TYPED_LINK = 805306368
"""The transition code that upstream writes for a visit: a typed address, in Chromium."""


@dataclass
class StepFault:
    """The VM's refusals during one step; empty if it went well."""

    refused: list[str] = field(default_factory=list)


def run_steps(env: EvaluationContext, steps: Sequence[Mapping[str, Any]]) -> None:
    """Run steps in order.

    Raises:
        KeyError: A step lacks `type` or `parameters`.
        AssertionError: A step's type does not exist.
        TypeError: Parameters are missing or too many.
    """
    for step in steps:
        run_step(env, step)


def run_step(env: EvaluationContext, step: Mapping[str, Any]) -> StepFault:
    """Run one step; see `run_steps`. Return the VM's refusals."""
    kind, parameters = step["type"], step["parameters"]
    if kind not in STEPS:
        raise AssertionError(f"Setup controller cannot find init function _{kind}_setup")
    fault = StepFault()
    STEPS[kind](_Runner(env, fault), **parameters)
    return fault


@dataclass
class _Runner:
    env: EvaluationContext
    fault: StepFault

    def post(self, endpoint: str, **body: Any) -> VmResponse | None:
        """Send the VM a request; a refusal or a failed transport is noted and returned as None."""
        try:
            answer = self.env.vm.post(endpoint, **body)
        except VmTransportError as error:
            self.fault.refused.append(str(error))
            return None
        if answer.status == OK:
            return answer
        self.fault.refused.append(f"{endpoint}: status {answer.status}: {answer.text[:200]}")
        return None

    def upload(self, path: str, content: bytes) -> None:
        """Write a file to the VM."""
        name = posixpath.basename(path)
        self.post("/setup/upload", form={"file_path": path}, files={"file_data": (name, content)})


def _download(run: _Runner, files: Sequence[Mapping[str, str]]) -> None:
    for each in files:
        url, path = each["url"], each["path"]
        if not url or not path:
            raise ValueError(f"Setup Download - Invalid URL ({url}) or path ({path}).")
        run.upload(path, _tried(run, url))


def _tried(run: _Runner, url: str) -> bytes:
    for left in reversed(range(_DOWNLOAD_TRIES)):
        try:
            return run.env.download(url)
        except Exception:  # noqa: PERF203  # tried three times, as upstream does
            if not left:
                raise
    raise AssertionError("unreachable")


def _upload_file(run: _Runner, files: Sequence[Mapping[str, str]]) -> None:
    for each in files:
        source = run.env.scratch_path(each["local_path"])
        if not source.exists():
            run.fault.refused.append(f"{each['local_path']} is not among this task's files")
            return
        run.upload(each["path"], source.read_bytes())


def _open(run: _Runner, path: str) -> None:
    _need(path, "Open")
    if run.post("/setup/open_file", json={"path": path}) is not None:
        run.env.pause(_OPENED_PAUSE_S)


def _launch(run: _Runner, command: Any, shell: Any = False) -> None:  # a parameter of tasks
    _need(command, "Launch")
    if not shell and isinstance(command, str) and len(command.split()) > 1:
        command = command.split()
    run.post("/setup/launch", json={"command": command, "shell": shell})


def _execute(
    run: _Runner,
    command: Any,
    stdout: str = "",
    stderr: str = "",
    shell: Any = False,  # a parameter of tasks
    until: Mapping[str, Any] | None = None,
) -> None:
    """Run a command; with `until`, repeat it until the outcome is as wanted.

    Args:
        run: The step's VM and the list of its refusals, to which `run.post` adds.
        command: A text or a list of words.
        stdout: Name of a file of the task's cache that gets the output; empty for none.
        stderr: Likewise for the error output.
        shell: Whether the VM's shell runs it.
        until: `returncode`, or a part of `stdout` or `stderr`; one of them is enough.
    """
    _need(command, "Execute")
    # cmd.exe does not know Stop-Process: upstream's step has no effect on Windows
    if run.env.fidelity == "fixed" and list(command)[:1] == ["Stop-Process"]:
        run.env.note("fixed: Stop-Process is run by PowerShell, not by cmd.exe")
        command = ["powershell", "-Command", " ".join(command)]
    failures = 0
    for _ in range(_MAX_REPEATS):
        answer = run.post("/setup/execute", json={"command": command, "shell": shell})
        outcome = answer.json() if answer is not None else None
        if outcome is None:
            failures += 1
        else:
            _keep(run.env, stdout, outcome, "output")
            _keep(run.env, stderr, outcome, "error")
        if not until or failures >= _MAX_FAILURES or _reached(outcome, until):
            return
        run.env.pause(_REPEAT_PAUSE_S)
    run.fault.refused.append(f"`until` was not reached in {_MAX_REPEATS} runs of {command!r}")


def _keep(env: EvaluationContext, name: str, outcome: Mapping[str, Any], key: str) -> None:
    if name:
        env.scratch_path(name).write_text(outcome[key], encoding="utf-8")


def _reached(outcome: Mapping[str, Any] | None, until: Mapping[str, Any]) -> bool:
    if outcome is None:
        return False
    return (
        ("returncode" in until and outcome["returncode"] == until["returncode"])
        or ("stdout" in until and until["stdout"] in outcome["output"])
        or ("stderr" in until and until["stderr"] in outcome["error"])
    )


def _sleep(run: _Runner, seconds: float) -> None:
    run.env.pause(seconds)


def _activate_window(
    run: _Runner,
    window_name: str,
    strict: Any = False,  # a parameter of tasks
    by_class: Any = False,
) -> None:
    _window(run, "/setup/activate_window", window_name, strict, by_class)


def _close_window(
    run: _Runner,
    window_name: str,
    strict: Any = False,  # a parameter of tasks
    by_class: Any = False,
) -> None:
    _window(run, "/setup/close_window", window_name, strict, by_class)


def _window(run: _Runner, endpoint: str, name: str, strict: Any, by_class: Any) -> None:
    _need(name, "Open")
    run.post(endpoint, json={"window_name": name, "strict": strict, "by_class": by_class})


def _close_all(run: _Runner) -> None:
    run.post("/setup/close_all", json={})


def _create_folder(run: _Runner, path: str) -> None:
    _need(path, "Create Folder")
    run.post("/setup/create_folder", json={"path": path})


def _create_file(run: _Runner, path: str, content: str = "") -> None:
    _need(path, "Create File")
    run.post("/setup/create_file", json={"path": path, "content": content})


def _recycle_file(run: _Runner, path: str) -> None:
    _need(path, "recycle file")
    run.post("/setup/recycle", json={"path": path})


def _change_wallpaper(run: _Runner, path: str) -> None:
    _need(path, "Wallpaper")
    run.post("/setup/change_wallpaper", json={"path": path})


def _chrome_open_tabs(run: _Runner, urls_to_open: Sequence[str]) -> None:
    from waa_server_ext.native.live_tabs import open_tabs

    # V2 waits half a minute more between tries and then goes on without the tabs
    v2 = run.env.fidelity == "v2"
    opened = open_tabs(run.env, urls_to_open, tries=15, wait_s=30.0 if v2 else 5.0)
    if opened:
        return
    if not v2:
        raise ConnectionError("Chrome does not answer on its debugging port")
    run.fault.refused.append("Chrome does not answer on its debugging port; no tab was opened")


def _edge_open_tabs(run: _Runner, urls_to_open: Sequence[str]) -> None:
    from waa_server_ext.native.live_tabs import open_tabs

    tries = 15 if run.env.fidelity == "orig" else 30
    if not open_tabs(run.env, urls_to_open, tries=tries, wait_s=5.0):
        raise ConnectionError("Edge does not answer on its debugging port")


def _chrome_close_tabs(run: _Runner, urls_to_close: Sequence[str]) -> None:
    from waa_server_ext.native.live_tabs import close_tabs

    run.env.pause(5.0)
    tries = 15 if run.env.fidelity == "orig" else 30
    if not close_tabs(run.env, urls_to_close, tries=tries, wait_s=5.0):
        raise ConnectionError("Chrome does not answer on its debugging port")


def _update_browse_history(run: _Runner, **config: Any) -> None:
    _write_history(run, config["history"], CHROME_HISTORY, "google-chrome")


def _update_browse_history_edge(run: _Runner, **config: Any) -> None:
    _write_history(run, config["history"], EDGE_HISTORY, "microsoft-edge")


def _write_history(
    run: _Runner,
    visits: Sequence[Mapping[str, Any]],
    places: Mapping[str, Location],
    browser: str,
) -> None:
    """Build a history of these visits and replace the browser's with it."""
    local = run.env.scratch_path("history_new.sqlite")
    local.unlink(missing_ok=True)
    with closing(sqlite3.connect(local)) as connection, connection:
        connection.executescript(Path(__file__).with_name("history.sql").read_text("utf-8"))
        for visit in visits:
            now = run.env.now()
            when = now - timedelta(seconds=visit["visit_time_from_now_in_seconds"])
            stamp = int((when - _HISTORY_START).total_seconds() * 1_000_000)
            page = connection.execute(
                "INSERT INTO urls (url, title, visit_count, typed_count, last_visit_time, hidden) "
                "VALUES (?, ?, 1, 0, ?, 0)",
                (visit["url"], visit["title"], stamp),
            )
            connection.execute(
                "INSERT INTO visits (url, visit_time, from_visit, transition, segment_id, visit_duration) "
                "VALUES (?, ?, 0, ?, 0, 0)",
                (page.lastrowid, stamp, _TYPED_LINK),
            )
    run.upload(locate(run.env, places), local.read_bytes())
    # upstream does this on Windows too, where it fails harmlessly
    owner = f"sudo chown -R user:user /home/user/.config/{browser}/Default/History"
    _execute(run, [owner], shell=True)  # noqa: S604  # a parameter of the VM's endpoint


def _need(value: Any, step: str) -> None:
    if not value:
        raise ValueError(f"Setup {step} - nothing to work on ({value!r}).")


STEPS: dict[str, Callable[..., None]] = {
    "activate_window": _activate_window,
    "change_wallpaper": _change_wallpaper,
    "chrome_close_tabs": _chrome_close_tabs,
    "chrome_open_tabs": _chrome_open_tabs,
    "close_all": _close_all,
    "close_window": _close_window,
    "command": _execute,
    "create_file": _create_file,
    "create_folder": _create_folder,
    "download": _download,
    "edge_open_tabs": _edge_open_tabs,
    "execute": _execute,
    "launch": _launch,
    "open": _open,
    "recycle_file": _recycle_file,
    "sleep": _sleep,
    "update_browse_history": _update_browse_history,
    "update_browse_history_edge": _update_browse_history_edge,
    "upload_file": _upload_file,
}
