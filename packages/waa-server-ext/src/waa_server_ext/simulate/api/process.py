"""A simulated desktop in a process of its own."""

from __future__ import annotations

import atexit
import contextlib
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
from functools import cache
from typing import IO, TYPE_CHECKING, Any, cast

from werkzeug.wrappers import Request

from bench_core.closing import Closing
from bench_core.errors import EnvironmentFaultError
from waa_server_ext.simulate.api.limits import ProgramLimits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from waa_server_ext.simulate.scene import Scene

    _Connection = tuple[IO[bytes], IO[bytes], Callable[[], None]]
    """What comes from a process, what goes to it, and what ends it."""

FORKS = sys.platform == "linux"
"""Whether processes of desktops are forked; macOS' own libraries may fail after a fork."""
_RESET, _KEEP, _RESTORE = (f"/simulation/{each}" for each in ("reset", "keep", "restore"))
HttpAnswer = tuple[str, list[tuple[str, str]], bytes]


class DesktopProcess(Closing):
    """A desktop in a process, which ends where a program takes too much, and with the connection to it.

    What changed the desktop since its start is kept in a file. Where the process has ended, another does it
    again, but for the request that was being answered, of which no program runs.

    Args:
        forks: Fork the process from one that has everything imported, which takes milliseconds and little
            memory, instead of starting Python.

    Raises:
        InputError: The scene cannot be built.
        EnvironmentFaultError: The system starts no more processes.
    """

    def __init__(
        self, scene: Scene | None = None, seed: int = 0,
        download: Callable[[str], bytes | None] | None = None, *,
        limits: ProgramLimits | None = None, forks: bool = FORKS,
    ) -> None:  # fmt: skip
        self._lock = threading.Lock()
        self._forks = forks
        self._scene = scene
        self._kept = 0
        self._settings = seed, download, limits or ProgramLimits()
        with contextlib.ExitStack() as opened:
            self._done = opened.enter_context(tempfile.TemporaryFile())
            self._start()
            opened.pop_all()  # it is closed with the process

    def respond(self, environ: dict[str, Any]) -> HttpAnswer:
        """Answer a WSGI request with status, headers and body.

        Raises:
            ConnectionError: The process has ended, and so did one that replaced it.
        """
        # before the request has its turn: a slow sender must not hold up the others
        body = Request(environ).get_data()
        texts = {name: value for name, value in environ.items() if isinstance(value, str)}
        with self._lock:
            asked = ("respond", texts, body, True)
            try:
                answer: HttpAnswer = self._exchange(asked)
            except ConnectionError:
                self._replace()
                asked = ("respond", texts, body, False)
                answer = self._exchange(asked)
            control = texts["PATH_INFO"] if answer[0].startswith("200") else ""
            if control == _RESET:
                self._forget()
            elif control == _KEEP:
                self._kept = self._done.tell()
            elif control == _RESTORE:
                self._forget(self._kept)
                self._replace()
            elif texts["REQUEST_METHOD"] != "GET":
                with _written_down():
                    pickle.dump(asked, self._done)
                    self._done.flush()
        return answer

    def reset(self, scene: Scene | None = None) -> None:
        """Go back to the start, or to another scene."""
        with self._lock:
            self._scene = scene or self._scene
            self._exchange(("reset", self._scene))
            self._forget()

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function makes of the desktop, its first argument, which it must not change.

        Raises:
            ConnectionError: The process has ended.
            Exception: What the function raised.
        """
        with self._lock:
            return self._exchange(("call", function, *arguments))

    def close(self) -> None:
        """End the process; safe to call twice."""
        self._done.close()
        self._disconnect()

    def _start(self) -> None:
        try:
            connection = _fork_server().fork() if self._forks else _started()
        except OSError as error:
            raise EnvironmentFaultError(
                f"no process for a simulated desktop can be started: {error}"
            ) from error
        self._incoming, self._outgoing, self._end = connection
        try:
            self._exchange((self._scene, *self._settings))
        except BaseException as error:
            self._disconnect()
            if isinstance(error, ConnectionError):
                raise EnvironmentFaultError(
                    "the process of a simulated desktop did not start"
                ) from error
            raise

    def _disconnect(self) -> None:
        self._end()
        for file in (self._outgoing, self._incoming):
            with contextlib.suppress(OSError):  # what was not sent yet
                file.close()

    def _replace(self) -> None:
        if self._done.closed:
            raise ConnectionResetError("the simulated desktop is closed")
        self._disconnect()
        self._start()
        with _written_down():
            self._done.seek(0)
        with contextlib.suppress(EOFError):
            while True:
                self._exchange(pickle.load(self._done))  # noqa: S301  # of this process

    def _forget(self, kept: int = 0) -> None:
        """Keep only the first bytes of what was done."""
        with _written_down():
            self._kept = self._done.seek(kept)
            self._done.truncate()

    def _exchange(self, message: tuple[Any, ...]) -> Any:
        data = pickle.dumps(message)  # what cannot be sent is found before anything was
        try:
            self._outgoing.write(data)
            self._outgoing.flush()
            came, error = pickle.load(self._incoming)  # noqa: S301  # of this package's own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as gone:
            raise ConnectionResetError("the process of the simulated desktop has ended") from gone
        if error is not None:
            raise error
        return came


@contextlib.contextmanager
def _written_down() -> Iterator[None]:
    """Let the connection end, as that to a machine that is gone, where what is done cannot be kept to be done again."""
    try:
        yield
    except OSError as error:
        raise ConnectionResetError(
            f"what is done to a simulated desktop cannot be written down: {error}"
        ) from error


class _ForkServer:
    """The process that desktops' processes are forked from; it starts with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def fork(self) -> _Connection:
        """Return the connection to a new process."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            # in a process that was forked from the one that started it, `poll` says that it has ended
            if self._orders is None or self._process is None or self._process.poll() is not None:
                self.close()
                self._orders, far = socket.socketpair()
                with far:
                    command = f"fork_desktops({far.fileno()})"
                    self._process = _python(command, pass_fds=[far.fileno()])
            socket.send_fds(self._orders, [b"."], [theirs.fileno()])

        def end() -> None:
            with contextlib.suppress(OSError):  # it was ended before
                ours.shutdown(socket.SHUT_RDWR)
            ours.close()

        return ours.makefile("rb"), ours.makefile("wb"), end

    def close(self) -> None:
        """End it; processes that were forked from it go on."""
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.kill()
            self._process.wait()


@cache
def _fork_server() -> _ForkServer:
    server = _ForkServer()
    atexit.register(server.close)
    return server


def _started() -> _Connection:
    process = _python("serve_desktop()", stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end() -> None:
        process.kill()
        process.wait()

    return cast("IO[bytes]", process.stdout), cast("IO[bytes]", process.stdin), end


def _python(call: str, **more: Any) -> subprocess.Popen[bytes]:
    module = "waa_server_ext.simulate.api.worker"
    code = f"import sys; sys.path[:] = sys.argv[1:]; from {module} import *; {call}"
    return subprocess.Popen(  # noqa: S603  # this package's own module
        [sys.executable, "-c", code, *sys.path],
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the server
        **more,
    )
