"""Limits on JSON from strangers, checked before it is parsed."""

from __future__ import annotations

import re

_MAX_DEPTH = 64  # Python's parser calls itself once per level
_MAX_VALUES = 1_000_000
"""The most values in a body: `{}` takes three bytes of it and 64 of memory."""
_ESCAPES = (rb"\\", rb"\"")
_STRING = re.compile(rb'"[^"]*"?')
_NOT_STRUCTURE = bytes(set(range(256)) - set(b"[]{},"))


def check_size(body: bytes) -> None:
    """Refuse JSON whose values would take too much memory or stack, before parsing it.

    Raises:
        ValueError: Says which limit is exceeded.
    """
    # each step passes over the body once, whatever it holds: a pattern that handled escapes would search
    # again from each quote of an unterminated string
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
