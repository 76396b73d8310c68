"""The `llm-judge` command, which says that the package is not built yet."""

from __future__ import annotations

from bench_core.unbuilt import unbuilt_command
from llm_judge.__about__ import __version__

__all__ = ["main"]

main = unbuilt_command(
    "llm-judge", __version__, "A judge of end states that must show its evidence."
)
