"""Faults of the stand-in sites, switched on for tests of code that must handle them."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["FAULTS", "FaultKind"]

FaultKind = Literal["error", "busy", "stall", "drop", "garbage", "cut", "empty", "hang"]
"""`error`: status 500; `busy`: status 429; `stall`: never answer; `drop`: close the connection;
`garbage`: answer with bytes that are not HTTP; `cut`: end in the middle of the page; `empty`: a page
without content; `hang`: a page whose script never ends."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
