"""The run's side of an agent's process: starts it, exchanges messages with it, ends it, and reports how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bench_core.child_process.framing import MAX_LINE, FrameError
from bench_core.child_process.process import ChildGoneError, ChildProcess, Exit, SpawnedProcess
from bench_core.child_process.shared_loop import blocking
from bench_core.errors import HarnessFaultError
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import VARIABLES, owned_folder, shared_folder
from bench_core.process_table import pids, stat_of
from bench_core.processes import is_below

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench_core.agent_process.foreign import ForeignProgram
    from bench_core.sealing.files import SealedFiles

_START_S = 120.0
_NOTED_S = 10.0
_EXIT_S = 10.0
_MAX_ORDER = 1 << 16
_AWAKE_S = 0.5
_STOPPED = frozenset("Tt")
_log = logging.getLogger("bench_core.agent_process")


def launcher_for(
    agent: str,
    variables: Mapping[str, str],
    sealed: SealedFiles | None = None,
    *,
    preload: bool = True,
    program: ForeignProgram | None = None,
    place: Path | None = None,
) -> ForkLauncher | SpawnLauncher:
    """Return the launcher of `agent`'s processes: forks on Linux, a new interpreter for each elsewhere.

    A foreign `program` replaces the run's interpreter.
    """
    if not sys.platform.startswith("linux"):
        return SpawnLauncher(variables, program)
    return ForkLauncher(agent, variables, sealed, preload=preload, program=program, place=place)


class _Launcher(ABC):
    """Starts processes of one agent.

    Attributes:
        answer_s: Seconds within which a process must answer `ask`.
    """

    answer_s = _START_S

    @abstractmethod
    async def start(
        self,
        memory: int | None = None,
        variables: Mapping[str, str] | None = None,
        own: Path | None = None,
    ) -> ChildProcess:
        """Start one that may write to at most `memory` bytes, with `variables` in addition to the others.

        If files are hidden, it sees only `own` of the temporary folders of this run and its trials.

        Raises:
            HarnessFaultError: The system refuses.
        """

    def ask(self, lines: bytes) -> tuple[list[bytes], Exit]:
        """Start one, write `lines`, and return all lines of its output; blocks, and needs no event loop.

        Raises:
            ChildGoneError: They did not arrive within `answer_s`.
        """
        return blocking(self._ask(lines))

    async def _ask(self, lines: bytes) -> tuple[list[bytes], Exit]:
        process = await self.start()
        replies: list[bytes] = []

        async def read() -> None:
            size = 0
            with contextlib.suppress(FrameError):
                while size <= MAX_LINE and (line := await process.receive_line()):
                    replies.append(line)
                    size += len(line)

        process.send(lines)
        process.hang_up()  # nothing more is asked
        waits = "the agent's program has not answered for %g s: it is waited for %g s"
        noting = asyncio.get_running_loop().call_later(
            _NOTED_S, _log.warning, waits, _NOTED_S, self.answer_s
        )
        is_late = False
        try:
            await asyncio.wait_for(read(), self.answer_s)
            await process.ends_within(_EXIT_S)
        except asyncio.TimeoutError:
            is_late = True
        finally:
            noting.cancel()
            process.kill()
            ended = await process.ended()
        if is_late:
            said = "did not end after its answer" if replies else "wrote nothing"
            raise ChildGoneError(
                f"{said} for {self.answer_s:g} s and was ended", ended, is_late=True
            )
        return replies, ended


class ForkLauncher(_Launcher):
    """Forks each process from one that has already imported the agent; Linux only.

    An agent whose import starts threads or ends the process is imported after the fork.

    Args:
        agent: An installed agent's name, or `module:attribute`.
        variables: The environment of its processes.
        sealed: The files hidden from them; None hides none.
        preload: Whether the agent is imported before the fork; False if its import may read variables that differ
            between processes.
        program: The program that each becomes after the fork, instead of running the agent itself.
        place: The place of their temporary files, by default among the run's.
    """

    def __init__(
        self,
        agent: str,
        variables: Mapping[str, str],
        sealed: SealedFiles | None = None,
        *,
        preload: bool = True,
        program: ForeignProgram | None = None,
        place: Path | None = None,
    ) -> None:
        self._place = place
        self._preload: str | None = agent if preload and program is None else None
        self._foreign: dict[str, Any] | None = None
        if program is not None:
            self._foreign = {
                "command": program.command,
                "is_python": program.is_python,
                "variables": program.variables(variables),
            }
        self._sealed = None if sealed is None else asdict(sealed)
        self._variables = dict(variables)
        self._server: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None
        self._lock = threading.Lock()

    async def start(
        self,
        memory: int | None = None,
        variables: Mapping[str, str] | None = None,
        own: Path | None = None,
    ) -> ChildProcess:
        """Start one."""
        scratch = _scratch(self._place)
        try:
            # the first fork waits until the agent is imported, which may take seconds
            work, control, pid, supervisor = await asyncio.to_thread(
                self._fork, memory, scratch, variables or {}, own
            )
            reader, writer = await asyncio.open_connection(sock=work, limit=MAX_LINE)
        except BaseException:
            remove_folder(scratch)
            raise
        control.setblocking(False)  # its own name for it
        return _Forked(pid, supervisor, scratch, control, reader, writer)

    def close(self) -> None:
        """End the process that forks; forked processes go on."""
        with self._lock:
            self._end()

    def _fork(
        self, memory: int | None, scratch: Path, variables: Mapping[str, str], own: Path | None
    ) -> tuple[socket.socket, socket.socket, int, int]:
        work, far_work = socket.socketpair()
        control, far_control = socket.socketpair()
        facts = {"memory": memory, "temporary": str(scratch.resolve()), "variables": dict(variables),
                 "own": None if own is None else str(own.resolve()), "place": str(shared_folder(scratch.resolve()))}  # fmt: skip
        order = json.dumps(facts).encode()
        descriptors = [far_work.fileno(), far_control.fileno()]
        with far_work, far_control, self._lock:
            for _ in range(2):  # an agent may have killed the process that it was forked from
                server = self._orders or self._begin()
                if self._server is not None:
                    self._server.send_signal(signal.SIGCONT)  # or stopped it
                try:
                    socket.send_fds(server, [order], descriptors)
                except OSError:
                    self._end()
                else:
                    break
            else:
                work.close()
                control.close()
                message = "processes for agents cannot be started: what forks them dies"
                raise HarnessFaultError(message)
        try:
            control.settimeout(_START_S)
            # one byte at a time: the bytes after the first line are for another reader
            with control.makefile("rb", buffering=0) as report:
                started = json.loads(report.readline())
                pid, supervisor = int(started["pid"]), int(started["supervisor"])
            control.settimeout(None)
        except (OSError, ValueError, KeyError) as error:
            work.close()
            control.close()
            raise HarnessFaultError(f"an agent's process did not start: {error}") from error
        return work, control, pid, supervisor

    def _begin(self) -> socket.socket:
        """Start the process that forks, with the agent imported if possible."""
        threads = self._launch()
        if threads != 0 and self._preload is not None:
            self._end()
            self._preload = None
            threads = self._launch()
        if threads is None or self._orders is None:
            self._end()
            raise HarnessFaultError("the process that agents are forked from does not start")
        return self._orders

    def _launch(self) -> int | None:
        """Return how many threads the import started; None if it ended the process."""
        # this kind keeps messages apart: one receive takes one order with its descriptors
        ours, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far, tempfile.TemporaryFile() as settings:
            begin = {"path": sys.path, "preload": self._preload, "sealed": self._sealed,
                     "foreign": self._foreign}  # fmt: skip
            settings.write(json.dumps(begin).encode())
            settings.seek(0)
            descriptors = (far.fileno(), settings.fileno())
            program = ["-m", "bench_core.agent_process.forkserver", *map(str, descriptors)]
            try:
                self._server = subprocess.Popen(  # noqa: S603  # our own program
                    [sys.executable, *program],
                    env=self._variables,
                    pass_fds=descriptors,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise HarnessFaultError(f"no process for agents: {error}") from error
        self._orders = ours
        ours.settimeout(_START_S)
        try:
            answer = ours.recv(_MAX_ORDER)
        except OSError:
            answer = b""
        ours.settimeout(None)
        if not answer:
            return None
        facts = json.loads(answer)
        if facts["refused"] is not None:
            self._end()
            raise HarnessFaultError(f"files cannot be hidden from agents: {facts['refused']}")
        return int(facts["threads"])

    def _end(self) -> None:
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._server is not None:
            self._server.kill()  # it holds nothing: supervisors are processes of their own
            self._server.wait()
            self._server = None


class _Forked(ChildProcess):
    """A process under a supervisor, which ends it on request and reports how it ended."""

    def __init__(
        self,
        pid: int,
        supervisor: int,
        scratch: Path,
        control: socket.socket,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        super().__init__(pid, reader, writer)
        self._supervisor = supervisor
        self._killed = False
        self._pipe = writer
        self._scratch = scratch
        self._control = control

    def hang_up(self) -> None:
        """Close its standard input, which is one socket with its output."""
        with contextlib.suppress(OSError, RuntimeError):
            self._pipe.write_eof()

    def kill(self) -> None:
        """End it and everything it started; its output shows where it hung."""
        self._killed = True
        with contextlib.suppress(OSError):
            # the supervisor may have ended by itself meanwhile
            self._control.send(b"k")

    async def _wait(self) -> Exit:
        loop, report = asyncio.get_running_loop(), b""
        waking = asyncio.ensure_future(self._wake())
        # a supervisor that ends with our request unread resets the connection, after its last line
        with contextlib.suppress(ConnectionError):
            while part := await loop.sock_recv(self._control, _MAX_ORDER):
                report += part
        waking.cancel()
        self._control.close()
        self._pipe.close()
        # an agent may have left so many files that removing them would block the other trials
        await asyncio.to_thread(remove_folder, self._scratch)
        return _exit_in(report)

    async def _wake(self) -> None:
        """Continue the supervisor that is to end the agent, in case the agent has stopped it."""
        while True:
            await asyncio.sleep(_AWAKE_S)
            found = stat_of(self._supervisor) if self._killed else None
            if found is not None and found.state in _STOPPED:
                # first the processes that could stop it again
                below = [
                    each
                    for each in pids()
                    if each != self._supervisor and is_below(each, self._supervisor)
                ]
                for each in below:
                    with contextlib.suppress(OSError):
                        os.kill(each, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.kill(self._supervisor, signal.SIGCONT)


class _Spawned(SpawnedProcess):
    """A process of a new interpreter, and its folder of temporary files."""

    scratch: Path

    async def _wait(self) -> Exit:
        ended = await super()._wait()
        await asyncio.to_thread(remove_folder, self.scratch)
        return ended


def _scratch(place: Path | None = None) -> Path:
    """Make the folder for the temporary files of one process."""
    try:
        return owned_folder("proctor-agent", place)
    except OSError as error:
        raise HarnessFaultError(f"no temporary folder for an agent: {error}") from error


def _exit_in(report: bytes) -> Exit:
    try:
        return Exit(**json.loads(report))
    except (ValueError, TypeError):  # the supervisor itself was killed
        return Exit()


class SpawnLauncher(_Launcher):
    """Starts a new interpreter for each process; slow, and processes that leave its group are not found."""

    def __init__(self, variables: Mapping[str, str], program: ForeignProgram | None = None) -> None:
        # the worker imports from the same folders as the run
        own = {**variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._variables = program.variables(variables) if program else own
        worker = (sys.executable, "-m", "bench_core.cli.main", "agent-process")
        self._command = program.command if program else worker

    async def start(
        self,
        memory: int | None = None,
        variables: Mapping[str, str] | None = None,
        own: Path | None = None,
    ) -> ChildProcess:
        """Start one; `memory` and `own` have no effect here."""
        del memory, own
        scratch = _scratch()
        try:
            temporary = dict.fromkeys(VARIABLES, str(scratch))
            env = {**self._variables, **(variables or {}), **temporary}
            process = await _Spawned.start(self._command, env)
        except OSError as error:
            remove_folder(scratch)
            raise HarnessFaultError(f"no process for an agent: {error}") from error
        process.scratch = scratch
        return process

    def close(self) -> None:
        """Do nothing: there is nothing to end."""
