"""Make a built-in app misbehave on purpose, for tests of those who must cope with it."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["FAULTS", "FaultKind"]

FaultKind = Literal["drop", "status", "slow", "stall", "invalid_json", "no_pre"]
"""`drop`: close the connection; `status`: answer with the status `value`; `slow`: answer after
`value` seconds; `stall`: never answer; `invalid_json`, `no_pre`: what `/finish` shows is broken."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
