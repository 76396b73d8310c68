"""A simulated desktop in a separate process."""

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
    """The stream from a process, the stream to it, and a function that ends it."""

FORKS = sys.platform == "linux"
"""Whether desktops' processes are forked; on macOS the system's libraries may fail after a fork."""
_RESET, _KEEP, _RESTORE = (f"/simulation/{each}" for each in ("reset", "keep", "restore"))
HttpAnswer = tuple[str, list[tuple[str, str]], bytes]


class DesktopProcess(Closing):
    """A desktop in a process that ends, together with the connection to it, if a program takes too much.

    Every request that changed the desktop is kept in a file. If the process ends, a new one replays them; the
    request being answered is repeated without running its programs.

    Args:
        forks: Fork the process from one that has everything imported, which takes milliseconds and little
            memory, instead of starting Python.

    Raises:
        InputError: The scene cannot be built.
        EnvironmentFaultError: The system cannot start another process.
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
            opened.pop_all()  # the process is closed in `close` from here on

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
        """Call a function with the desktop as its first argument, which it must not change; return the result.

        Raises:
            ConnectionError: The process has ended.
            Exception: Whatever the function raised.
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
            with contextlib.suppress(OSError):  # unsent data is flushed, to an end that may be gone
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
        """Keep only the first `kept` bytes of the replay file."""
        with _written_down():
            self._kept = self._done.seek(kept)
            self._done.truncate()

    def _exchange(self, message: tuple[Any, ...]) -> Any:
        data = pickle.dumps(message)  # first, so that one that cannot be pickled leaves no trace
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
    """Raise ConnectionResetError, as for a lost machine, if the replay file cannot be written."""
    try:
        yield
    except OSError as error:
        raise ConnectionResetError(
            f"what is done to a simulated desktop cannot be written down: {error}"
        ) from error


class _ForkServer:
    """The process that desktops' processes are forked from; started with the first desktop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def fork(self) -> _Connection:
        """Return the connection to a new process."""
        ours, theirs = socket.socketpair()
        with self._lock, theirs:
            # `poll` also reports an end if this process was itself forked from the one that started the server
            if self._orders is None or self._process is None or self._process.poll() is not None:
                self.close()
                self._orders, far = socket.socketpair()
                with far:
                    command = f"fork_desktops({far.fileno()})"
                    self._process = _python(command, pass_fds=[far.fileno()])
            socket.send_fds(self._orders, [b"."], [theirs.fileno()])

        def end() -> None:
            with contextlib.suppress(OSError):  # the process may have ended already
                ours.shutdown(socket.SHUT_RDWR)
            ours.close()

        return ours.makefile("rb"), ours.makefile("wb"), end

    def close(self) -> None:
        """End the fork server; processes already forked from it go on."""
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
        start_new_session=True,  # Ctrl-C must reach only the server
        **more,
    )
