"""What tests ask of a desktop in its process, which imports this module for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["divided", "end", "exists", "parent", "pid"]


def pid(_desktop: Desktop) -> int:
    return os.getpid()


def parent(_desktop: Desktop) -> int:
    return os.getppid()


def exists(desktop: Desktop, path: str) -> bool:
    return desktop.machine.files.exists(path)


def divided(_desktop: Desktop) -> float:
    return 1 / 0


def end(_desktop: Desktop) -> None:
    os._exit(1)
