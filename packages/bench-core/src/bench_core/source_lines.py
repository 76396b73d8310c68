"""Name the line of the user's own code that an error comes from."""

from __future__ import annotations

import os
import sysconfig
import traceback
from pathlib import Path

_PROCTORS = str(Path(__file__).parent)
_INSTALLED = tuple(
    {sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def own_line(error: BaseException) -> str | None:
    """Return file, line and text of the raise of `error`, passing over Proctor and libraries.

    None if no other code took part, or its source cannot be read.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return _described(error.filename, error.lineno, error.text)
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if not _is_library(each.filename)]
    return _described(own[-1].filename, own[-1].lineno, own[-1].line) if own else None


def _described(file: str, line: int | None, text: str | None) -> str:
    where = f"{os.path.basename(file)}, line {line}"  # noqa: PTH119  # it may not be a path
    return f"{where}: `{text.strip()}`" if text and text.strip() else where


def _is_library(file: str) -> bool:
    return file.startswith(("<", _PROCTORS, *_INSTALLED))
