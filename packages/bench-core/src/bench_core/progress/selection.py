"""Selects the display of progress that fits the output."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import TextIO

from bench_core.progress.interface import Progress
from bench_core.progress.json_lines import JsonProgress
from bench_core.progress.plain import PlainProgress


def make_progress(
    stream: TextIO, *, as_json: bool = False, redact: Callable[[str], str] = str
) -> Progress:
    """Return bars on a terminal, plain lines elsewhere, JSON lines if asked for.

    Bars need rich (`bench-core[progress]`) and a terminal that moves its cursor.
    """
    if as_json:
        return JsonProgress(stream, redact=redact)
    if stream.isatty() and os.environ.get("TERM") != "dumb" and importlib.util.find_spec("rich"):
        from bench_core.progress.live import LiveProgress  # rich is optional

        return LiveProgress(stream, redact=redact)
    return PlainProgress(stream, redact=redact)
