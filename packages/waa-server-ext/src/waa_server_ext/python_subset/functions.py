"""Names and functions of an interpreted program."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any


class Scope:
    """The names of a block, and those of the blocks around it."""

    def __init__(self, names: dict[str, Any], outer: Scope | None = None) -> None:
        self._names = names
        self._outer = outer
        self._global: set[str] = set()

    def get(self, name: str) -> Any:
        """Return the value of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._names:
                return scope._names[name]
            scope = scope._outer
        raise NameError(f"name {name!r} is not defined")

    def set(self, name: str, value: Any) -> None:
        """Bind a name here, or in the outermost block if it was declared global."""
        scope = self
        if name in self._global:
            while scope._outer is not None:  # its own class
                scope = scope._outer  # its own class
        scope._names[name] = value

    def delete(self, name: str) -> None:
        """Forget a name."""
        if name not in self._names:
            raise NameError(f"name {name!r} is not defined")
        del self._names[name]

    def declare_global(self, names: list[str]) -> None:
        """Bind these names in the outermost block from now on."""
        self._global |= set(names)


@dataclass(frozen=True)
class Function:
    """A function of the program, with defaults computed at its definition."""

    name: str
    args: ast.arguments
    body: list[ast.stmt] | ast.expr
    scope: Scope
    defaults: list[Any]
    keyword_defaults: list[Any]

    def bind(self, args: list[Any], kwargs: dict[str, Any]) -> Scope:
        """Return the scope of a call with these arguments."""
        names = [each.arg for each in (*self.args.posonlyargs, *self.args.args)]
        bound = dict(zip(names[len(names) - len(self.defaults) :], self.defaults, strict=True))
        for each, default in zip(self.args.kwonlyargs, self.keyword_defaults, strict=True):
            bound[each.arg] = default
        bound |= dict(zip(names, args, strict=False))
        known = {*names, *(each.arg for each in self.args.kwonlyargs)}
        rest = {key: value for key, value in kwargs.items() if key not in known}
        bound |= {key: value for key, value in kwargs.items() if key in known}
        if self.args.vararg is not None:
            bound[self.args.vararg.arg] = tuple(args[len(names) :])
        elif len(args) > len(names):
            raise TypeError(
                f"{self.name}() takes {len(names)} positional arguments but {len(args)} were given"
            )
        if self.args.kwarg is not None:
            bound[self.args.kwarg.arg] = rest
        elif rest:
            raise TypeError(
                f"{self.name}() got an unexpected keyword argument {next(iter(rest))!r}"
            )
        missing = [name for name in names if name not in bound]
        if missing:
            raise TypeError(f"{self.name}() missing required argument: {missing[0]!r}")
        return Scope(bound, self.scope)
