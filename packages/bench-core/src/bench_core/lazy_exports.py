"""Names that a package offers and imports only when they are asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["lazy_exports"]


def lazy_exports(package: str, modules: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package's `__init__`, which loads no module before it is needed.

    Command lines answer `--help` in a fifth of a second only because packages import this way.

    Args:
        package: The package's own `__name__`.
        modules: Module of the package, without the package's name, to the names it defines.

    Example:
        `__getattr__ = lazy_exports(__name__, {"records": ("Task", "TrialResult")})`
    """
    home = {name: module for module, names in modules.items() for name in names}

    def __getattr__(name: str) -> Any:  # noqa: N807  # it becomes the package's own
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return __getattr__
