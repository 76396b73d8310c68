"""Show people and programs the progress of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.progress.interface import NoProgress, Progress, RunStart
    from bench_core.progress.json_lines import JsonProgress
    from bench_core.progress.live import LiveProgress
    from bench_core.progress.plain import PlainProgress
    from bench_core.progress.selection import make_progress

__all__ = [
    "JsonProgress",
    "LiveProgress",
    "NoProgress",
    "PlainProgress",
    "Progress",
    "RunStart",
    "make_progress",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "interface": ("NoProgress", "Progress", "RunStart"),
        "json_lines": ("JsonProgress",),
        "live": ("LiveProgress",),
        "plain": ("PlainProgress",),
        "selection": ("make_progress",),
    },
)
