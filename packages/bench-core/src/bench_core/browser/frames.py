"""WebSocket frames as they are sent (RFC 6455, section 5)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio

_FINAL, _RESERVED, _OPCODE = 0x80, 0x70, 0x0F
_MASKED, _LENGTH = 0x80, 0x7F
_CLOSE = 8
_TEXT = 1
_SHORT, _LONG = 126, 1 << 16
_WIDTHS = {126: 2, 127: 8}
_KEY = 4
_HEAD = 2
_CHUNK = 1024 * 1024


class FrameError(Exception):
    """A frame that cannot be passed on: too large, or of an extension that was not agreed on."""


class Frame(NamedTuple):
    """One frame: its bytes as received, and their meaning.

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
        """Whether it is a ping, a pong or a close rather than part of a message."""
        return self.opcode >= _CLOSE

    @property
    def closes(self) -> bool:
        """Whether it is the last frame of its connection."""
        return self.opcode == _CLOSE


class FrameBuffer:
    """Bytes that have arrived on a connection, and the frames in them."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, data: bytes) -> None:
        """Append bytes that have arrived."""
        self._bytes += data

    def take(self, largest: int) -> Frame | None:
        """Return the frame at the beginning, None if it has not arrived completely.

        Raises:
            FrameError: Its payload has more than `largest` bytes, or it uses an extension.
        """
        known = self._bytes
        if len(known) < _HEAD:
            return None
        if known[0] & _RESERVED:
            raise FrameError("a frame uses an extension that was not agreed on")
        length = known[1] & _LENGTH
        width = _WIDTHS.get(length, 0)
        begins = _HEAD + width + (_KEY if known[1] & _MASKED else 0)
        if len(known) < begins:
            return None
        if width:
            length = int.from_bytes(known[_HEAD : _HEAD + width], "big")
        if length > largest:
            raise FrameError(f"a frame of {length} bytes is more than {largest}")
        ends = begins + length
        if len(known) < ends:
            return None
        raw = bytes(known[:ends])
        del known[:ends]
        payload = raw[begins:]
        if raw[1] & _MASKED:
            payload = _unmasked(payload, raw[begins - _KEY : begins])
        return Frame(raw, bool(raw[0] & _FINAL), raw[0] & _OPCODE, payload)


class FrameReader:
    """Takes frames from a connection, one wait for all that came at once: waits cost more than frames."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._arrived = FrameBuffer()

    async def read(self, largest: int) -> Frame:
        """Read the next frame.

        Raises:
            FrameError: Its payload has more than `largest` bytes, or it uses an extension.
            EOFError: The other side is gone.
        """
        while (frame := self._arrived.take(largest)) is None:
            more = await self._reader.read(_CHUNK)
            if not more:
                raise EOFError("the other side is gone")
            self._arrived.add(more)
        return frame


def encode_frame(payload: bytes, *, masked: bool, opcode: int = _TEXT) -> bytes:
    """Return one whole message as a frame; frames to a server are `masked`."""
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
