"""Limits for programs of the simulated desktop: steps, work, memory and processor time.

Work is counted before it is done, so that one operation on a large or often shared value ends the
program and not the server. Programs that start programs share one budget.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any

from waa_server_ext.python_subset.values import MAX_ITEMS, MAX_SIZE, Callable_, StopRunning

_MAX_STEPS = 300_000
_MAX_WORK = 4_000_000
"""Elements visited; Python compares or prints some twenty million of them a second."""
_MAX_AT_ONCE = 1_500_000
_MAX_MADE = 160 * 2**20
"""Bytes of all values ever made, including those freed since: live values cannot exceed it."""
_MAX_DEPTH = 100  # Python hashes nested tuples without looking at the depth of its stack
_MAX_KEY = 10_000
_CPU_S = 3.0  # catches costs that the counts miss
_STEPS_BETWEEN = 256  # reading the clock at every step would slow programs down
_SMALL = 64
_DIGIT_BITS, _DIGITS_PER_UNIT = 30, 100
_CHARACTERS_PER_UNIT = 8
_ITEM_BYTES = 64
_CALLING = frozenset({"map", "filter", "sorted", "min", "max", "sort"})

_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


class Budget:
    """The counts of one request; used in the thread that made it."""

    def __init__(self) -> None:
        self._steps = 0
        self._work = 0
        self._made = 0
        self._end = time.thread_time() + _CPU_S

    @staticmethod
    @contextlib.contextmanager
    def shared() -> Iterator[Budget]:
        """Give the budget of the surrounding run, or a new one."""
        budget = _current.get() or Budget()
        token = _current.set(budget)
        try:
            yield budget
        finally:
            _current.reset(token)

    @staticmethod
    def look() -> None:
        """Raise StopRunning if the current run is out of time; do nothing without a budget."""
        budget = _current.get()
        if budget is not None:
            budget.check()

    @staticmethod
    def current() -> Budget:
        """Return the budget of the current run, or a new one outside of any."""
        return _current.get() or Budget()

    def check(self) -> None:
        """Raise StopRunning if too much processor time has been used."""
        if time.thread_time() > self._end:
            raise StopRunning("the program took too long")

    def step(self) -> None:
        """Count one statement or expression."""
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise StopRunning(f"the program took more than {_MAX_STEPS} steps")
        if self._steps % _STEPS_BETWEEN == 0:
            self.check()

    def spend(self, units: int) -> None:
        """Count work that is about to be done."""
        self._work += units
        if self._work > _MAX_WORK:
            raise StopRunning("the program took too long")

    def make(self, size: int) -> None:
        """Count bytes that were, or are about to be, made."""
        self._made += size
        if self._made > _MAX_MADE:
            raise StopRunning("the program took too much memory")

    def weigh(self, *values: Any, limit: int = _MAX_AT_ONCE) -> None:
        """Count the cost of visiting every part of `values`; shared parts count each time they are met.

        Raises:
            MemoryError: It is too much for one operation.
            RecursionError: They nest too deeply.
        """
        total, depth = 0, 0
        level: list[Any] = [each for each in values if not _is_small(each)]
        try:
            while level:
                depth += 1
                if depth > _MAX_DEPTH:
                    raise RecursionError("maximum recursion depth exceeded")
                inner: list[Any] = []
                for each in level:
                    units, parts = _parts(each)
                    total += units
                    if total > limit:
                        raise MemoryError
                    inner.extend(parts)
                level = inner
        finally:
            self.spend(total)

    def key(self, value: Any) -> Any:
        """Return `value`, which is about to be hashed."""
        if not _is_small(value):
            self.weigh(value, limit=max(_MAX_KEY, len(value) if isinstance(value, str) else 0))
        return value

    def made(self, value: Any) -> Any:
        """Count a value that an operation made, and return it.

        Raises:
            MemoryError: It has too many characters or items.
        """
        if _is_small(value):
            return value
        kind = type(value)
        if kind in {list, tuple, dict, set}:
            if len(value) > MAX_ITEMS:
                raise MemoryError
            self.make(sys.getsizeof(value) + _ITEM_BYTES * len(value))
        elif kind in {str, bytes}:
            if len(value) > MAX_SIZE:
                raise MemoryError
            self.make(sys.getsizeof(value))
        elif kind is int:
            self.make(sys.getsizeof(value))
        return value

    def joined(self, parts: Iterable[str]) -> str:
        """Return the parts as one text, bounded by the largest allowed size."""
        held, kept = 0, []
        for part in parts:
            held += len(part)
            if held > MAX_SIZE:
                raise MemoryError
            kept.append(part)
        made: str = self.made("".join(kept))
        return made

    def call(self, function: Callable_, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a function of the simulation, counting its arguments and its result."""
        if function.cheap:
            for each in args:
                self.key(each)
            return function(*args, **kwargs)
        owner = function.owner
        self.weigh(owner, *args, *kwargs.values())
        if isinstance(owner, (str, bytes)):
            # Refuse calls whose result would be far larger than their input
            if function.name in {"split", "rsplit", "splitlines"} and len(owner) > MAX_ITEMS:
                raise MemoryError
            number = _length(args[0]) if function.name == "join" and args else None
            if number is not None:
                # the parts of a text are its letters
                parts = [args[0]] if isinstance(args[0], (str, bytes)) else args[0]
                whole = sum(len(each) for each in parts if isinstance(each, (str, bytes)))
                if whole + len(owner) * number > MAX_SIZE:
                    raise MemoryError
        if isinstance(owner, (list, set, dict)) and args and _length(args[0]) is not None:
            self.make(_ITEM_BYTES * (_length(args[0]) or 0))
            if len(owner) + (_length(args[0]) or 0) > MAX_ITEMS:
                raise MemoryError
        result = function(*args, **kwargs)
        self.check()
        return self.made(result)

    @staticmethod
    def calls_back(function: Callable_) -> bool:
        """Return whether a function calls its arguments, so that each of these calls must be counted."""
        return function.name in _CALLING


def _is_small(value: Any) -> bool:
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value) < _SMALL
    if kind is int:
        return bool(-(2**_SMALL) < value < 2**_SMALL)
    return kind in {float, bool, type(None)}


def _parts(value: Any) -> tuple[int, Iterable[Any]]:
    """Return the work of visiting a value itself, and the contained values that are counted separately."""
    kind = type(value)
    units = 0
    inside: Iterable[Any] = ()
    if kind is str or kind is bytes:
        units = len(value) // _CHARACTERS_PER_UNIT
    elif kind is int:
        units = (value.bit_length() // _DIGIT_BITS) ** 2 // _DIGITS_PER_UNIT
    elif kind in {list, tuple, set, range}:
        units, inside = len(value), () if kind is range else _large(value)
    elif kind is dict:
        units, inside = 2 * len(value), _large(each for pair in value.items() for each in pair)
    elif isinstance(value, BaseException):
        inside = value.args
    return units + 1, inside


def _large(values: Iterable[Any]) -> Iterator[Any]:
    return (each for each in values if not _is_small(each))


def _length(value: Any) -> int | None:
    return len(value) if type(value) in {str, bytes, list, tuple, set, dict, range} else None
