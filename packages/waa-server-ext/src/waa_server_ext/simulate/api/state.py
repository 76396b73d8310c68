"""What the routes of the simulated VM act on."""

from __future__ import annotations

from collections.abc import Callable

from waa_server_ext.simulate.desktop.composition import Desktop


class ApiState:
    """The desktop that is shown now, which a reset changes, and what a URL gives: there is no network."""

    def __init__(self, desktop: Desktop, download: Callable[[str], bytes | None]) -> None:
        self.desktop = desktop
        self.download = download
