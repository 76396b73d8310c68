"""Modules with one operator, constant, branch or returned value changed, as a program and not a person chooses.

Mutation testers that others keep (mutmut, cosmic-ray) change the work tree or want a package's whole suite for each
mutant; here a copy is changed, and the tests about one module are run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mutant", "mutants_of"]

_OPPOSITES: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_NO_DECISIONS = (ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What holds none, or (texts with values in them) has no exact places on Python 3.11."""


@dataclass(frozen=True)
class Mutant:
    """A module with one expression changed.

    Attributes:
        line: Of the expression, from 1.
        old: The expression.
        new: What takes its place.
        text: The whole module.
    """

    line: int
    old: str
    new: str
    text: str


def mutants_of(text: str) -> list[Mutant]:
    """Return all mutants of a module's text, in the order of its lines.

    >>> [(each.old, each.new) for each in mutants_of("found = a < b and a")]
    [('a < b and a', 'a < b or a'), ('a < b', 'a <= b'), ('a < b', 'a >= b')]

    """
    lines = text.encode().splitlines(keepends=True)
    found = [
        _mutant(lines, place, new)
        for node in _nodes(ast.parse(text))
        for place, new in _changes(node)
    ]
    return sorted(found, key=lambda each: each.line)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may decide something: no imports, annotations, texts, or names for type checkers alone."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if (
                isinstance(child, ast.AST)
                and not isinstance(child, _NO_DECISIONS)
                and not _is_for_types(child)
            ):
                yield from _nodes(child)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield expressions of a node and what they are replaced by."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _OPPOSITES[type(node.ops[0])]:
            yield node, ast.unparse(ast.Compare(node.left, [other()], node.comparators))
    elif isinstance(node, ast.BoolOp):
        other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield node, ast.unparse(ast.BoolOp(other_op, node.values))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, ast.unparse(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int):
        yield node, repr(not node.value) if isinstance(node.value, bool) else repr(node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield node, ast.unparse(ast.IfExp(node.test, node.orelse, node.body))
    elif (
        isinstance(node, ast.Return)
        and node.value is not None
        and ast.unparse(node.value) != "None"
    ):
        yield node.value, "None"


def _mutant(lines: list[bytes], place: ast.expr, new: str) -> Mutant:
    # Python counts columns in bytes
    first, last = place.lineno - 1, (place.end_lineno or place.lineno) - 1
    start = sum(map(len, lines[:first])) + place.col_offset
    end = sum(map(len, lines[:last])) + (place.end_col_offset or 0)
    whole = b"".join(lines)
    changed = whole[:start] + f"({new})".encode() + whole[end:]
    return Mutant(place.lineno, whole[start:end].decode(), new, changed.decode())
