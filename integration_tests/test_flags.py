"""Every flag that the packages put on results has a meaning that reports and the documentation show."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from bench_core.records.vocabulary import meaning_of_flag

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def test_every_flag_that_code_sets_has_a_meaning(root: Path) -> None:
    code = [ast.parse(each.read_text("utf-8")) for each in root.glob("packages/*/src/**/*.py")]
    constants = dict(pair for tree in code for pair in _constants(tree.body))
    found = {
        each
        for tree in code
        for node in ast.walk(tree)
        for part in _parts(_set_flags(node))
        for each in [constants.get(part.id) if isinstance(part, ast.Name) else part.value]
        if isinstance(each, str)
    }
    assert {"gave_up", "incomplete_state", "windows_not_closed"} <= found
    assert {each for each in found if meaning_of_flag(each) is None} == set()


def _constants(body: Iterable[ast.stmt]) -> Iterator[tuple[str, object]]:
    for each in body:
        if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant):
            yield from (
                (to.id, each.value.value) for to in each.targets if isinstance(to, ast.Name)
            )


def _set_flags(node: ast.AST) -> list[ast.expr]:
    """Return what is given as `flags=` or `flag=`, assigned to flags, or added to them."""
    if isinstance(node, ast.keyword):
        return [node.value] if node.arg in {"flag", "flags"} else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.args if _is_flags(node.func.value) else []
    if isinstance(node, ast.AugAssign):
        return [node.value] if _is_flags(node.target) else []
    if isinstance(node, ast.Assign):
        return [node.value] if any(map(_is_flags, node.targets)) else []
    return []


def _is_flags(node: ast.expr) -> bool:
    name = getattr(node, "attr", getattr(node, "id", ""))
    return str(name).endswith("flags")


def _parts(values: Iterable[ast.expr]) -> Iterator[ast.Constant | ast.Name]:
    """Yield the texts and names of tuples, of sums of them, and of what stands for either."""
    for each in values:
        if isinstance(each, ast.Constant | ast.Name):
            yield each
        elif isinstance(each, ast.Tuple | ast.List | ast.Set):
            yield from _parts(each.elts)
        elif isinstance(each, ast.Dict):
            yield from _parts(key for key in each.keys if key is not None)
        elif isinstance(each, ast.BinOp):
            yield from _parts([each.left, each.right])
        elif isinstance(each, ast.IfExp):
            yield from _parts([each.body, each.orelse])
        elif isinstance(each, ast.Starred):
            yield from _parts([each.value])
        elif isinstance(each, ast.Call) and ast.unparse(each.func) in {"tuple", "dict.fromkeys"}:
            yield from _parts(each.args)
