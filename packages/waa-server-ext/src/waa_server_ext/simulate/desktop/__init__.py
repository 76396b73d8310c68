"""The desktop: its windows and their order, input, programs, the accessibility tree and recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.simulate.desktop.accessibility import accessibility_xml
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = [
    "Desktop",
    "accessibility_xml",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "accessibility": ("accessibility_xml",),
        "composition": ("Desktop",),
    },
)
