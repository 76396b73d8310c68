"""How many trials at once this machine has room for."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["default_workers"]

_MIB = 1024 * 1024
_PER_TRIAL = 600 * _MIB
"""Measured: one Chromium holds about 430 MB, browser-use and the recorder most of the rest."""
_SPARE = 1024 * _MIB
_MOST = 8
"""More than six sites cannot keep busy: trials that change a site hold it alone."""
_AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)


def default_workers(meminfo: Path = Path("/proc/meminfo"), processors: int | None = None) -> int:
    """Return how many trials fit into the free memory and on the processors, at least one.

    Args:
        meminfo: The kernel's figures; where there are none, the processors alone decide.
        processors: By default those of this machine.
    """
    count = processors or os.cpu_count() or 1
    try:
        found = _AVAILABLE.search(meminfo.read_text(encoding="ascii"))
    except OSError:
        found = None
    room = _MOST if found is None else (int(found.group(1)) * 1024 - _SPARE) // _PER_TRIAL
    return max(1, min(_MOST, count, room))
