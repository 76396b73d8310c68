"""Modules with one decision turned around: what makes of something unknown a pass, a failure or somebody's fault.

A module decides if it names an error that is a party's fault, the status of a trial, or a record that is a fault or has
a score, an outcome or a verdict. All conditions in it count, as a rule of one module is often asked by another function of it.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Decisions", "Mutant"]

_AGENTS = "AgentError"
_FAULTS = (_AGENTS, "EnvironmentFaultError", "EvaluationError", "BudgetExceededError")
"""The errors of `bench_core.errors` that make a trial somebody's fault; those derived from them do so, too."""
_STATUS = "Status"
_RESULTS = frozenset({"score", "outcome", "verdict", "fault"})
"""The fields of records that say what became of something, or why."""
_OPPOSITES: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Lt: ast.GtE(),
    ast.LtE: ast.Gt(),
    ast.Gt: ast.LtE(),
    ast.GtE: ast.Lt(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_CONDITIONS = (ast.BoolOp, ast.Compare, ast.UnaryOp)
_NO_DECISIONS = (ast.JoinedStr, ast.Import, ast.ImportFrom)
"""What holds none, or (texts with values in them) has no exact places on Python 3.11."""
_NOT_RUN = {"TYPE_CHECKING", "__name__ == '__main__'"}


@dataclass(frozen=True)
class Mutant:
    """A module with one decision turned around.

    Attributes:
        function: Where it is: a function or method with its classes, or `<module>`.
        old: The whole condition, error or value, as `ast.unparse` writes it; from the second time on that a function
            has it, with its number.
        new: What takes its place.
        text: The whole module.
    """

    function: str
    old: str
    new: str
    text: str


class Decisions:
    """What decides, by the classes that all modules define.

    Args:
        texts: The texts of all modules.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        classes = [
            each
            for text in texts
            for each in ast.walk(ast.parse(text))
            if isinstance(each, ast.ClassDef)
        ]
        self._agents = _derived(classes, {_AGENTS})
        self._faults = _derived(classes, set(_FAULTS))
        self._results = {
            each.name
            for each in classes
            if each.name.endswith("Fault") or _RESULTS & set(_fields(each))
        }
        self._statuses = [
            name for each in classes if each.name == _STATUS for name in _members(each)
        ]

    def mutants(self, text: str, *, decides: bool = False) -> list[Mutant]:
        r"""Return all mutants of a module's text in the order of its lines; none if it decides nothing.

        `decides` says that it does, whatever it names.

        >>> decisions = Decisions(["class Check:\n    score: float"])
        >>> found = decisions.mutants("def passes(check: Check):\n    return check.done and check.score > 0")
        >>> [(each.function, each.old, each.new) for each in found]  # doctest: +NORMALIZE_WHITESPACE
        [('passes', 'check.done and check.score > 0', 'check.done or check.score > 0'),
         ('passes', 'check.done and check.score > 0', 'check.done and check.score <= 0')]

        """
        tree = ast.parse(text)
        if not decides and not _names(tree) & {*self._faults, *self._results, _STATUS}:
            return []
        source = _Source(text)
        seen: Counter[tuple[str, str, str]] = Counter()
        found = []
        for function, whole, part, new in self._changes(tree, "<module>", None):
            mutant = source.mutant(function, whole, part, new)
            place = (mutant.function, mutant.old, mutant.new)
            seen[place] += 1
            again = f" #{seen[place]}" if seen[place] > 1 else ""
            found.append(replace(mutant, old=mutant.old + again))
        return found

    def _changes(
        self, node: ast.AST, function: str, whole: ast.expr | None
    ) -> Iterator[tuple[str, ast.expr, ast.expr, str]]:
        """Yield the function, the whole condition and its part that is replaced, and what by."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = node.name if function == "<module>" else f"{function}.{node.name}"
        if isinstance(node, _CONDITIONS):
            whole = whole or node
        elif not isinstance(node, ast.boolop):
            whole = None
        for part, new in self._replacements(node):
            yield function, whole or part, part, new
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_left_out(child):
                    yield from self._changes(child, function, whole)

    def _replacements(self, node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
        match node:
            case ast.Compare(left, [operator], comparators):
                opposite = _OPPOSITES[type(operator)]
                yield node, ast.unparse(ast.Compare(left, [opposite], comparators))
            case ast.BoolOp(operator, values):
                other = ast.Or() if isinstance(operator, ast.And) else ast.And()
                yield node, ast.unparse(ast.BoolOp(other, values))
            case ast.UnaryOp(ast.Not(), operand):
                yield node, ast.unparse(operand)
        for test in _tests(node):
            if not isinstance(test, _CONDITIONS):
                yield test, f"not {ast.unparse(test)}"
        yield from self._other_results(node)

    def _other_results(self, node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
        match node:
            case ast.Constant(bool(value)):
                yield node, repr(not value)
            case ast.Attribute(ast.Name(name), member) if name == _STATUS:
                if member in self._statuses:
                    after = self._statuses.index(member) + 1
                    yield node, f"{_STATUS}.{self._statuses[after % len(self._statuses)]}"
            case ast.keyword("score", ast.Constant(None) as value):
                yield value, "0.0"
            case ast.keyword("score", ast.Constant(float()) as value):
                yield value, "None"
            case ast.ExceptHandler(ast.expr() as caught):
                yield caught, "()"
            case ast.Raise(ast.Call(ast.Name(name)) as error) if name in self._faults:
                yield error, f"{_another(name in self._agents)}(str({ast.unparse(error)}))"


def _another(agents: bool) -> str:
    """Return an expression for the error that is another party's fault, which the module may not have imported."""
    other = "EnvironmentFaultError" if agents else _AGENTS
    return f"__import__('bench_core.errors', fromlist=['']).{other}"


def _tests(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.If(test) | ast.While(test) | ast.IfExp(test):
            return [test]
        case ast.comprehension(ifs=tests):
            return tests
        case ast.match_case(guard=ast.expr() as test):
            return [test]
    return []


def _is_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and ast.unparse(node.test) in _NOT_RUN:
        return True
    return isinstance(node, _NO_DECISIONS)


def _names(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name) | ast.Attribute(attr=name) | ast.ClassDef(name):
                found.add(name)
    return found


def _derived(classes: Iterable[ast.ClassDef], roots: set[str]) -> set[str]:
    """Return the names of classes that are one of `roots` or derived from it."""
    classes = list(classes)
    more = {each.name for each in classes if {_last(base) for base in each.bases} & roots} - roots
    return _derived(classes, roots | more) if more else roots


def _last(base: ast.expr) -> str:
    return ast.unparse(base).rpartition(".")[2]


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        match each:
            case ast.AnnAssign(ast.Name(name)):
                yield name


def _members(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        match each:
            case ast.Assign([ast.Name(name)]) if name.isupper():
                yield name


class _Source:
    """A module's text, in which Python counts columns in bytes."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def mutant(self, function: str, whole: ast.expr, part: ast.expr, new: str) -> Mutant:
        start, end = self._place(part)
        first, last = self._place(whole)
        put = f"({new})".encode()
        changed = self._bytes[first:start] + put + self._bytes[end:last]
        condition = ast.parse(b"(" + changed + b")", mode="eval")
        text = self._bytes[:start] + put + self._bytes[end:]
        return Mutant(function, ast.unparse(whole), ast.unparse(condition), text.decode())

    def _place(self, node: ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[end_line - 1] + end_column,
        )
