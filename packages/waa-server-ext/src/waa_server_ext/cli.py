"""The `waa-server-ext` command, which says that the package is not built yet."""

from __future__ import annotations

from bench_core.unbuilt import unbuilt_command
from waa_server_ext.__about__ import __version__

__all__ = ["main"]

main = unbuilt_command(
    "waa-server-ext",
    __version__,
    "POST /evaluate for Windows Agent Arena, and a simulated desktop that speaks its API.",
)
