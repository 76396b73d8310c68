"""What the routes of the simulated VM act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waa_server_ext.simulate.desktop.composition import Desktop
    from waa_server_ext.simulate.scene import Overrides

__all__ = ["ApiState"]


class ApiState:
    """The desktop that is shown now and the answers given in its place; a reset changes both."""

    def __init__(self, desktop: Desktop, overrides: Overrides) -> None:
        self.desktop = desktop
        self.overrides = overrides
