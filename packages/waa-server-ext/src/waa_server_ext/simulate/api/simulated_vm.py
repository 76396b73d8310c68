"""A simulated VM that listens: a desktop behind WAA's HTTP API on a loopback address."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from werkzeug.wrappers import Request, Response

from bench_core.errors import InputError
from bench_core.serving import is_loopback
from waa_server_ext.simulate.api.process import DesktopProcess
from waa_server_ext.simulate.api.vm_api import NO_ANSWER
from waa_server_ext.simulate.scene import Scene
from waa_server_ext.vm.access import Access
from waa_server_ext.vm.client import VM_PORT
from waa_server_ext.vm.local_server import LocalVm


class SimulatedVm(LocalVm):
    """A server in this process with its desktop in another; a context manager.

    Args:
        download: Returns the contents of a URL, None if there are none; it is pickled.

    Attributes:
        answered: Called after each answer, if set.

    Example:
        >>> from operator import attrgetter
        >>> from waa_server_ext.simulate.scene import Scene
        >>> with SimulatedVm(Scene(windows=("notepad",)), port=0) as vm:
        ...     vm.call(attrgetter("active_title"))
        'Untitled - Notepad'
    """

    def __init__(
        self, scene: Scene | None = None, *, host: str = "127.0.0.1", port: int = VM_PORT, seed: int = 0,
        download: Callable[[str], bytes | None] | None = None, token: str | None = None,
    ) -> None:  # fmt: skip
        if not is_loopback(host):
            raise InputError(
                f"the simulated VM listens on loopback only, not on {host}: every client that reaches it controls it"
            )
        super().__init__("the simulated VM", host, port)
        self._access = Access(token)
        self._make = partial(DesktopProcess, scene, seed, download)
        self._desktop: DesktopProcess | None = None
        self.answered: Callable[[], None] | None = None

    @property
    def url(self) -> str:
        """The URL of its HTTP API."""
        return self._server.url

    def start(self) -> None:
        """Start the desktop and listen; answer until `stop`.

        Raises:
            InputError: The scene cannot be built, or the address is taken.
            EnvironmentFaultError: The system starts no more processes.
        """
        self._desktop = self._make()
        try:
            super().start()
        except InputError:
            self._desktop.close()
            raise

    def stop(self) -> None:
        """Stop listening and end the desktop; safe to call twice."""
        super().stop()
        if self._desktop is not None:
            self._desktop.close()

    def reset(self, scene: Scene | None = None) -> None:
        """Go back to the start, or to another scene."""
        self._running.reset(scene)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with the desktop as its first argument, which it must not change; return the result.

        The call happens in the desktop's process: the function, its arguments and its result are pickled.

        Raises:
            ConnectionError: The desktop's process has ended.
            Exception: Whatever the function raised.
        """
        return self._running.call(function, *arguments)

    @property
    def _running(self) -> DesktopProcess:
        if self._desktop is None:
            raise InputError("the simulated VM is not started")
        return self._desktop

    def _make_app(self) -> Any:
        return self._answer

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        asked = Request(environ)
        sent = asked.headers
        why = self._access.refusal(sent.get("Authorization"), asked.remote_addr, sent.get("Host"))
        if why:
            refusal = json.dumps({"message": why, "status": "error"})
            response = Response(refusal, 403, mimetype="application/json")
            return response(environ, start_response)
        # if the process cannot be replaced, this raises, and the connection ends like one to a lost VM
        status, headers, data = self._running.respond(environ)
        if self.answered is not None:
            self.answered()
        if status == NO_ANSWER:
            raise ConnectionResetError("the block ended its own request")
        start_response(status, headers)
        return [data]
