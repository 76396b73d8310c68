"""A request as a test server got it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Seen"]


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    time: float
