"""Let a server's threads share one heap, so the process keeps less memory."""

from __future__ import annotations

import os
from functools import cache

_MOST_HEAPS = -8
"""Of `mallopt`, in glibc's malloc.h: M_ARENA_MAX."""
_CHOSEN = ("MALLOC_ARENA_MAX", "GLIBC_TUNABLES")


@cache
def share_one_heap() -> None:
    """Have the threads of this process that begin from now on share the first one's heap.

    glibc gives them up to eight heaps for each processor, each of which stays as large as the largest
    request that it ever served. Python's threads wait for each other anyhow. Other allocators, and a
    choice made in the environment, are left alone.
    """
    if any(name in os.environ for name in _CHOSEN):
        return
    import ctypes

    try:
        choose = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc's, or Windows
        return
    choose(_MOST_HEAPS, 1)
