"""The `waa-client` command, which says that the package is not built yet."""

from __future__ import annotations

from bench_core.unbuilt import unbuilt_command
from waa_client.__about__ import __version__

__all__ = ["main"]

main = unbuilt_command(
    "waa-client", __version__, "Run and score agents on Windows Agent Arena from anywhere."
)
