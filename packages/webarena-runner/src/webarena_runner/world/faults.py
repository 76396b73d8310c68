"""Make a stand-in site misbehave on purpose, for tests of those who must cope with it."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["FAULTS", "FaultKind"]

FaultKind = Literal["error", "busy", "stall", "drop", "garbage", "cut", "empty", "hang"]
"""`error`: status 500; `busy`: status 429; `stall`: never answer; `drop`: close the connection;
`garbage`: answer with what is no HTTP; `cut`: end in the middle of the page; `empty`: a page of no
bytes; `hang`: a page whose script never ends."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
