"""The run's side of an agent's process: starts it, exchanges messages with it, ends it, and reports how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from bench_core.agent_process.framing import MAX_LINE
from bench_core.errors import EnvironmentFaultError
from bench_core.files.temporary import VARIABLES, owned_folder, remove_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bench_core.agent_process.foreign import ForeignProgram
    from bench_core.sealing.files import SealedFiles

__all__ = ["Exit", "ForkLauncher", "SpawnLauncher", "Started", "launcher_for"]

_START_S = 120.0
_MAX_ORDER = 1 << 16
_TAIL_LINES = 5
_TAIL_CHARS = 1_000
_STACK = "(most recent call first)"
_KEPT = 1 << 16


@dataclass(frozen=True)
class Exit:
    """How an agent's process ended.

    Attributes:
        code: Its exit code, minus the number of the signal that ended it; None where unknown.
        left: How many processes it left, which were ended.
        output: What it printed; of a flood, beginning and end.
    """

    code: int | None = None
    left: int = 0
    output: str = ""

    def in_words(self) -> str:
        """Return the cause, with the last lines it printed."""
        if self.code is None:
            return f"ended together with its supervisor{self.last_lines()}"
        if self.code >= 0:
            return f"ended with exit code {self.code}{self.last_lines()}"
        try:
            name = signal.Signals(-self.code).name
        except ValueError:
            name = f"signal {-self.code}"
        hint = " (the system does that where memory is full)" if name == "SIGKILL" else ""
        return f"was ended by {name}{hint}{self.last_lines()}"

    def last_lines(self) -> str:
        """Return what it printed last, or where in its code it was ended; empty where it was silent."""
        lines = [line for line in self.output.splitlines() if line.strip()]
        where = next((n for n in reversed(range(len(lines))) if _STACK in lines[n]), None)
        shown = lines[-_TAIL_LINES:] if where is None else lines[where : where + 1 + _TAIL_LINES]
        tail = "\n".join(shown)[-_TAIL_CHARS:]
        return f"; its last lines:\n{tail}" if tail else ""


def launcher_for(
    agent: str,
    variables: Mapping[str, str],
    sealed: SealedFiles | None = None,
    *,
    preload: bool = True,
    program: ForeignProgram | None = None,
) -> ForkLauncher | SpawnLauncher:
    """Return what starts processes of `agent`: by forking on Linux, elsewhere a new interpreter each.

    A foreign `program` takes the place of the interpreter of the run.
    """
    if not sys.platform.startswith("linux"):
        return SpawnLauncher(variables, program)
    return ForkLauncher(agent, variables, sealed, preload=preload, program=program)


class Started(ABC):
    """An agent's process that runs."""

    def __init__(
        self, pid: int, scratch: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.groups: tuple[int, ...] = (pid,)
        self._scratch = scratch
        self._exit: asyncio.Task[Exit] | None = None

    @abstractmethod
    def kill(self) -> None:
        """End it and everything it started; where it hung is in what it printed."""

    async def exited(self) -> Exit:
        """Wait until it has ended and nothing of it is left."""
        if self._exit is None:
            self._exit = asyncio.create_task(self._wait())
        return await asyncio.shield(self._exit)

    @abstractmethod
    async def _wait(self) -> Exit: ...


class ForkLauncher:
    """Forks each process from one in which the agent is imported already; Linux only.

    An agent whose import starts threads or ends the process is imported after the fork.

    Args:
        agent: An installed agent's name, or `module:attribute`.
        variables: The environment of its processes.
        sealed: The files they do not see; none are hidden where this is None.
        preload: Whether the agent is imported before the fork; not where its import may read
            variables that each process has its own of.
        program: What each becomes after the fork, instead of running the agent itself.
    """

    def __init__(
        self,
        agent: str,
        variables: Mapping[str, str],
        sealed: SealedFiles | None = None,
        *,
        preload: bool = True,
        program: ForeignProgram | None = None,
    ) -> None:
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
        self, memory: int | None = None, variables: Mapping[str, str] | None = None
    ) -> Started:
        """Start one; it may write to `memory` bytes at most, and gets `variables` beside the others.

        Raises:
            EnvironmentFaultError: The system does not let us.
        """
        scratch = _scratch()
        try:
            work, control, pid = await asyncio.to_thread(
                self._fork, memory, scratch, variables or {}
            )
            reader, writer = await asyncio.open_connection(sock=work, limit=MAX_LINE)
        except BaseException:
            remove_folder(scratch)
            raise
        control.setblocking(False)  # its own name for it
        return _Forked(pid, scratch, control, reader, writer)

    def ask(self, lines: bytes) -> tuple[bytes, Exit]:
        """Start one, write `lines`, and return all its output; blocks, and needs no event loop."""
        scratch = _scratch()
        try:
            work, control, _ = self._fork(None, scratch, {})
            with work, control:
                work.settimeout(_START_S)
                with contextlib.suppress(ConnectionError):
                    work.sendall(lines)
                    work.shutdown(socket.SHUT_WR)  # nothing more is asked
                output = _all_of(work)
                control.settimeout(_START_S)
                return output, _exit_in(_all_of(control))
        except TimeoutError:
            return b"", Exit(output=f"it wrote nothing for {_START_S:g} s")
        finally:
            remove_folder(scratch)

    def close(self) -> None:
        """End the process that is forked from; those that were forked go on."""
        with self._lock:
            self._end()

    def _fork(
        self, memory: int | None, scratch: Path, variables: Mapping[str, str]
    ) -> tuple[socket.socket, socket.socket, int]:
        work, far_work = socket.socketpair()
        control, far_control = socket.socketpair()
        facts = {"memory": memory, "temporary": str(scratch), "variables": dict(variables)}
        order = json.dumps(facts).encode()
        descriptors = [far_work.fileno(), far_control.fileno()]
        with far_work, far_control, self._lock:
            for _ in range(2):  # an agent may have killed what it was forked from
                server = self._orders or self._begin()
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
                raise EnvironmentFaultError(message)
        try:
            control.settimeout(_START_S)
            # one byte at a time: what follows the first line is for another reader
            with control.makefile("rb", buffering=0) as report:
                pid = int(json.loads(report.readline())["pid"])
            control.settimeout(None)
        except (OSError, ValueError, KeyError) as error:
            work.close()
            control.close()
            raise EnvironmentFaultError(f"an agent's process did not start: {error}") from error
        return work, control, pid

    def _begin(self) -> socket.socket:
        """Start the process that is forked from, which imports the agent where that is possible."""
        threads = self._launch()
        if threads != 0 and self._preload is not None:
            self._end()
            self._preload = None
            threads = self._launch()
        if threads is None or self._orders is None:
            self._end()
            raise EnvironmentFaultError("the process that agents are forked from does not start")
        return self._orders

    def _launch(self) -> int | None:
        """Return how many threads the import started, None where it ended the process."""
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
                raise EnvironmentFaultError(f"no process for agents: {error}") from error
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
            raise EnvironmentFaultError(f"files cannot be hidden from agents: {facts['refused']}")
        return int(facts["threads"])

    def _end(self) -> None:
        if self._orders is not None:
            self._orders.close()
            self._orders = None
        if self._server is not None:
            self._server.kill()  # it holds nothing: supervisors are processes of their own
            self._server.wait()
            self._server = None


class _Forked(Started):
    """A process under a supervisor, which ends it on request and reports how it ended."""

    def __init__(self, pid: int, scratch: Path, control: socket.socket, *pipe: Any) -> None:
        super().__init__(pid, scratch, *pipe)
        self._control = control

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._control.send(b"k")

    async def _wait(self) -> Exit:
        loop, report = asyncio.get_running_loop(), b""
        # a supervisor that ends with our request unread resets the connection, after its last line
        with contextlib.suppress(ConnectionError):
            while part := await loop.sock_recv(self._control, _KEPT):
                report += part
        self._control.close()
        self.writer.close()
        await asyncio.to_thread(remove_folder, self._scratch)
        return _exit_in(report)


def _scratch() -> Path:
    """Make the folder for the temporary files of one process."""
    try:
        return owned_folder("proctor-agent")
    except OSError as error:
        raise EnvironmentFaultError(f"no temporary folder for an agent: {error}") from error


def _all_of(end: socket.socket) -> bytes:
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := end.recv(1 << 16):
            parts.append(part)
            if sum(map(len, parts)) > MAX_LINE:
                break
    return b"".join(parts)


def _exit_in(report: bytes) -> Exit:
    try:
        return Exit(**json.loads(report))
    except (ValueError, TypeError):  # the supervisor itself was killed
        return Exit()


class SpawnLauncher:
    """Starts a new interpreter for each process; slow, and what leaves its group is not found."""

    def __init__(self, variables: Mapping[str, str], program: ForeignProgram | None = None) -> None:
        # where the run imports from, the worker does, too
        own = {**variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._variables = program.variables(variables) if program else own
        worker = (sys.executable, "-m", "bench_core.cli.main", "agent-process")
        self._command = program.command if program else worker

    async def start(
        self, memory: int | None = None, variables: Mapping[str, str] | None = None
    ) -> Started:
        """Start one; `memory` is not kept here."""
        del memory
        scratch = _scratch()
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                limit=MAX_LINE,
                env={
                    **self._variables,
                    **(variables or {}),
                    **dict.fromkeys(VARIABLES, str(scratch)),
                },
                start_new_session=True,
            )
        except OSError as error:
            remove_folder(scratch)
            raise EnvironmentFaultError(f"no process for an agent: {error}") from error
        return _Spawned(process, scratch)

    def ask(self, lines: bytes) -> tuple[bytes, Exit]:
        """Start one, write `lines`, and return all its output."""
        try:
            done = subprocess.run(  # noqa: S603  # our own program
                self._command, input=lines, capture_output=True, check=False, env=self._variables,
                timeout=_START_S,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return b"", Exit(output=str(error))
        return done.stdout, Exit(done.returncode, output=done.stderr.decode("utf-8", "replace"))

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


class _Spawned(Started):
    """A process of a new interpreter, which leads a group of its own."""

    def __init__(self, process: asyncio.subprocess.Process, scratch: Path) -> None:
        super().__init__(
            process.pid,
            scratch,
            cast("asyncio.StreamReader", process.stdout),
            cast("asyncio.StreamWriter", process.stdin),
        )
        self._process = process
        self._output = asyncio.create_task(_ends_of(cast("asyncio.StreamReader", process.stderr)))

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _wait(self) -> Exit:
        code = await self._process.wait()
        self.kill()  # the rest of its group
        done, _ = await asyncio.wait([self._output], timeout=2.0)
        self.writer.close()
        await asyncio.to_thread(remove_folder, self._scratch)
        return Exit(code, output=self._output.result() if done else "")


async def _ends_of(stream: asyncio.StreamReader) -> str:
    """Read a stream to its end; return its beginning and its end."""
    head, tail = b"", b""
    while chunk := await stream.read(_KEPT):
        room = _KEPT - len(head)
        head += chunk[:room]
        tail = (tail + chunk[room:])[-_KEPT:]
    return (head + tail).decode("utf-8", "replace")
