"""Checks whether the text of a code block that did not end in time explains the delay."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_QUICK = frozenset({"computer", "pyautogui", "pyperclip", "time"})
"""Modules whose calls end soon, except sleeps."""


def outlasts(code: str, seconds: float) -> bool:
    """Return whether the text of `code` shows why it takes longer than `seconds`.

    It does with a `while`, with sleeps of that length or of a length that is not a constant, and with calls
    of other modules, which may wait for anything. Pointer moves and keys end soon on a working VM.

    >>> outlasts("import time; time.sleep(300)", 90), outlasts("computer.keyboard.write('a')", 90)
    (True, False)
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return False  # a syntax error: it never ran
    foreign = set(_foreign_modules(tree))
    slept = 0.0
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            return True
        if not isinstance(node, ast.Call):
            continue
        if _last_name(node.func) == "sleep":
            slept += _seconds(node, seconds)
        elif _first_name(node.func) in foreign:
            return True
    return slept >= seconds


def _foreign_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None)
            for each in node.names:
                if (module or each.name).partition(".")[0] not in _QUICK:
                    yield (each.asname or each.name).partition(".")[0]


def _seconds(call: ast.Call, unknown: float) -> float:
    value = call.args[0] if call.args else None
    known = isinstance(value, ast.Constant) and isinstance(value.value, int | float)
    return float(value.value) if known else unknown  # type: ignore[union-attr]


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _first_name(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
