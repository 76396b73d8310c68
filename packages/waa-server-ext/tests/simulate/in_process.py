"""A simulated VM whose desktop is in this process, where tests look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waa_server_ext.simulate.api.vm_api import VmApi
from waa_server_ext.vm.local_server import LocalVm

if TYPE_CHECKING:
    from flask import Flask

    from waa_server_ext.simulate import Scene
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["InProcessVm"]


class InProcessVm(LocalVm):
    """Serves a `VmApi` from threads of this process; ask it one thing at a time."""

    def __init__(self, host: str, scene: Scene | None = None) -> None:
        super().__init__("the simulated VM", host, 5000)
        self.api = VmApi(scene)

    @property
    def desktop(self) -> Desktop:
        return self.api.desktop

    @property
    def url(self) -> str:
        return self._server.url

    def _make_app(self) -> Flask:
        return self.api.app
