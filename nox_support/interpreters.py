"""Where Python interpreters are looked for: PATH, with pyenv's versions in place of its shims.

A shim answers for every version that any project ever asked for and then fails when run, so that
a missing interpreter would be a failed session instead of a skipped one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["search_path"]

_RELEASE = re.compile(r"\d+\.\d+\.\d+")


def search_path(environ: Mapping[str, str], home: Path) -> str:
    """Return the PATH of `environ` on which every `python3.x` that is found can be run."""
    root = Path(environ.get("PYENV_ROOT") or home / ".pyenv")
    versions = _version_folders(root)
    entries = environ.get("PATH", "").split(os.pathsep)
    shims = str(root / "shims")
    if shims not in entries:
        return os.pathsep.join([*entries, *versions])
    at = entries.index(shims)
    rest = [each for each in entries[at + 1 :] if each != shims]
    return os.pathsep.join([*entries[:at], *versions, *rest])


def _version_folders(root: Path) -> list[str]:
    """Return the folders of pyenv's CPython releases that hold executables, newest first."""
    found = [
        each
        for each in (root / "versions").glob("*")
        if _RELEASE.fullmatch(each.name) and not each.is_symlink()
    ]
    found.sort(key=lambda each: tuple(map(int, each.name.split("."))), reverse=True)
    return [str(each / "bin") for each in found if (each / "bin").is_dir()]
