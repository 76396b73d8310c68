"""The parts of sealing, and those that this machine cannot provide."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType

from bench_core.sealing.machine import how_to_seal
from bench_core.sealing.namespaces import USERS, keeps_signals_inside

SEALED_PARTS: Mapping[str, str] = MappingProxyType(
    {
        "answers": "run folders, answers and tokens are hidden from agents and browsers",
        "programs": "agents read programs and settings of this machine, and cannot write to them",
        "neighbours": "trials do not see each other's files",
        "signals": "trials cannot signal or trace each other",
        "user": "agents have no rights of root",
        "network": "agents have a network of their own",
    }
)
"""The parts of sealing, by their names in results."""


def unsealed_parts() -> dict[str, str]:
    """Return the parts that are not sealed on this machine, each with the reason."""
    found = how_to_seal()
    if found.way is None:
        return dict.fromkeys(SEALED_PARTS, found.reason or "unknown")
    parts = {"network": "agents share the network of this machine with all its programs"}
    if found.way != USERS:
        parts["neighbours"] = "that needs a user namespace"
    if not keeps_signals_inside():
        parts["signals"] = "that needs Linux 6.12"
    if getattr(os, "geteuid", lambda: 1)() == 0:
        parts["user"] = "they run as root, like the run: start it as another user"
    return {name: parts[name] for name in SEALED_PARTS if name in parts}
