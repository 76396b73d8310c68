"""Python's operators, with bounds on their results."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import MAX_ITEMS, MAX_SIZE, NotSimulatedError, bounded

_MAX_POWER = 10_000  # a short expression could make a number that fills memory
_MAX_TEMPLATE = 100_000

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Pow: operator.pow,
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}  # fmt: skip


def compare(op: ast.cmpop, left: Any, right: Any, budget: Budget) -> bool:
    """Return whether `left op right` holds, as Python says."""
    if isinstance(op, (ast.In, ast.NotIn)) and isinstance(right, (dict, set)):
        budget.key(left)
    elif not isinstance(op, (ast.Is, ast.IsNot)):
        budget.weigh(left, right)
    return _COMPARE[type(op)](left, right)


def operate(op: ast.operator, left: Any, right: Any, budget: Budget) -> Any:
    """Return `left op right`, as Python does.

    Raises:
        OverflowError: The result would be too large.
        MemoryError: The result, a text or a list, would be too large.
        NotSimulatedError: This interpreter lacks the operator.
    """
    known = _BINARY.get(type(op))
    if known is None:
        raise NotSimulatedError(f"the operator {type(op).__name__}")
    _check_size(op, left, right)
    if isinstance(op, ast.Mod) and isinstance(left, (str, bytes)):
        if len(left) > _MAX_TEMPLATE:
            raise MemoryError
        budget.weigh(right)
        text = left.decode("latin-1") if isinstance(left, bytes) else left
        for part in text.split("%")[1:]:
            digits = "".join(char if char.isdigit() else " " for char in part[:12]).split()
            if "*" in part[:12] or any(int(number) > 1000 for number in digits):  # no such width
                raise ValueError("the width of a format is too large")
        return budget.made(left % right)
    if isinstance(left, int) or isinstance(right, int):
        budget.weigh(*(each for each in (left, right) if isinstance(each, int)))
    return budget.made(bounded(known(left, right)))


def _check_size(op: ast.operator, left: Any, right: Any) -> None:
    if isinstance(op, (ast.Pow, ast.LShift)) and (
        not isinstance(right, (int, float)) or abs(right) > _MAX_POWER
    ):
        raise OverflowError("the result is too large")
    if (
        isinstance(op, ast.Pow)
        and isinstance(left, int)
        and left.bit_length() * abs(right) > _MAX_POWER * 20
    ):
        raise OverflowError("the result is too large")
    if isinstance(op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if isinstance(one, (str, bytes, list, tuple)) and isinstance(other, int):
                most = MAX_SIZE if isinstance(one, (str, bytes)) else MAX_ITEMS
                if len(one) * other > most:
                    raise MemoryError


def as_load(target: ast.expr) -> ast.expr:
    """Return the expression that reads the target of an assignment."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    if isinstance(target, ast.Attribute):
        return ast.Attribute(target.value, target.attr, ast.Load())
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    raise NotSimulatedError("assigning to this")
