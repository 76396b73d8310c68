"""Make a stand-in site misbehave on purpose, for tests of those who must cope with it."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["FAULTS", "FaultKind"]

FaultKind = Literal["error", "stall", "drop", "hang"]
"""`error`: status 500; `stall`: never answer; `drop`: close the connection; `hang`: a page whose
script never ends."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
