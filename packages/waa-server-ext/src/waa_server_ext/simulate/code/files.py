"""`open` of interpreted programs: text and bytes of the simulated file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from waa_server_ext.simulate.code.values import SimObject

if TYPE_CHECKING:
    from waa_server_ext.simulate.desktop.composition import Desktop

__all__ = ["open_file"]

_ENCODINGS = frozenset({"utf-8", "utf8", "utf-16", "ascii", "latin-1", "cp1252", "utf-8-sig"})
_ANSI = "cp1252"
"""What Python on an English Windows reads text files as where no encoding is given."""


def open_file(  # noqa: PLR0913, PLR0917  # keywords with defaults
    desktop: Desktop,
    file: Any,
    mode: str = "r",
    encoding: str | None = None,
    newline: str | None = None,
    errors: str = "strict",
) -> SimObject:
    """Return a file object; what is written is on the disk after every write."""
    files, path, binary = desktop.machine.files, str(file), "b" in mode
    encoding = _ANSI if encoding is None else encoding if encoding in _ENCODINGS else "utf-8"
    if "x" in mode and files.exists(path):
        raise FileExistsError(17, "File exists", path)
    if "w" in mode or "x" in mode or ("a" in mode and not files.exists(path)):
        files.write(path, b"")
    content = files.read(path)
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
        return list(rest.splitlines(True))  # noqa: FBT003  # as Python has it

    def readline() -> Any:
        rest = text[place[0] :].splitlines(True)  # noqa: FBT003  # as Python has it
        line = rest[0] if rest else (b"" if binary else "")
        place[0] += len(line)
        return line

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
        files.write(path, files.read(path) + raw)
        return len(data)

    return SimObject(
        "file",
        {"read": read, "readlines": readlines, "readline": readline, "write": write, "close": lambda: None,
         "flush": lambda: None, "name": path, "writelines": lambda lines: [write(line) for line in lines] and None},
        items=readlines, leave=lambda: None, shown=f"<_io.TextIOWrapper name={path!r} mode={mode!r} encoding={encoding!r}>",
    )  # fmt: skip
