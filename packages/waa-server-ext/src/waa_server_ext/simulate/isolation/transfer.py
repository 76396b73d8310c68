"""A desktop as bytes and back, so that a program can run on it in another process.

What came back is put into the objects that were sent: whoever holds the desktop, its machine or one of
its windows goes on with the same object. Contents of files go over once, however often a desktop does.
Both ends run the same code; what is read here is not more trusted than a program that runs in-process.
"""

from __future__ import annotations

import importlib
import io
import marshal
import pickle
import threading
import types
from typing import TYPE_CHECKING, Any

from waa_server_ext.simulate.code.computer import ComputerUpdate
from waa_server_ext.simulate.isolation.messages import Message
from waa_server_ext.simulate.machine.filesystem import FileEntry

if TYPE_CHECKING:
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["Contents", "TransferError", "decode", "encode", "parts_of"]

_LARGE = 16 * 1024
_WITH_CONTENTS = frozenset({FileEntry, ComputerUpdate})
_DERIVED: dict[str, Any] = {"_trees": lambda: (-1, {}), "_picture": lambda: None}
"""What a desktop computes again when it is asked for."""


class TransferError(Exception):
    """Something on the desktop is known in this process only."""


class Contents:
    """The contents of files that both ends have, by their numbers.

    Args:
        first: The first number that this end gives; the other gives those between.
    """

    def __init__(self, first: int) -> None:
        self._next = first
        self._known: dict[int, bytes] = {}
        self._numbers: dict[int, int] = {}

    def number(self, data: bytes) -> tuple[int, bool]:
        """Return the number of some contents, and whether the other end lacks it."""
        found = self._numbers.get(id(data))
        if found is not None:
            return found, False
        number, self._next = self._next, self._next + 2
        self.keep(number, data)
        return number, True

    def keep(self, number: int, data: bytes) -> None:
        """Hold what the other end has sent."""
        self._known[number] = data
        self._numbers[id(data)] = number

    def __getitem__(self, number: int) -> bytes:
        return self._known[number]

    def drop_all_but(self, used: set[int]) -> None:
        """Forget what no desktop has any more, as the other end does."""
        for number in set(self._known) - used:
            del self._numbers[id(self._known.pop(number))]


def parts_of(desktop: Desktop) -> list[Any]:
    """Return what keeps its identity: the desktop first, what it is made of, and its windows."""
    machine = desktop.machine
    return [
        desktop, desktop.mouse, desktop.keyboard, desktop.keys, desktop.programs, desktop.background,
        desktop.start_menu, desktop.taskbar, machine, machine.clock, machine.files, machine.registry,
        machine.clipboard, *desktop.windows,
    ]  # fmt: skip


def encode(parts: list[Any], more: Any, contents: Contents) -> list[Message]:
    """Return the parts of a desktop and what belongs to it as messages.

    Raises:
        TransferError: It holds what cannot be sent.
    """
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, parts, contents)
    try:
        pickle.dump([type(part) for part in parts], buffer)
        pickler.dump(([_state(part) for part in parts], more))
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError) as error:
        raise TransferError(str(error)) from error
    messages = [Message(number, contents[number]) for number in pickler.fresh]
    contents.drop_all_but(pickler.used)
    return [*messages, Message(0, buffer.getvalue())]


def decode(
    message: Message, contents: Contents, into: list[Any] | None = None
) -> tuple[list[Any], Any] | None:
    """Take a message of `encode`; the last one returns the parts and what belongs to the desktop.

    Args:
        message: One message.
        contents: What this end has of files.
        into: The parts that were sent, which become as they come back; new ones where it is `None`.

    Raises:
        TransferError: It needs what this process does not have.
    """
    if message.number:
        contents.keep(message.number, message.body)
        return None
    if not message.body:
        raise TransferError("the other process could not take it or give it back")
    file = io.BytesIO(message.body)
    try:
        kinds = pickle.load(file)  # noqa: S301  # of our own process
        parts = [kind.__new__(kind) for kind in kinds] if into is None else into
        _loading.parts, _loading.contents, _loading.used = parts, contents, set()
        states, more = pickle.load(file)  # noqa: S301  # same
    except (pickle.UnpicklingError, AttributeError, ImportError, LookupError, TypeError) as error:
        raise TransferError(str(error)) from error
    finally:
        used, _loading.parts, _loading.used = _loading.used, [], set()
    contents.drop_all_but(used)
    # a picture of before must not be taken for one of now
    revision = max(states[0]["revision"], vars(parts[0]).get("revision", 0)) + 1
    for part, state in zip(parts, states, strict=True):
        vars(part).clear()
        vars(part).update(state)
    parts[0].revision = revision
    return parts, more


def _state(part: Any) -> dict[str, Any]:
    state = dict(vars(part))
    return {**state, **{name: made() for name, made in _DERIVED.items() if name in state}}


class _Pickler(pickle.Pickler):
    """Sends parts and large contents by number, and functions with what they enclose."""

    def __init__(self, file: io.BytesIO, parts: list[Any], contents: Contents) -> None:
        super().__init__(file, protocol=5)
        self._numbers = {id(part): number for number, part in enumerate(parts)}
        self._contents = contents
        self.fresh: list[int] = []
        self.used: set[int] = set()

    # persistent_id would be asked for every number and text, which costs more than all else here
    def reducer_override(self, obj: Any) -> Any:
        """Return how an object that is no plain value is made again."""
        part = self._numbers.get(id(obj))
        if part is not None:
            return _part, (part,)
        kind = type(obj)
        if kind in _WITH_CONTENTS:
            return self._with_contents(obj)
        if kind is types.FunctionType and "<" in obj.__qualname__:
            return _function, (
                marshal.dumps(obj.__code__), obj.__module__, obj.__name__, obj.__defaults__,
                obj.__kwdefaults__, obj.__closure__,
            )  # fmt: skip
        if kind is types.CellType:
            return _cell, (), (obj.cell_contents,), None, None, _fill
        return NotImplemented

    def _with_contents(self, obj: Any) -> Any:
        numbers = {
            name: self._number(value)
            for name, value in vars(obj).items()
            if type(value) is bytes and len(value) >= _LARGE
        }
        if not numbers:
            return NotImplemented
        rest = {name: value for name, value in vars(obj).items() if name not in numbers}
        return _refilled, (type(obj), rest, numbers)

    def _number(self, data: bytes) -> int:
        number, new = self._contents.number(data)
        self.used.add(number)
        if new:
            self.fresh.append(number)
        return number


class _Loading(threading.local):
    """What the numbers stand for in the message that this thread reads."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.contents = Contents(first=1)
        self.used: set[int] = set()


_loading = _Loading()


def _part(number: int) -> Any:
    return _loading.parts[number]


def _refilled(kind: Any, rest: dict[str, Any], numbers: dict[str, int]) -> Any:
    made = kind.__new__(kind)
    vars(made).update(rest)
    for name, number in numbers.items():
        vars(made)[name] = _loading.contents[number]
        _loading.used.add(number)
    return made


def _function(
    code: bytes, module: str, name: str, defaults: Any, keyword_defaults: Any, closure: Any
) -> types.FunctionType:
    made = types.FunctionType(
        marshal.loads(code),  # noqa: S302  # of our own process, by the same Python
        vars(importlib.import_module(module)),
        name,
        defaults,
        closure,
    )
    made.__kwdefaults__ = keyword_defaults
    return made


def _cell() -> types.CellType:
    return types.CellType()


def _fill(cell: types.CellType, state: tuple[Any]) -> None:
    cell.cell_contents = state[0]
