"""The user's folder for files that can be made again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """Return `$PROCTOR_CACHE_DIR` or the user's folder for caches; it may not be there yet."""
    given = os.environ.get("PROCTOR_CACHE_DIR")
    if given:
        return Path(given).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "proctor"
