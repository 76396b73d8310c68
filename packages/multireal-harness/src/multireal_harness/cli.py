"""The `multireal-harness` command, which says that the package is not built yet."""

from __future__ import annotations

from bench_core.unbuilt import unbuilt_command
from multireal_harness.__about__ import __version__

__all__ = ["main"]

main = unbuilt_command(
    "multireal-harness",
    __version__,
    "Multi-app web exams in a real browser: queries first, judge second.",
)
