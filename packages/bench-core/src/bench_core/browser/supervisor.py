"""Keep one Chromium: start it, report on it, and end it even if our parent dies.

This file runs as a program of its own (`python -I -S supervisor.py`) in its own session and imports
the standard library alone. Its standard input is held by the parent: the line `begin`, then
perhaps `close`; the end of input means that the parent is gone, and Chromium is killed at once.
Standard output carries `started`, `ready`, `log` and `exited`, all of them lines of JSON. Chromium in turn is held by
a pipe of ours (`--remote-debugging-pipe`), so it quits even when this program is killed. DevTools over this pipe is
served to clients by `bench_core.browser.pipe_server`, in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.browser.pipe_server import PipeServer

_LINE_LIMIT = 2000
_POLL_S = 1.0
_TERMINATE_S = 2.0
_REPORT_S = 2.0
_PORT_POLL_S = 0.02


def main() -> int:
    """Carry out the order on standard input."""
    line = sys.stdin.buffer.readline()
    if not line:  # the parent died before it could send the command
        return 0
    order = json.loads(line)
    supervisor = _Supervisor(order)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: supervisor.post("orphaned"))
    try:
        if supervisor.start():
            supervisor.keep()
    finally:
        supervisor.end()
        from bench_core.files.removal import remove_folder

        for each in order["folders"]:
            remove_folder(Path(each))
    return 0


def _find_modules() -> None:
    """Have modules of `bench_core` found without its packages' own code, which needs more than the standard library."""
    root = Path(__file__).parents[1]
    for name in ("", ".browser", ".files"):
        package = ModuleType(f"bench_core{name}")
        package.__path__ = [str(root / name[1:])]
        sys.modules[package.__name__] = package


def _end_group(leader: int) -> None:
    """Kill the process group of `leader`."""
    if sys.platform == "win32":
        command = ["taskkill", "/T", "/F", "/PID", str(leader)]
        subprocess.run(command, check=False, capture_output=True)  # noqa: S603
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


class _Supervisor:
    """One Chromium and the reasons to end it, which arrive in a queue."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._reasons: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._reporting = threading.Lock()
        self._chromium: subprocess.Popen[bytes] | None = None
        self._pipe: _DebuggingPipe | None = None
        self._log: threading.Thread | None = None
        self._watcher: threading.Thread | None = None

    def post(self, reason: str) -> None:
        self._reasons.put(reason)

    def start(self) -> bool:
        """Start Chromium; report it and return False when its program cannot be run."""
        threading.Thread(target=self._listen, daemon=True).start()
        self._pipe = _DebuggingPipe()
        try:
            self._chromium = self._pipe.spawn(
                self._order["before"],
                self._order["command"],
                {**os.environ, **self._order["environment"]},
            )
        except OSError as error:
            self._report("log", text=f"cannot be started: {error}")
            self._report("exited", code=None)
            return False
        self._report("started", pid=self._chromium.pid)
        threading.Thread(target=self._serve, daemon=True).start()
        assert self._chromium.stderr is not None  # noqa: S101  # Popen was asked for it
        self._log = threading.Thread(target=self._copy, args=(self._chromium.stderr,), daemon=True)
        self._log.start()
        self._watcher = threading.Thread(target=self._await_exit, daemon=True)
        self._watcher.start()
        return True

    def keep(self) -> None:
        """Return when Chromium or the parent ended, or after a polite close."""
        reason = self._next_reason(None)
        if reason == "close":
            self._close()

    def end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._chromium is not None:
            _end_group(self._chromium.pid)
            if self._watcher is not None:
                self._watcher.join(_REPORT_S)
            self._chromium.wait()

    def _serve(self) -> None:
        """Report the URL of Chromium's DevTools once it answers."""
        assert self._pipe is not None  # noqa: S101  # this thread starts after both
        with contextlib.suppress(OSError):  # Chromium ended, which is reported anyway
            url = self._pipe.serve(self._order["secret"], Path(self._order["folders"][0]))
            self._report("ready", url=url)

    def _close(self) -> None:
        assert self._pipe is not None  # noqa: S101  # set before any reason can arrive
        assert self._chromium is not None  # noqa: S101
        # in a thread: Chromium may hang, and its pipe be full
        threading.Thread(target=self._pipe.ask_to_close, daemon=True).start()
        if self._next_reason(self._order["close_s"]) == "nothing":
            self._chromium.terminate()
            self._next_reason(_TERMINATE_S)

    def _next_reason(self, within_s: float | None) -> str:
        """Wait for a reason, `nothing` after `within_s`; notice a dead parent in any case.

        The end of input alone is not enough: a process that the parent forked later may hold
        the other end open.
        """
        end = None if within_s is None else time.monotonic() + within_s
        while True:
            left = _POLL_S if end is None else min(_POLL_S, end - time.monotonic())
            if left <= 0:
                return "nothing"
            with contextlib.suppress(queue.Empty):
                return self._reasons.get(timeout=left)
            if sys.platform != "win32" and os.getppid() != self._order["parent"]:
                return "orphaned"

    def _listen(self) -> None:
        for line in sys.stdin.buffer:
            self.post(json.loads(line)["type"])
        self.post("orphaned")

    def _copy(self, stderr: IO[bytes]) -> None:
        while line := stderr.readline(_LINE_LIMIT):
            self._report("log", text=line.decode(errors="replace").rstrip())

    def _await_exit(self) -> None:
        assert self._chromium is not None  # noqa: S101  # this thread starts after it
        assert self._log is not None  # noqa: S101
        code = _wait_without_reaping(self._chromium)
        self.post("exited")
        self._log.join(timeout=0.5)
        self._report("exited", code=code)

    def _report(self, kind: str, **facts: Any) -> None:
        line = json.dumps({"type": kind, **facts}) + "\n"
        with self._reporting, contextlib.suppress(OSError):  # a dead parent is noticed elsewhere
            sys.stdout.buffer.write(line.encode())
            sys.stdout.buffer.flush()


class _DebuggingPipe:
    """The pair of pipes that Chromium expects as descriptors 3 and 4.

    It takes orders from them and quits when they close. Without them (Windows) Chromium has a port of its own,
    `ask_to_close` does nothing and the group is ended the hard way.
    """

    def __init__(self) -> None:
        self._orders: int | None = None
        self._answers: int | None = None
        self._server: PipeServer | None = None

    def spawn(
        self, before: list[str], command: list[str], environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start `command`; a program `before` it becomes it, and keeps the pipes."""
        if sys.platform == "win32":
            return _popen([command[0], "--remote-debugging-port=0", *command[1:]], environment, ())
        self._connect()
        switch = "--remote-debugging-pipe"
        try:
            return _popen([*before, command[0], switch, *command[1:]], environment, (3, 4))
        finally:
            os.close(3)
            os.close(4)

    def serve(self, secret: str, profile: Path) -> str:
        """Return the URL of DevTools once Chromium answers."""
        if self._orders is None or self._answers is None:
            return _own_url(profile)
        from bench_core.browser.pipe_server import PipeServer

        self._server = PipeServer(self._orders, self._answers, secret)
        return self._server.serve()

    def ask_to_close(self) -> None:
        if self._server is not None:
            with contextlib.suppress(OSError):
                self._server.post("Browser.close")

    def close(self) -> None:
        for descriptor in (self._orders, self._answers):
            if descriptor is not None:
                os.close(descriptor)
        self._orders = self._answers = None

    def _connect(self) -> None:
        """Put the far ends on 3 and 4 and ours above, so that the child does not inherit them."""
        import fcntl  # does not exist on Windows

        ends = [*os.pipe(), *os.pipe()]
        high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
        for end in ends:
            os.close(end)
        orders_far, self._orders, self._answers, answers_far = high
        for far, number in ((orders_far, 3), (answers_far, 4)):
            os.dup2(far, number)
            os.close(far)


def _own_url(profile: Path) -> str:
    """Return the URL of Chromium's own port, once it has written it down."""
    while True:
        with contextlib.suppress(OSError):
            port, path = (profile / "DevToolsActivePort").read_text(encoding="utf-8").splitlines()
            if path.startswith("/devtools/browser/"):
                return f"http://127.0.0.1:{int(port)}"
        time.sleep(_PORT_POLL_S)


def _popen(
    command: list[str], environment: dict[str, str], descriptors: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # the command is our caller's own
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=descriptors,
        start_new_session=True,
    )


def _wait_without_reaping(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end but leave the entry: its id, the group's id, must not be reused yet."""
    if not hasattr(os, "waitid"):
        return process.wait()
    try:
        ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # the code that ends the supervisor has reaped it meanwhile
        return process.wait()
    assert ended is not None  # noqa: S101  # only WNOHANG gives None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


if __name__ == "__main__":
    _find_modules()
    code = main()
    # Threads may still wait for input that never comes.
    os._exit(code)
