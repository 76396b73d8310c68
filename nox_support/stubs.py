"""What packages offer lazily: their `__init__.pyi`, in which each name stands once."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from nox_support.packages import ROOT, packages

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["offered", "offering_modules"]


def offered(stub: Path) -> dict[str, str]:
    """Return each name that a stub offers, and the module that has it, from the stub's package on."""
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    return {
        name.name: str(each.module)
        for each in tree.body
        if isinstance(each, ast.ImportFrom)
        for name in each.names
    }


def offering_modules(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """Return of each package with a stub the names that it offers, and the module that has each."""
    found = {}
    for each in packages(root):
        source = each.folder / "src"
        for stub in source.rglob("__init__.pyi"):
            package = ".".join(stub.parent.relative_to(source).parts)
            found[package] = {name: f"{package}.{home}" for name, home in offered(stub).items()}
    return found
