"""Telling people and machines how a run goes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.progress.choice import make_progress
    from bench_core.progress.interface import NoProgress, Progress, RunStart
    from bench_core.progress.json_lines import JsonProgress
    from bench_core.progress.live import LiveProgress
    from bench_core.progress.plain import PlainProgress

__all__ = [
    "JsonProgress",
    "LiveProgress",
    "NoProgress",
    "PlainProgress",
    "Progress",
    "RunStart",
    "make_progress",
]

_HOME_OF = {
    "JsonProgress": "json_lines",
    "LiveProgress": "live",
    "NoProgress": "interface",
    "PlainProgress": "plain",
    "Progress": "interface",
    "RunStart": "interface",
    "make_progress": "choice",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
