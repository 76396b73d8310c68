"""WebSocket frames as they are sent (RFC 6455, section 5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio

__all__ = ["Frame", "FrameError", "encode_frame", "read_frame"]

_FINAL, _RESERVED, _OPCODE = 0x80, 0x70, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_CLOSE = 8
_TEXT = 1
_SHORT, _LONG = 126, 1 << 16
_WIDTHS = {126: 2, 127: 8}
_KEY = 4


class FrameError(Exception):
    """A frame that cannot be passed on: too large, or of an extension that was not agreed on."""


class Frame(NamedTuple):
    """One frame: its bytes as they came, and what they say.

    Attributes:
        final: Whether a message ends with it.
        payload: Without the mask.
    """

    raw: bytes
    final: bool
    opcode: int
    payload: bytes

    @property
    def control(self) -> bool:
        """Whether it is no part of a message but a ping, a pong or a close."""
        return self.opcode >= _CLOSE

    @property
    def closes(self) -> bool:
        """Whether it is the last frame of its connection."""
        return self.opcode == _CLOSE


async def read_frame(reader: asyncio.StreamReader, largest: int) -> Frame:
    """Read the next frame.

    Raises:
        FrameError: Its payload has more than `largest` bytes, or it uses an extension.
        EOFError: The other side is gone.
    """
    head = await reader.readexactly(2)
    if head[0] & _RESERVED:
        raise FrameError("a frame uses an extension that was not agreed on")
    length = head[1] & _LENGTH
    width = _WIDTHS.get(length, 0)
    key_width = _KEY if head[1] & _MASKED else 0
    more = await reader.readexactly(width + key_width) if width + key_width else b""
    if width:
        length = int.from_bytes(more[:width], "big")
    if length > largest:
        raise FrameError(f"a frame of {length} bytes is more than {largest}")
    body = await reader.readexactly(length) if length else b""
    payload = _unmasked(body, more[width:]) if key_width else body
    return Frame(head + more + body, bool(head[0] & _FINAL), head[0] & _OPCODE, payload)


def encode_frame(payload: bytes, *, masked: bool, opcode: int = _TEXT) -> bytes:
    """Return one whole message as a frame; what is sent to a server is `masked`."""
    length, mark = len(payload), _MASKED if masked else 0
    if length < _SHORT:
        size = bytes([mark | length])
    elif length < _LONG:
        size = bytes([mark | _SHORT]) + length.to_bytes(2, "big")
    else:
        size = bytes([mark | 127]) + length.to_bytes(8, "big")
    key = os.urandom(_KEY) if masked else b""
    return bytes([_FINAL | opcode]) + size + key + (_unmasked(payload, key) if masked else payload)


def _unmasked(body: bytes, key: bytes) -> bytes:
    """Undo the mask, all bytes at once: as numbers they are combined by the interpreter's own loop."""
    repeated = (key * (len(body) // _KEY + 1))[: len(body)]
    number = int.from_bytes(body, "little") ^ int.from_bytes(repeated, "little")
    return number.to_bytes(len(body), "little")
