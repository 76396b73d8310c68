"""What JSON of strangers may hold, found out before any of it is made."""

from __future__ import annotations

import re

_MAX_DEPTH = 64
_MAX_VALUES = 1_000_000
"""Values that a body may hold: `{}` takes three bytes of it and 64 of memory."""
_ESCAPES = (rb"\\", rb"\"")
_STRING = re.compile(rb'"[^"]*"?')
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


def check_size(body: bytes) -> None:
    """Refuse what would take too much memory or stack as values, before they are made.

    Raises:
        ValueError: Says what is too much.
    """
    # each step passes over the body once, whatever it holds: a pattern that knows escapes searches
    # again from each quote where a string has no end
    for escape in _ESCAPES:
        body = body.replace(escape, b"")
    structure = _STRING.sub(b"", body).translate(None, _NOT_STRUCTURE)
    if structure.count(b",") + structure.count(b"[") + structure.count(b"{") > _MAX_VALUES:
        raise ValueError(f"it holds more than {_MAX_VALUES:,} values")
    depth = 0
    for byte in structure.translate(None, b","):
        depth += 1 if byte in b"[{" else -1
        if depth > _MAX_DEPTH:
            raise ValueError(f"it nests deeper than {_MAX_DEPTH}")
