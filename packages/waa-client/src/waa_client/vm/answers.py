"""Records of the answers of the VM's API."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from bench_core.records import Record, World

_MOST_PIXELS = 64 * 2**20  # twice an 8K screen
_UNPACKED_AT_ONCE = 2**20  # bounds memory: pixels may unpack to far more than the file
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# bytes of a chunk: its body's length, that and its type, and the checksum behind its body
_LENGTH, _HEAD, _TAIL = 4, 8, 4
_HEADER_BYTES = 13  # width, height and five bytes of format


class ServerInfo(Record):
    """A server's report of itself.

    Attributes:
        world: `built-in` if it reports that it is a simulation; WAA's own server reports nothing.
    """

    message: str = ""
    world: World = "real"


class VmPicture(Record):
    """A complete PNG, and its width and height in pixels."""

    data: bytes
    size: tuple[int, int]


class CommandOutcome(Record):
    """The output of a command and its return code.

    Attributes:
        started: False if it was not found, took longer than the server's 120 s, or printed bytes
            that the server cannot decode; `error` has the server's message.
        returncode: None when it was not started.
    """

    started: bool = True
    output: str = ""
    error: str = ""
    returncode: int | None = None

    @property
    def ok(self) -> bool:
        """Whether it ran and ended with 0."""
        return self.returncode == 0


class ActionOutcome(Record):
    """Whether a code block ran to its end; `error` is the exception's text or the block's output."""

    ok: bool = True
    error: str | None = None


class SetupOutcome(Record):
    """Whether a setup route succeeded, and its message."""

    ok: bool
    status: int
    message: str = ""


class WindowView(Record):
    """The foreground window and the titles of all windows.

    Attributes:
        rect: Left, top, right, bottom in screen pixels; for the bare desktop the server gives
            left, top, width, height, which is the same while the main monitor starts at 0, 0.
        windows: Titles of all windows.
        clipboard: The text that code blocks copied last.
        human_input: The server's text on questions that code blocks put to a person.
        image: The window as PNG.
    """

    title: str
    rect: tuple[int, int, int, int]
    windows: tuple[str, ...] = ()
    clipboard: str | None = None
    human_input: str | None = None
    image: bytes = b""


class DirectoryEntry(Record):
    """A file or folder; `error` says why a folder could not be read."""

    name: str = ""
    folder: bool = False
    children: tuple[DirectoryEntry, ...] = ()
    error: str | None = None


def png_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG that is complete and whose pixels can be unpacked.

    Raises:
        ValueError: It is not a PNG, or it is incomplete or damaged.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError(f"no PNG: it starts with {data[:8]!r}")
    size, packed = (0, 0), bytearray()
    for kind, body in _chunks(data):
        if kind == b"IHDR" and len(body) == _HEADER_BYTES:
            size = (int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big"))
            if size[0] * size[1] > _MOST_PIXELS:
                raise ValueError(f"a PNG of {size[0]} x {size[1]} pixels is no screen")
        if kind == b"IDAT":
            packed += body
        if kind == b"IEND":
            if not all(size):
                raise ValueError("a PNG without a size")
            _unpack(packed)
            return size
    raise ValueError(f"a PNG that ends after {len(data)} bytes, before its last chunk")


def _unpack(packed: bytes | bytearray) -> None:
    """Raise ValueError unless all pixels are there; an incomplete picture is a fault of the VM."""
    pixels, left = zlib.decompressobj(), bytes(packed)
    try:
        while left and not pixels.eof:
            pixels.decompress(left, _UNPACKED_AT_ONCE)
            left = pixels.unconsumed_tail
    except zlib.error as error:
        raise ValueError(f"a PNG whose pixels cannot be unpacked: {error}") from error
    if not pixels.eof:
        raise ValueError("a PNG whose pixels end too early")


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and body of each chunk, its checksum checked."""
    at = len(_SIGNATURE)
    while at + _HEAD + _TAIL <= len(data):
        length = int.from_bytes(data[at : at + _LENGTH], "big")
        end = at + _HEAD + length
        if end + _TAIL > len(data):
            return
        body = data[at + _HEAD : end]
        if zlib.crc32(data[at + _LENGTH : end]) != int.from_bytes(data[end : end + _TAIL], "big"):
            raise ValueError(f"a PNG with a damaged chunk at byte {at}")
        yield data[at + _LENGTH : at + _HEAD], body
        at = end + _TAIL
