"""The state that the simulated VM's routes act on."""

from __future__ import annotations

from collections.abc import Callable

from waa_server_ext.simulate.desktop.composition import Desktop


class ApiState:
    """The desktop shown now, which a reset replaces, and the function that stands in for the network."""

    def __init__(self, desktop: Desktop, download: Callable[[str], bytes | None]) -> None:
        self.desktop = desktop
        self.download = download
