"""Random programs over the values, methods and modules of the simulated desktop."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["random_program"]

_NAMES = "abcdef"
_STARTS = (
    "0", "7 ** 5000", "-1", "3.5", "'a' * 4_000_000", "'ab '", "'\\u4e00' * 100_000", "b'x' * 1_000_000", "[0]", "[0] * 90_000",
    "list(range(50_000))", "{}", "{1, 2}", "dict(zip(range(9_000), range(9_000)))", "()", "(1,) * 100_000", "range(4_000_000)", "None",
)  # fmt: skip
_SMALL = (
    "0", "7", "-1", "3.5", "2 ** 70", "'abc'", "'ab cd'", "'\\u4e00'", "b'xy'", "[0]", "[3, 1, 2]", "['a', 'b']", "list(range(9))",
    "{}", "{1, 2}", "{'a': 1}", "()", "(1, 'b')", "range(5)", "None", "True",
)  # fmt: skip
_CALLS = (
    "str({a})", "repr({a})", "len({a})", "sorted({a})", "sum({a})", "list({a})", "tuple({a})", "set({a})", "dict({a})",
    "min({a}, {b})", "max({a})", "any({a})", "all({a})", "abs({a})", "round({a}, {b})", "divmod({a}, {b})", "int({a})",
    "float({a})", "bytes({a})", "hex({a})", "bin({a})", "reversed({a})", "enumerate({a})", "zip({a}, {b})", "map(str, {a})",
    "filter(None, {a})", "isinstance({a}, list)", "{a}.split()", "{a}.split({b})", "{a}.join({b})", "{a}.replace({b}, {a})",
    "{a}.count({b})", "{a}.find({b})", "{a}.index({b})", "{a}.upper()", "{a}.encode()", "{a}.splitlines()", "{a}.copy()",
    "{a}.extend({b})", "{a}.append({b})", "{a}.insert(0, {b})", "{a}.pop()", "{a}.remove({b})", "{a}.sort()", "{a}.update({b})",
    "{a}.add({b})", "{a}.get({b})", "{a}.setdefault({b}, {a})", "{a}.items()", "{a}.union({b})", "{a}.format({b}, {a})", "{a}.zfill(9)",
    "{a}[{b}]", "{a}[::2]", "{a}[:]", "f'{{{a}}}{{{b}}}'", "'%s %s' % ({a}, {b})", "json.dumps({a})", "json.loads({a})",
    "os.listdir({a})", "os.path.join({a}, {b})", "os.path.exists({a})", "os.getenv({a})", "shlex.split({a})", "glob.glob({a})",
    "math.sqrt({a})", "time.sleep({a})", "open({a}, 'w')", "open('x.txt').read()", "random.choice({a})", "pyperclip.copy({a})",
    "pyautogui.press({a})", "pyautogui.write({a})", "pyautogui.click({a}, {b})", "pyautogui.hotkey({a}, {b})", "ValueError({a})",
    "[x for x in {a}]", "{{x: {b} for x in {a}}}", "(lambda x: x)({a})", "[{a}] * 9", "({a}, {b})", "[{a}, {b}]", "{{{a}}}", "{{{a}: {b}}}",
)  # fmt: skip
_OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "<<",
    ">>",
    "&",
    "|",
    "^",
    "==",
    "<",
    "in",
    "is",
    "and",
    "or",
)


def random_program(source: random.Random, *, long: bool = True) -> str:
    """Return a program of a few statements; most raise early, some take all they may.

    Those that are not `long` have small values and no loops without an end.
    """
    starts = _STARTS if long else _SMALL
    lines = ["import glob, json, math, os, pyautogui, pyperclip, random, shlex, time"]
    lines += [f"{name} = {source.choice(starts)}" for name in _NAMES]
    lines += [_statement(source, long=long, depth=0) for _ in range(source.randrange(2, 12))]
    return "\n".join(lines)


def _statement(source: random.Random, *, long: bool, depth: int) -> str:
    kind = source.randrange(8) if depth < 3 else 0  # deep enough
    name = source.choice(_NAMES)
    inner = lambda: _indented(_statement(source, long=long, depth=depth + 1))  # noqa: E731  # used below only
    if kind == 5:  # one of the kinds
        return f"for {name} in {source.choice(_NAMES)}:\n{inner()}"
    if kind == 6 and long:  # same
        return f"while {_expression(source)}:\n{inner()}"
    if kind in {6, 7}:  # same
        return f"try:\n{inner()}\nexcept Exception as error:\n{inner()}\nfinally:\n{inner()}"
    return f"try:\n    {name} = {_expression(source)}\nexcept Exception:\n    pass"


def _expression(source: random.Random) -> str:
    one, other = source.choice(_NAMES), source.choice(_NAMES)
    if source.random() < 0.3:  # a share
        return f"{one} {source.choice(_OPERATORS)} {other}"
    return source.choice(_CALLS).format(a=one, b=other)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
