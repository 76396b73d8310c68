"""The default number of trials at once, from the memory and processors of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

_MIB = 1024 * 1024
_PER_TRIAL = 600 * _MIB
"""Measured: one Chromium holds about 430 MB, browser-use and the recorder most of the rest."""
_SPARE = 1024 * _MIB
_MOST = 8
"""More are of no use for six sites, because trials that change a site need it for themselves."""
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


def default_workers(meminfo: Path = Path("/proc/meminfo"), processors: int | None = None) -> int:
    """Return how many trials free memory and processors allow, at least one.

    Args:
        meminfo: The kernel's file; without it, the processors alone decide.
        processors: By default those of this machine.
    """
    count = processors or os.cpu_count() or 1
    try:
        found = _AVAILABLE.search(meminfo.read_text(encoding="ascii"))
    except OSError:
        found = None
    room = _MOST if found is None else (int(found.group(1)) * 1024 - _SPARE) // _PER_TRIAL
    return max(1, min(_MOST, count, room))
