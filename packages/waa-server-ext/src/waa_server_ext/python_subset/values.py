"""The values of an interpreted program: their readable attributes and the built-in functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

MAX_SIZE = 4_000_000
"""The most characters of one text."""

MAX_ITEMS = 1_000_000
"""The most items of one list, tuple, set or dictionary."""

_ENCODINGS = frozenset(
    {"utf-8", "utf8", "utf-16", "utf-16-le", "ascii", "latin-1", "cp1252", "utf-8-sig"}
)
_MAX_PLACES = 400
_MAX_NAMES, _MAX_KEPT = 300, 10_000

_MAX_BITS = 200_000  # printing a number takes time quadratic in its digits
_MAX_SUMMED = 1_000
_MAX_FORMAT = 40
CONVERSIONS: dict[str | None, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


class NotSimulatedError(Exception):
    """The program is valid Python but uses something that is not simulated."""

    def __init__(self, what: str) -> None:
        super().__init__(f"not simulated: {what}")


class StopRunning(BaseException):  # not to be caught by programs
    """The program ran too long."""


class Callable_:  # noqa: N801  # Callable is the typing name
    """A function of the simulation that programs may call but not inspect."""

    __slots__ = ("_do", "cheap", "name", "owner")

    def __init__(
        self, name: str, do: Callable[..., Any], *, owner: Any = None, cheap: bool = False
    ) -> None:
        self.name = name
        self.owner = owner  # of the method
        self.cheap = cheap  # the cost does not depend on the size of its values
        self._do = do

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self._do(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<function {self.name}>"


class SimObject:
    """A module or object of the simulation: named values, some computed when read."""

    def __init__(
        self, name: str, values: dict[str, Any] | None = None, *,
        computed: dict[str, Callable[[], Any]] | None = None,
        items: Callable[[], list[Any]] | None = None,
        leave: Callable[[], object] | None = None, shown: str = "",
    ) -> None:  # fmt: skip
        self.name = name
        self._values = {
            key: Callable_(key, value)
            if callable(value) and not isinstance(value, (Callable_, SimObject))
            else value
            for key, value in (values or {}).items()
        }
        self._computed = computed or {}
        self._items = items
        self.leave = leave
        self._shown = shown or f"<module '{name}'>"

    def get(self, name: str) -> Any:
        """Return an attribute."""
        if name in self._computed:
            return self._computed[name]()
        if name in self._values:
            return self._values[name]
        raise AttributeError(f"'{self.name}' has no attribute {name!r}")

    def set(self, name: str, value: Any) -> None:
        """Set an attribute, such as `pyautogui.PAUSE`."""
        if name.startswith("_") or name in self._computed:
            raise AttributeError(f"attribute {name!r} of '{self.name}' is not writable")
        # in WAA's own process, attributes outlive the program
        if name not in self._values and len(self._values) >= _MAX_NAMES:
            raise MemoryError
        if (
            not isinstance(value, (SimObject, Callable_))
            and isinstance(value, (str, bytes, list, tuple, dict, set))
            and len(value) > _MAX_KEPT
        ):
            raise MemoryError
        self._values[name] = value

    def plain(self) -> dict[str, Any]:
        """Return the attributes that are single values: numbers, texts and switches."""
        return {
            name: value
            for name, value in self._values.items()
            if value is None or isinstance(value, (bool, int, float, str, bytes))
        }

    def names(self) -> list[str]:
        """Return the public names."""
        return [name for name in (*self._values, *self._computed) if not name.startswith("_")]

    def iterate(self) -> list[Any]:
        """Return the items of a loop over it."""
        if self._items is None:
            raise TypeError(f"'{self.name}' object is not iterable")
        return self._items()

    def __getitem__(self, index: Any) -> Any:
        return self.iterate()[index]

    def __len__(self) -> int:
        return len(self.iterate())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return self._shown


_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        ["capitalize", "casefold", "count", "encode", "endswith", "find", "index", "isalnum", "isalpha", "isdigit", "islower", "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper", "zfill"]
    ),
    bytes: frozenset(["count", "decode", "endswith", "find", "hex", "index", "join", "replace", "split", "startswith", "strip"]),
    list: frozenset(["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"]),
    dict: frozenset(["clear", "copy", "get", "items", "keys", "pop", "setdefault", "update", "values"]),
    set: frozenset(["add", "clear", "copy", "difference", "discard", "intersection", "isdisjoint", "issubset", "issuperset", "remove", "symmetric_difference", "union", "update"]),
    tuple: frozenset({"count", "index"}),
    int: frozenset({"bit_length", "to_bytes"}),
    float: frozenset({"is_integer"}),
}  # fmt: skip
_CHEAP: dict[type, frozenset[str]] = {
    list: frozenset({"append"}),
    dict: frozenset({"get", "pop", "setdefault"}),
    set: frozenset({"add", "discard", "remove"}),
}
"""Methods that look at one item only, of however many."""
_MAX_PADDING = 10_000


def attribute(value: Any, name: str) -> Any:
    """Return an attribute if a program may read it.

    Raises:
        AttributeError: The value has no such attribute, or programs may not read it.
    """
    if isinstance(value, SimObject):
        return value.get(name)
    for kind, methods in _METHODS.items():
        if type(value) is kind and name in methods:
            cheap = name in _CHEAP.get(kind, ())
            return Callable_(name, _checked(getattr(value, name), name), owner=value, cheap=cheap)
    if type(value) is str and name == "format":
        return Callable_("format", lambda *args, **kwargs: _format(value, args, kwargs))
    if isinstance(value, BaseException) and name == "args":
        return value.args
    raise AttributeError(f"'{type(value).__name__}' object has no attribute {name!r}")


def _checked(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    if name == "zfill":
        return lambda width: method(_small(width))
    if name == "to_bytes":
        return lambda length, *args, **kwargs: method(_small(length), *args, **kwargs)
    if name == "replace":
        return lambda *args: _replaced(method, args)
    if name in {"items", "keys", "values"}:
        return lambda: list(method())
    if name in {"encode", "decode"}:
        return lambda encoding="utf-8", errors="strict": method(_encoding(encoding), errors)
    return method


def _encoding(name: str) -> str:
    # the time of other codecs grows with the square of the text
    if str(name).lower().replace("_", "-") not in _ENCODINGS:
        raise LookupError(f"unknown encoding: {str(name)[:40]}")
    return name


def _small(width: int) -> int:
    if width > _MAX_PADDING:
        raise MemoryError
    return width


def _replaced(method: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    # the longest possible result: the new text at every place between characters
    if len(args) > 1 and isinstance(args[1], (str, bytes)):
        whole = getattr(method, "__self__", "")
        if (len(whole) + 1) * (len(args[1]) + 1) > 4 * MAX_SIZE:
            raise MemoryError
    return method(*args)


def formatted(value: Any, spec: str) -> str:
    """Return a value in a format, refusing absurd widths."""
    digits = "".join(char if char.isdigit() else " " for char in spec).split()
    if len(spec) > _MAX_FORMAT or any(len(number) > 3 for number in digits):  # widths below 1000
        raise ValueError("Invalid format specifier")
    made: str = str(value) if isinstance(value, SimObject) else format(value, spec)
    return made


def _format(template: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    import string  # rarely used

    parts = []
    number = held = 0
    for text, field, spec, conversion in string.Formatter().parse(template):
        parts.append(text)
        if field is None:
            continue
        if any(char in field for char in ".["):
            raise NotSimulatedError("attributes in str.format")
        value = (
            args[number] if field == "" else args[int(field)] if field.isdigit() else kwargs[field]
        )
        number += field == ""
        value = CONVERSIONS[conversion](value) if conversion in CONVERSIONS else value
        parts.append(formatted(value, spec or ""))
        held += len(text) + len(parts[-1])
        if held > MAX_SIZE:
            raise MemoryError
    return "".join(parts)


def bounded(value: Any) -> Any:
    """Return a value after checking its size.

    Raises:
        MemoryError: It is too large.
    """
    if isinstance(value, (str, bytes)) and len(value) > MAX_SIZE:
        raise MemoryError
    if isinstance(value, (list, tuple, dict, set)) and len(value) > MAX_ITEMS:
        raise MemoryError
    if type(value) is int and value.bit_length() > _MAX_BITS:
        raise OverflowError("the number is too large")
    return value


class FailSafeException(Exception):  # noqa: N818  # pyautogui's name
    """The pointer is in a corner of the screen."""

    def __init__(self) -> None:
        super().__init__(
            "PyAutoGUI fail-safe triggered from mouse moving to a corner of the screen. To disable "
            "this fail-safe, set pyautogui.FAILSAFE to False. DISABLING FAIL-SAFE IS NOT RECOMMENDED."
        )


# Names of exceptions that end a Python thread. Raised as themselves, they would end the simulating process.
_ENDING = ("BaseException", "GeneratorExit", "KeyboardInterrupt")
_EXCEPTIONS: dict[str, type[Exception | SystemExit]] = {
    each.__name__: each
    for each in (
        Exception, ValueError, TypeError, KeyError, IndexError, AttributeError, NameError, OSError, RuntimeError,
        FileNotFoundError, FileExistsError, PermissionError, ZeroDivisionError, ImportError, ModuleNotFoundError,
        NotImplementedError, AssertionError, StopIteration, ArithmeticError, LookupError, TimeoutError,
        RecursionError, UnicodeError, SystemExit,
    )
} | {name: type(name, (SystemExit,), {}) for name in _ENDING} | {"IOError": OSError, "WindowsError": OSError, "FailSafeException": FailSafeException}  # fmt: skip


def exception_type(name: str) -> type[Exception | SystemExit] | None:
    """Return an exception class by name, or `None`."""
    return _EXCEPTIONS.get(name)


def is_callable(value: Any) -> bool:
    """Return whether a program may call it; only wrapped functions qualify."""
    return isinstance(value, Callable_)


def _range(*args: int) -> range:
    made = range(*args)
    if len(made) > MAX_SIZE:
        raise MemoryError
    return made


def _list(value: Any = ()) -> list[Any]:
    return list(_items(value))


def _items(value: Any) -> Iterator[Any]:
    items = value.iterate() if isinstance(value, SimObject) else value
    if isinstance(items, (str, bytes, range)) and len(items) > MAX_ITEMS:
        raise MemoryError
    return iter(items)


def _sum(value: Any, start: Any = 0) -> Any:
    items = value if isinstance(value, range) else _list(value)
    numbers = isinstance(start, (int, float)) and (
        isinstance(items, range) or all(isinstance(each, (int, float)) for each in items)
    )
    if not numbers and len(items) > _MAX_SUMMED:
        raise MemoryError  # adding lists copies the sum so far each time
    return bounded(sum(items, start))


def _round(value: Any, places: Any = None) -> Any:
    if places is None:
        return round(value)
    if isinstance(places, int) and abs(places) > _MAX_PLACES:
        raise OverflowError("the number of places is too large")
    return round(value, places)


def _isinstance(value: Any, kinds: Any) -> bool:
    names = [
        each.name
        for each in (kinds if isinstance(kinds, tuple) else (kinds,))
        if isinstance(each, Callable_)
    ]
    return any(type(value).__name__ == name or (name == "object") for name in names)


def _sorted(value: Any, *, key: Any = None, reverse: bool = False) -> list[Any]:
    return sorted(_items(value), key=key, reverse=reverse)


def _hasattr(value: Any, name: str) -> bool:
    try:
        attribute(value, name)
    except AttributeError:
        return False
    return True


def _type(value: Any) -> Any:
    name = type(value).__name__
    shown = f"<class '{value.name if isinstance(value, SimObject) else name}'>"
    return SimObject("type", {"__name__": name}, shown=shown)


def _int(value: Any = 0, base: Any = None) -> int:
    if isinstance(value, (str, bytes)) and len(value) > 4000:  # CPython's limit
        raise ValueError("Exceeds the limit for integer string conversion")
    return int(value) if base is None else int(value, base)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
        "len": len, "str": lambda value="": str(value), "int": _int, "float": float, "bool": bool, "repr": repr,
        "list": _list, "tuple": lambda value=(): tuple(_items(value)), "set": lambda value=(): set(_items(value)),
        "dict": dict, "range": _range, "enumerate": lambda value, start=0: list(enumerate(_items(value), start)),
        "zip": lambda *values: list(zip(*map(_list, values), strict=False)),
        "map": lambda do, *values: [do(*each) for each in zip(*map(_list, values), strict=False)],
        "filter": lambda do, value: [each for each in _items(value) if (do(each) if do else each)],
        "sorted": _sorted, "reversed": lambda value: list(reversed(_list(value))),
        "min": min, "max": max, "sum": _sum, "abs": abs, "round": _round, "any": any, "all": all,
        "ord": ord, "chr": chr, "hex": hex, "bin": bin, "divmod": divmod,
        "bytes": lambda *args: bytes(*args) if not (args and isinstance(args[0], int) and args[0] > MAX_SIZE) else b"",
        "isinstance": _isinstance, "hasattr": _hasattr, "type": _type,
        **_EXCEPTIONS,
}  # fmt: skip
_CONSTANT = frozenset({"len", "isinstance", "type", "hasattr", "ord", "chr", "bool", "range"})
BUILTINS: dict[str, Any] = {
    name: Callable_(name, do, cheap=name in _CONSTANT) for name, do in _FUNCTIONS.items()
}
BUILTINS["object"] = Callable_("object", lambda: SimObject("object", shown="<object>"))
BUILTINS["True"], BUILTINS["False"], BUILTINS["None"] = True, False, None
BUILTINS["__name__"] = "__main__"
