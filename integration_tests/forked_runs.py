"""Starts the run of `crashing.py` by forking this process, in which all it imports is imported already.

So is the process from which the run's agents are forked, which is a new interpreter elsewhere. A session
then costs what the run itself does, and a campaign reaches many of them. The caller has one thread.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import crashing

from bench_core import exit_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ForkedRun", "InterpreterPool"]

# not public: nothing but this replaces how the process is started from which agents are forked
forkserver = importlib.import_module("bench_core.agent_process.forkserver")
launcher = importlib.import_module("bench_core.agent_process.launcher")

POLL_S = 0.005
MAX_ORDER = 1 << 16


class ForkedRun:
    """A session of the run in a process of its own.

    Args:
        arguments: Those of `crashing.py`.
        variables: What its environment has beside this process's.
        folder: Its working folder, and that of all it starts; what it writes to standard error goes into
            `printed` there.
        interpreters: Where its process that agents are forked from comes from.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        variables: Mapping[str, str],
        folder: Path,
        interpreters: InterpreterPool,
    ) -> None:
        self._printed = folder / "printed"
        self._code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _forked(lambda: _run(arguments, variables, folder, interpreters))

    def code(self) -> int | None:
        """Return how it ended, minus the signal's number where one ended it; None while it runs."""
        if self._code is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if ended else None
        return self._code

    def kill(self) -> bool:
        """End it by SIGKILL; False where it had ended by itself."""
        if self.code() is not None:
            return False
        os.kill(self.pid, signal.SIGKILL)  # its parent has not waited for it: the id is its own
        return self.wait() == -signal.SIGKILL

    def wait(self, seconds: float = 3600.0) -> int:
        """Wait until it has ended and return its exit code; what takes longer is killed."""
        end = time.monotonic() + seconds
        while (code := self.code()) is None:
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(POLL_S)
        return code

    def printed(self) -> str:
        """Return what it wrote to standard error."""
        return self._printed.read_text(errors="replace")


class InterpreterPool:
    """A process that forks others with all modules imported, for what is a new interpreter elsewhere."""

    def __init__(self) -> None:
        self._orders, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self._orders.close()
            _forked(lambda: _serve(far))
        far.close()

    def start(self, env: Mapping[str, str], descriptors: Sequence[int]) -> int:
        """Start the process that agents are forked from and return its id."""
        order = json.dumps({"env": dict(env), "folder": str(Path.cwd())}).encode()
        # an answer of its own: one that a killed session did not read would be taken for the next one's
        answer, far = socket.socketpair()
        with answer, far:
            socket.send_fds(self._orders, [order], [*descriptors, far.fileno()])
            far.close()
            return int(answer.recv(MAX_ORDER))

    def close(self) -> None:
        """Start no more: the process ends."""
        self._orders.close()


class _Started:
    """What `subprocess.Popen` returns, as far as the launcher of agents uses it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def wait(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(self._pid, 0)
                time.sleep(POLL_S)


def _run(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    folder: Path,
    interpreters: InterpreterPool,
) -> int:
    os.chdir(folder)
    os.environ.update(variables)
    tempfile.tempdir = None  # asked for before the fork
    random.seed()
    errors = os.open("printed", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDWR)
    for source, target in ((nothing, 0), (nothing, 1), (errors, 2)):
        os.dup2(source, target)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)

    def started(_: Sequence[str], **options: Any) -> _Started:
        return _Started(interpreters.start(options["env"], options["pass_fds"]))

    launcher.subprocess = SimpleNamespace(Popen=started, DEVNULL=subprocess.DEVNULL)
    sys.argv = [crashing.__file__, *arguments]
    return crashing.main()


def _serve(orders: socket.socket) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, MAX_ORDER, 3)
        if not message:
            return 0
        *passed, answer = descriptors
        pid = os.fork()
        if pid == 0:
            orders.close()
            os.close(answer)
            _forked(functools.partial(_serve_agents, json.loads(message), passed))
        with socket.socket(fileno=answer) as asking, contextlib.suppress(ConnectionError):
            asking.send(str(pid).encode())  # who asked may be killed by now
        for each in passed:
            os.close(each)


def _serve_agents(order: Mapping[str, Any], descriptors: Sequence[int]) -> int:
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["env"])
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDWR)
    for target in range(3):
        os.dup2(nothing, target)
    forkserver.main(*descriptors)
    return 0


def _forked(work: Callable[[], int]) -> NoReturn:
    """Do the work of a process that was just forked, and end it."""
    code = exit_codes.CRASHED
    try:
        code = work()
    except BaseException:  # noqa: BLE001  # nothing may go on as the process it was forked from
        traceback.print_exc()
    finally:
        os._exit(code)
