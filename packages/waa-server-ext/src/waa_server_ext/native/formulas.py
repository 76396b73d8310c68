"""The conditions of conditional formatting: a small part of the spreadsheet formula language.

Comparison, arithmetic, text and the functions that conditions use; anything else is refused by name.
Nothing is executed: a formula is parsed and walked, with bounds on its size.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from bench_core.errors import EvaluationError

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)|(?P<text>\"(?:[^\"]|\"\")*\")"
    r"|(?P<reference>(?:'[^']+'!|\w+!)?\$?[A-Za-z]{1,3}\$?\d+(?::\$?[A-Za-z]{1,3}\$?\d+)?)(?![\w(])"
    r"|(?P<name>[A-Za-z_][\w.]*)|(?P<symbol><>|<=|>=|[-+*/^&=<>(),;%]))"
)
_MAX_LENGTH = 2000
_MAX_DEPTH = 40  # the parser calls itself once per level
_EPOCH = date(1899, 12, 30)

Node = tuple[Any, ...]


class FormulaError(EvaluationError):
    """A condition uses something unsupported here."""


def compile_condition(formula: str) -> Callable[..., bool]:
    """Return a function of the values of the formula's references, in order of first appearance.

    Raises:
        FormulaError: It cannot be parsed.
    """
    parser = _Parser(formula)
    tree = parser.parse()

    def condition(*values: Any) -> bool:
        if len(values) != len(parser.references):
            raise TypeError(
                f"{formula!r} has {len(parser.references)} references, {len(values)} are known"
            )
        result = _evaluate(tree, dict(zip(parser.references, values, strict=True)))
        return bool(result) and result is not _ERROR

    return condition


class _ErrorValue:
    """An error in a cell, such as #VALUE! or #DIV/0!."""


_ERROR = _ErrorValue()
_LEVELS = (("=", "<>", "<", "<=", ">", ">="), ("&",), ("+", "-"), ("*", "/"), ("^",))


class _Parser:
    def __init__(self, formula: str) -> None:
        if len(formula) > _MAX_LENGTH:
            raise FormulaError(f"a condition of {len(formula)} characters is not evaluated")
        self._formula = formula
        self._tokens, at = [], 0
        text = formula.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise FormulaError(f"the condition {formula!r} cannot be read")
            self._tokens.append((str(match.lastgroup), match.group(str(match.lastgroup))))
            at = match.end()
        self._at = 0
        self._depth = 0
        self.references: list[str] = []

    def parse(self) -> Node:
        tree = self._binary(0)
        if self._at != len(self._tokens):
            raise self._unknown()
        return tree

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at >= len(self._tokens):
            raise self._unknown()
        self._at += 1
        return self._tokens[self._at - 1]

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek() in _LEVELS[level] and self._tokens[self._at][0] == "symbol":
            sign = self._take()[1]
            left = ("binary", sign, left, self._binary(level + 1))
        return left

    def _unary(self) -> Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise FormulaError(f"the condition {self._formula!r} is nested too deep")
        try:
            if self._peek() in ("-", "+"):
                sign = self._take()[1]
                return ("unary", sign, self._unary())
            kind, symbol = self._take()
            node: Node
            if kind == "number":
                node = ("constant", float(symbol))
            elif kind == "text":
                node = ("constant", symbol[1:-1].replace('""', '"'))
            elif kind == "reference":
                name = symbol.replace("$", "").upper()
                if name not in self.references:
                    self.references.append(name)
                node = ("reference", name)
            elif kind == "name":
                node = self._named(symbol.upper())
            else:
                if symbol != "(":
                    raise self._unknown()
                node = self._binary(0)
                self._expect(")")
            while self._peek() == "%":
                self._take()
                node = ("binary", "/", node, ("constant", 100.0))
            return node
        finally:
            self._depth -= 1

    def _named(self, name: str) -> Node:
        if self._peek() != "(":
            if name in ("TRUE", "FALSE"):
                return ("constant", name == "TRUE")
            raise self._unknown(name)
        self._take()
        arguments: list[Node] = []
        if self._peek() != ")":
            arguments.append(self._binary(0))
            while self._peek() in (",", ";"):
                self._take()
                arguments.append(self._binary(0))
        self._expect(")")
        if name not in _FUNCTIONS:
            raise self._unknown(name)
        return ("call", name, *arguments)

    def _expect(self, symbol: str) -> None:
        if self._take()[1] != symbol:
            raise self._unknown()

    def _unknown(self, name: str = "") -> FormulaError:
        what = f"uses {name}, which is not known here" if name else "cannot be read"
        return FormulaError(
            f"the condition {self._formula!r} {what}: score this task with --waa-checkout"
        )


def _evaluate(node: Node, values: dict[str, Any]) -> Any:
    kind = node[0]
    if kind == "constant":
        return node[1]
    if kind == "reference":
        return values[node[1]]
    if kind == "unary":
        number = _number(_evaluate(node[2], values))
        return _ERROR if number is None else (-number if node[1] == "-" else number)
    if kind == "binary":
        return _combine(node[1], _evaluate(node[2], values), _evaluate(node[3], values))
    arguments = [_evaluate(each, values) for each in node[2:]]
    try:
        return _FUNCTIONS[node[1]](*arguments)
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError):
        return _ERROR


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_CALCULATE: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "^": math.pow,
}  # fmt: skip


def _combine(sign: str, left: Any, right: Any) -> Any:
    if left is _ERROR or right is _ERROR:
        return _ERROR
    if sign == "&":
        return _text(left) + _text(right)
    if sign in _COMPARE:
        return _COMPARE[sign](_rank(left, right), _rank(right, left))
    numbers = _number(left), _number(right)
    if numbers[0] is None or numbers[1] is None:
        return _ERROR
    try:
        return _CALCULATE[sign](*numbers)
    except ArithmeticError:
        return _ERROR


def _rank(value: Any, other: Any) -> tuple[int, Any]:
    """Order values as spreadsheets do: numbers before texts before booleans, ignoring case."""
    if value is None:
        value = "" if isinstance(other, str) else 0.0
    if isinstance(value, bool):
        return 2, value
    return (1, value.lower()) if isinstance(value, str) else (0, value)


def _number(value: Any) -> float | None:
    if value is None:
        return 0.0
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _flat(arguments: tuple[Any, ...]) -> list[Any]:
    return [item for each in arguments for item in (each if isinstance(each, list) else [each])]


def _numbers(arguments: tuple[Any, ...]) -> list[float]:
    return [float(each) for each in _flat(arguments) if isinstance(each, (int, float))]


def _search(needle: Any, text: Any, start: float = 1.0, *, fold: bool = True) -> Any:
    needle, text = _text(needle), _text(text)
    if fold:
        needle, text = needle.lower(), text.lower()
    at = text.find(needle, int(start) - 1)
    return _ERROR if at < 0 else float(at + 1)


def _weekday(value: Any, kind: float = 1.0) -> float:
    day = (_EPOCH + timedelta(days=int(_number(value) or 0))).weekday()
    return float({1: (day + 1) % 7 + 1, 2: day + 1, 3: day}[int(kind)])


def _if(condition: Any, then: Any = True, otherwise: Any = False) -> Any:  # its defaults
    return _ERROR if condition is _ERROR else (then if condition else otherwise)


def _half_up(value: Any, digits: float = 0.0) -> float:
    factor = 10.0 ** int(digits)
    number = float(value) * factor
    return math.copysign(math.floor(abs(number) + 0.5), number) / factor


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ABS": lambda value: abs(float(value)),
    "AND": lambda *values: all(bool(each) for each in _flat(values) if each is not None),
    "AVERAGE": lambda *values: sum(_numbers(values)) / len(_numbers(values)),
    "COUNT": lambda *values: float(len(_numbers(values))),
    "EXACT": lambda one, other: _text(one) == _text(other),
    "FALSE": lambda: False,
    "FIND": lambda needle, text, start=1.0: _search(needle, text, start, fold=False),
    "IF": _if,
    "INT": lambda value: float(math.floor(value)),
    "ISBLANK": lambda value: value is None,
    "ISERROR": lambda value: value is _ERROR,
    "ISNUMBER": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "ISTEXT": lambda value: isinstance(value, str),
    "LEFT": lambda text, count=1.0: _text(text)[: int(count)],
    "LEN": lambda text: float(len(_text(text))),
    "LOWER": lambda text: _text(text).lower(),
    "MAX": lambda *values: max(_numbers(values), default=0.0),
    "MID": lambda text, start, count: _text(text)[int(start) - 1 : int(start) - 1 + int(count)],
    "MIN": lambda *values: min(_numbers(values), default=0.0),
    "MOD": lambda value, by: float(value) % float(by),
    "NOT": lambda value: not value,
    "OR": lambda *values: any(bool(each) for each in _flat(values) if each is not None),
    "RIGHT": lambda text, count=1.0: _text(text)[-int(count) :] if int(count) else "",
    "ROUND": _half_up,
    "SEARCH": _search,
    "SUM": lambda *values: sum(_numbers(values)),
    "TRIM": lambda text: " ".join(_text(text).split()),
    "TRUE": lambda: True,
    "UPPER": lambda text: _text(text).upper(),
    "WEEKDAY": _weekday,
}
