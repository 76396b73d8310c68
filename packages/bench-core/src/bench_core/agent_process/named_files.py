"""The files that a command is made of: those it names, and what these import from beside them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["described_files", "named_files"]

_SHOWN = 16
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.mjs")
_SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"})
_RELATIVE = re.compile(r"""["'](\.{1,2}/[^"'\n]+)["']""")
_PYTHON_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
_BESIDE = ("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock")
"""They say which versions of foreign packages a script gets."""


def named_files(words: Iterable[str]) -> list[Path]:
    """Return the files among a command's words and what they import from beside them, resolved.

    Imports are found in the text: relative ones of JavaScript and TypeScript, and modules beside a Python
    script. Packages that are installed elsewhere are known by the lock file beside the script.
    """
    found: dict[Path, None] = {}
    open_ = [Path(word).resolve() for word in words if Path(word).is_file()]
    while open_:
        path = open_.pop(0)
        if path in found:
            continue
        found[path] = None
        open_ += [each.resolve() for each in _imports(path) if each.is_file()]
    return list(found)


def described_files(files: Iterable[Path]) -> tuple[str, ...]:
    """Return of each file the first 16 digits of its SHA-256, a space and its name."""
    return tuple(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()[:_SHOWN]} {path.name}" for path in files
    )


def _imports(path: Path) -> Iterator[Path]:
    if path.suffix in _SCRIPTS:
        for name in _RELATIVE.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield from (Path(f"{path.parent / name}{ending}") for ending in _ENDINGS)
        yield from (path.parent / name for name in _BESIDE)
    elif path.suffix == ".py":
        for name in _PYTHON_IMPORT.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield path.parent / f"{name}.py"
            yield from (path.parent / name).glob("**/*.py")
