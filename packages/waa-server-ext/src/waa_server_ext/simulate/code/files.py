"""`open` of interpreted programs: text and bytes of the simulated file system."""

from __future__ import annotations

from typing import Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import MAX_ITEMS, SimObject
from waa_server_ext.simulate.desktop.composition import Desktop

_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "ascii", "latin-1", "cp1252", "utf-8-sig"})
_MAX_OPENED = 16 * 2**20  # a file object holds the whole content in memory
_ANSI = "cp1252"
"""The encoding with which Python on an English Windows opens text files by default."""


def open_file(
    desktop: Desktop,
    file: Any,
    mode: str = "r",
    encoding: str | None = None,
    newline: str | None = None,
    errors: str = "strict",
) -> SimObject:
    """Open a simulated file; every write reaches the file system at once."""
    files, path, binary = desktop.machine.files, str(file), "b" in mode
    encoding = _ANSI if encoding is None else encoding if encoding in _ENCODINGS else "utf-8"
    if "x" in mode and files.exists(path):
        raise FileExistsError(17, "File exists", path)
    if "w" in mode or "x" in mode or ("a" in mode and not files.exists(path)):
        files.write(path, b"")
    budget = Budget.current()
    content = _content(desktop, path, budget)
    text: Any = content if binary else content.decode(encoding, errors)
    if not binary and newline is None:
        text = text.replace("\r\n", "\n")
    place = [0]

    def read(size: int = -1) -> Any:
        start = place[0]
        place[0] = len(text) if size < 0 else min(start + size, len(text))
        return text[start : place[0]]

    def readlines() -> list[Any]:
        rest = read()
        budget.spend(len(rest) // 8)
        if rest.count(b"\n" if binary else "\n") > MAX_ITEMS:
            raise MemoryError
        return list(rest.splitlines(True))  # Python's own line boundaries

    def readline() -> Any:
        end = text.find(b"\n" if binary else "\n", place[0]) + 1
        return read((end or len(text)) - place[0])

    def write(data: Any) -> int:
        if isinstance(data, bytes) is not binary:
            raise TypeError(
                f"a bytes-like object is {'required' if binary else 'not'} written here"
            )
        raw = (
            data
            if binary
            else str(data)
            .replace("\n", "\r\n" if newline is None else "\n")
            .encode(encoding, errors)
        )
        budget.spend((files.entry(path).size + len(raw)) // 64)
        files.write(path, files.read(path) + raw)
        budget.check()
        return len(data)

    return SimObject(
        "file",
        {"read": read, "readlines": readlines, "readline": readline, "write": write, "close": lambda: None,
         "flush": lambda: None, "name": path, "writelines": lambda lines: [write(line) for line in lines] and None},
        items=readlines, leave=lambda: None, shown=f"<_io.TextIOWrapper name={path!r} mode={mode!r} encoding={encoding!r}>",
    )  # fmt: skip


def _content(desktop: Desktop, path: str, budget: Budget) -> bytes:
    if desktop.machine.files.entry(path).size > _MAX_OPENED:
        raise MemoryError
    content = desktop.machine.files.read(path)
    budget.make(3 * len(content))
    return content
