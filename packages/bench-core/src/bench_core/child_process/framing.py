"""Lines of JSON over a pipe, one object each, of a length that is checked before they are read."""

from __future__ import annotations

import json
from typing import IO, Any

from bench_core.records.codec import decode_json

MAX_LINE = 8 << 20
"""The longest line in bytes, its end included."""


class FrameError(ValueError):
    """The other end does not keep to the protocol."""


def encode_line(kind: str, /, **fields: Any) -> bytes:
    """Return a message as a line.

    Raises:
        FrameError: It is too long, or not JSON.
    """
    try:
        # ASCII: half a surrogate pair, as pages hold them, survives as an escape
        line = json.dumps({"type": kind, **fields}).encode("ascii") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(f"a message {kind!r} is not JSON: {error}") from error
    if len(line) > MAX_LINE:
        raise FrameError(f"a message {kind!r} has {len(line):,} bytes, {MAX_LINE:,} at most")
    return line


def decode_line(line: bytes) -> dict[str, Any]:
    """Return the message in a line; its `type` is a text.

    Raises:
        FrameError: It is torn, too long, or not a message.

    >>> decode_line(encode_line("cancel"))
    {'type': 'cancel'}
    """
    if len(line) > MAX_LINE:
        raise FrameError(f"a message is longer than {MAX_LINE:,} bytes")
    if not line.endswith(b"\n"):
        raise FrameError("a message ends in its middle")
    try:
        frame = decode_json(line)
    except ValueError:
        raise FrameError(f"not a message: {line[:60]!r}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise FrameError(f"not a message: {line[:60]!r}")
    return frame


def read_frame_from(stream: IO[bytes]) -> dict[str, Any] | None:
    """Return the next message of a blocking stream, None at its end.

    Raises:
        FrameError: The data is not a message.
    """
    try:
        line = stream.readline(MAX_LINE + 1)
    except ConnectionError:
        return None
    return decode_line(line) if line else None
