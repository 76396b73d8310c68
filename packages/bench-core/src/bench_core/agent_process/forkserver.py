"""Starts agents' processes by forking: the agent is imported once, and each trial costs only a fork.

Runs as a program of its own, `python -m bench_core.agent_process.forkserver FD FILE`, where FD is one
end of a socket pair and FILE an open file of settings; Linux only. For each message
with two descriptors it forks a *supervisor*, which forks the agent, waits for it, ends the processes it left, and
reports how it ended. The supervisor adopts orphaned processes, so it also finds those in sessions of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import os
import resource
import selectors
import signal
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from bench_core.agent_process.worker import leave, serve
from bench_core.child_process.process import Printed
from bench_core.discovery import load_plugin
from bench_core.files.temporary import VARIABLES
from bench_core.sealing.namespaces import seal, set_apart

_MAX_ORDER = 1 << 16
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36
_STACKS_S = 0.2
_LEFT_S = 3.0
_OOM_SCORE = b"800"
_NOT_STARTED = 127
_DESCRIPTORS = 1024


def main(descriptor: int, settings: int) -> None:
    """Serve the socket until its other end is closed; `settings` is an open file of JSON."""
    orders = socket.socket(fileno=descriptor)
    with os.fdopen(settings, "rb") as file:
        begin = json.load(file)
    sys.path[:] = begin["path"]
    if begin["sealed"] is not None:
        # before any code of the agent runs: its trials would remember files that its import reads
        try:
            seal(**begin["sealed"], again=True)
        except OSError as error:
            orders.send(json.dumps({"threads": 0, "refused": str(error)}).encode())
            return
        # an agent must not change the process that says how it ended
        _prctl(_PR_SET_DUMPABLE, 0)
    foreign = begin["foreign"]
    if begin["preload"] is not None:
        with contextlib.suppress(BaseException):  # each trial raises it again, and reports it
            load_plugin("agent", begin["preload"])
    # a fork keeps only the thread that made it: locks that others hold would never be released
    threads = threading.active_count() - 1
    orders.send(json.dumps({"threads": threads, "refused": None}).encode())
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors report to their run themselves
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, _MAX_ORDER, 2)
        if not message:
            return
        if os.fork() == 0:
            try:
                orders.close()
                order = {**json.loads(message), "foreign": foreign, "sealed": begin["sealed"]}
                leave(_supervise(order, *descriptors))
            finally:
                os._exit(1)  # nothing that fails here may go on as the server
        for each in descriptors:
            os.close(each)


def _supervise(order: dict[str, Any], work: int, control: int) -> int:
    os.setsid()
    # the server ignores it, and the kernel would then discard the exit code of the agent
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # processes that the agent detaches become children of this one, which finds and ends them
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    output, far = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        os.close(control)
        os.close(output)
        _become_agent(order, work, far, supervisor)
    os.close(work)
    os.close(far)
    # the signal that asks a Python for its stack would end any other program
    asks = order["foreign"] is None or order["foreign"]["is_python"]
    return _AgentSupervisor(pid, socket.socket(fileno=control), output, asks=asks).run()


def _become_agent(order: dict[str, Any], work: int, output: int, supervisor: int) -> None:
    os.setsid()
    # the server's setting gives the files of `/proc/self` to root, and an agent may need them
    _prctl(_PR_SET_DUMPABLE, 1)
    if order["sealed"] is not None and order["own"] is not None:
        # it changes credentials, which would cancel the signal below
        set_apart(order["place"], (order["own"], order["temporary"]))
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # The supervisor may have died before the line above took effect: then no signal comes.
    if os.getppid() != supervisor:
        os._exit(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    os.close(nothing)
    os.close(output)
    # The dumps of agents that crash in every trial would fill the disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if order["memory"] is not None:
        # limits the memory that each process writes to; address space alone costs nothing
        resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
    with contextlib.suppress(
        OSError
    ):  # if memory runs out, the system is to end the agent before the run
        Path("/proc/self/oom_score_adj").write_bytes(_OOM_SCORE)
    os.environ.update({**order["variables"], **dict.fromkeys(VARIABLES, order["temporary"])})
    if order["foreign"] is not None:
        _become_foreign(order["foreign"], order["variables"], work)
    tempfile.tempdir = None  # a module imported before the fork may have set it
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR2, all_threads=True)
    pipe = socket.socket(fileno=work)
    leave(serve(pipe.makefile("rb"), pipe.makefile("wb", buffering=0)))


def _become_foreign(program: dict[str, Any], own: dict[str, str], work: int) -> NoReturn:
    """Become another program, whose standard input and output are the pipe to the run."""
    temporary = {name: os.environ[name] for name in VARIABLES}
    os.dup2(work, 0)
    os.dup2(work, 1)
    os.closerange(3, _DESCRIPTORS)
    command = program["command"]
    try:
        os.execve(command[0], command, {**program["variables"], **own, **temporary})  # noqa: S606  # the user's own choice
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    os._exit(_NOT_STARTED)


class _AgentSupervisor:
    """One agent's process, its output, and the run's request to end it."""

    def __init__(
        self, agent: int, control: socket.socket, output: int, *, asks: bool = True
    ) -> None:
        self._agent = agent
        self._asks = asks
        self._control = control
        self._output = output
        self._printed = Printed()

    def run(self) -> int:
        signal.signal(signal.SIGTERM, lambda *_: self._kill())
        self._report(pid=self._agent, supervisor=os.getpid())
        ended = os.pidfd_open(self._agent)
        os.set_blocking(self._output, False)
        with selectors.DefaultSelector() as selector:
            for each in (ended, self._output, self._control):
                selector.register(each, selectors.EVENT_READ)
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._output in ready and not self._drain():
                    selector.unregister(self._output)
                if self._control.fileno() in ready:
                    self._obey()
                    selector.unregister(self._control)
                if ended in ready:
                    break
        _, status = os.waitpid(self._agent, 0)
        left = _end_children()
        self._drain()
        code = os.waitstatus_to_exitcode(status)
        self._report(code=code, left=left, output=self._printed.text())
        return 0

    def _obey(self) -> None:
        """End the agent, as the run asks for it or is gone."""
        asked = b""
        with contextlib.suppress(OSError):
            asked = self._control.recv(1)
        if asked and self._asks:
            # its stack shows where it hangs
            self._signal(signal.SIGUSR2)
            time.sleep(_STACKS_S)
            self._drain()
        self._kill()

    def _kill(self) -> None:
        self._signal(signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self._agent, signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(OSError):
            os.kill(self._agent, number)

    def _drain(self) -> bool:
        """Read what the agent printed; False at the end. A flood costs this process alone."""
        # Bounded, so that an agent which prints without end cannot hide its own end.
        for _ in range(64):
            try:
                chunk = os.read(self._output, _CHUNK)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self._printed.add(chunk)
        return True

    def _report(self, **facts: Any) -> None:
        with contextlib.suppress(OSError):  # the run may be gone
            self._control.sendall(json.dumps(facts).encode() + b"\n")


def _end_children() -> int:
    """Kill every process that the agent left, and their children in turn; return how many."""
    ended, deadline = 0, time.monotonic() + _LEFT_S
    while time.monotonic() < deadline:
        children = _children()
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            while children and os.waitpid(-1, 0)[0]:
                ended += 1
                children.pop()
        except ChildProcessError:
            pass
        if not _children():
            break
    return ended


def _children() -> list[int]:
    own, found = str(os.getpid()), []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            if fields[1] == own:
                found.append(int(folder.name))
    return found


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
