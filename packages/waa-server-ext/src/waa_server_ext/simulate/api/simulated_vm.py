"""A simulated VM that listens: a desktop behind WAA's HTTP API on a loopback address."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flask import request

from bench_core.errors import InputError
from bench_core.serving import is_loopback
from waa_server_ext.simulate.api.control import control_routes
from waa_server_ext.simulate.api.vm_api import VmApi
from waa_server_ext.simulate.scene import Scene
from waa_server_ext.vm.access import Access
from waa_server_ext.vm.client import VM_PORT
from waa_server_ext.vm.local_server import LocalVm

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["SimulatedVm"]


class SimulatedVm(LocalVm):
    """A desktop and its server in this process; a context manager.

    Example:
        >>> with SimulatedVm(Scene(windows=("notepad",)), port=0) as vm:
        ...     vm.desktop.active_title
        'Untitled - Notepad'
    """

    def __init__(
        self, scene: Scene | None = None, *, host: str = "127.0.0.1", port: int = VM_PORT, seed: int = 0,
        download: Callable[[str], bytes | None] = lambda _: None, token: str | None = None,
    ) -> None:  # fmt: skip
        if not is_loopback(host):
            raise InputError(
                f"the simulated VM listens on loopback only, not on {host}: every client that reaches it controls it"
            )
        super().__init__("the simulated VM", host, port)
        self.scene = scene or Scene()
        self._seed = seed
        self.api = VmApi(self.scene.build(seed=seed), download)
        self.api.app.register_blueprint(control_routes(self.reset))
        self.api.app.before_request(partial(_refused, Access(token)))

    @property
    def desktop(self) -> Desktop:
        """The desktop that is shown now."""
        return self.api.desktop

    @property
    def url(self) -> str:
        """Where its HTTP API is."""
        return self._server.url

    def reset(self, scene: Scene | None = None) -> None:
        """Go back to the start, or to another scene."""
        self.scene = scene or self.scene
        self.api.replace(self.scene.build(seed=self._seed))

    def _make_app(self) -> Flask:
        return self.api.app


def _refused(access: Access) -> tuple[dict[str, str], int] | None:
    headers = request.headers
    why = access.refusal(headers.get("Authorization"), request.remote_addr, headers.get("Host"))
    return ({"status": "error", "message": why}, 403) if why else None
