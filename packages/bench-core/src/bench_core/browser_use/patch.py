"""Replace one attribute of a foreign class or module while it is needed, then put it back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

_MISSING = object()


class SharedPatch:
    """A reversible replacement that several users hold at once; the last one out restores it.

    Args:
        owner: Returns the class or module to change, imported only when the patch is first held.
        name: The attribute.
        replace: Makes the replacement from the original.
    """

    def __init__(self, owner: Callable[[], Any], name: str, replace: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._replace = replace
        self._holders = 0
        self._original: Any = _MISSING
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """Whether the replacement is in place."""
        return self._holders > 0

    def __enter__(self) -> None:
        """Put the replacement in place, or share it."""
        with self._lock:
            if not self._holders:
                self._original = getattr(self._owner(), self._name)
                setattr(self._owner(), self._name, self._replace(self._original))
            self._holders += 1

    def __exit__(self, *_: object) -> None:
        """Give the replacement up; the last holder restores the original."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                setattr(self._owner(), self._name, self._original)
                self._original = _MISSING
