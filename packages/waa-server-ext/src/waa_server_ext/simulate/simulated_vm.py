"""A simulated VM that listens: a desktop behind WAA's HTTP API on a loopback address."""

from __future__ import annotations

import ipaddress
import threading
from typing import TYPE_CHECKING

from bench_core.errors import InputError
from waa_server_ext.simulate.scene import Overrides, Scene, scene_of_state
from waa_server_ext.simulate.vm_api import VmApi
from waa_server_ext.vm_http import VM_PORT

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self
    from werkzeug.serving import BaseWSGIServer

    from waa_server_ext.simulate.desktop import Desktop
    from waa_server_ext.vm_state import VmState

__all__ = ["SimulatedVm"]


class SimulatedVm:
    """A desktop and its server in this process; a context manager.

    Example:
        >>> with SimulatedVm(Scene(windows=("notepad",)), port=0) as vm:
        ...     vm.desktop.active_title
        'Untitled - Notepad'
    """

    def __init__(
        self, scene: Scene | None = None, *, host: str = "127.0.0.1", port: int = VM_PORT, seed: int = 0,
        overrides: Overrides | None = None,
    ) -> None:  # fmt: skip
        if not _is_loopback(host):
            raise InputError(
                f"the simulated VM listens on loopback only, not on {host}: whoever reaches it controls it"
            )
        self.scene = scene or Scene()
        self._seed = seed
        self._overrides = overrides or Overrides()
        self.api = VmApi(self.scene.build(seed=seed), self._overrides)
        self._address = (host, port)
        self._server: BaseWSGIServer | None = None
        self._thread: threading.Thread | None = None

    @classmethod
    def of_state(
        cls, state: VmState, *, host: str = "127.0.0.1", port: int = VM_PORT
    ) -> SimulatedVm:
        """Return a VM in the state of an evaluation case."""
        scene, overrides = scene_of_state(state)
        vm = cls(scene, host=host, port=port, overrides=overrides)
        if state.appx:
            vm.desktop.machine.packages += [
                {k: str(v) for k, v in each.items()} for each in state.appx
            ]
        return vm

    @property
    def desktop(self) -> Desktop:
        """The desktop that is shown now."""
        return self.api.desktop

    @property
    def address(self) -> str:
        """`host` where it is on port 5000, else `host:port`; what `--vm` takes."""
        host, port = self._address
        return host if port == VM_PORT else f"{host}:{port}"

    @property
    def url(self) -> str:
        """Where its HTTP API is."""
        return "http://{}:{}".format(*self._address)

    def reset(self, scene: Scene | None = None) -> None:
        """Go back to the start, or to another scene."""
        self.scene = scene or self.scene
        self.api.replace(self.scene.build(seed=self._seed), self._overrides)

    def start(self) -> None:
        """Listen; answer until `stop`.

        Raises:
            InputError: The address is taken.
        """
        from waa_server_ext.serving import make_threaded_server  # noqa: PLC0415  # werkzeug

        try:
            self._server = make_threaded_server(*self._address, self.api.app)
        except OSError as error:
            raise InputError(
                f"the simulated VM cannot listen on {self.url}: {error.strerror}; take another --port"
            ) from error
        self._address = (self._address[0], self._server.port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; safe to call twice."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            self._thread.join()
            server.server_close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
