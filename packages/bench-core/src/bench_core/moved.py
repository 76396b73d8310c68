"""Module paths and names of earlier versions, which go on working with a notice."""

from __future__ import annotations

import importlib
import sys
import warnings
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.abc import Loader
    from types import ModuleType

__all__ = ["moved_modules", "moved_names"]


def moved_modules(moves: Mapping[str, str]) -> None:
    """Let modules be imported by the paths they had in an earlier version.

    An import of an old path gives the very module that is at the new one, with a
    `DeprecationWarning` that names it.

    Args:
        moves: Old path to new path, both dotted and absolute; the module at the new path is
            imported when the old one is.
    """
    if not any(isinstance(each, _MovedFinder) for each in sys.meta_path):
        # last: what is found elsewhere is not old
        sys.meta_path.append(_MovedFinder())
    _MOVES.update(moves)


def moved_names(
    module: str, moves: Mapping[str, str], others: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return a `__getattr__` for a module that gives names of an earlier version with a notice.

    Args:
        module: The module's own `__name__`.
        moves: Old name to where it is now, as `package.module:Name`.
        others: Gives all other names, such as what `lazy_exports` returns.

    Example:
        `__getattr__ = moved_names(__name__, {"PACES": "waa_client.timing:TIMINGS"})`
    """

    def __getattr__(name: str) -> Any:  # noqa: N807  # it becomes the module's own
        if name in moves:
            home, _, now = moves[name].partition(":")
            message = f"{module}.{name} is now {home}.{now}"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(home), now)
        if others is not None:
            return others(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return __getattr__


_MOVES: dict[str, str] = {}


class _MovedFinder:
    """Find modules at the paths they once had.

    Without the base class of `importlib.abc`, whose import every command would pay for.
    """

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = _MOVES.get(fullname)
        return None if new is None else ModuleSpec(fullname, cast("Loader", _MovedLoader(new)))


class _MovedLoader:
    def __init__(self, path: str) -> None:
        self._path = path
        self._own: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        warnings.warn(
            f"the module {spec.name} is now {self._path}", DeprecationWarning, stacklevel=2
        )
        module = importlib.import_module(self._path)
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # the import system has just given the module the old path's specification
        module.__spec__ = self._own
