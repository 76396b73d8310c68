"""Messages through a pipe: eight bytes of length, eight of a number, and the rest."""

from __future__ import annotations

from typing import IO, NamedTuple

__all__ = ["Message", "read_message", "write_message"]

_FIELD = 8


class Message(NamedTuple):
    """The contents of a file with their number, or, with the number 0, what refers to them."""

    number: int
    body: bytes


def write_message(file: IO[bytes], message: Message) -> None:
    """Write a message.

    Raises:
        OSError: The other end is gone.
    """
    file.write(len(message.body).to_bytes(_FIELD, "big") + message.number.to_bytes(_FIELD, "big"))
    file.write(message.body)
    file.flush()


def read_message(file: IO[bytes]) -> Message | None:
    """Return the next message; `None` where the other end is gone."""
    head = file.read(2 * _FIELD)
    if len(head) < 2 * _FIELD:
        return None
    length = int.from_bytes(head[:_FIELD], "big")
    body = file.read(length)
    return Message(int.from_bytes(head[_FIELD:], "big"), body) if len(body) == length else None
