"""Rewrites of defective evals; every change is named."""

from __future__ import annotations

from typing import Any

from multireal_harness.definitions import Eval
from multireal_harness.lint.findings import Fix, LintFinding
from multireal_harness.lint.slips import Slip, replaced
from multireal_harness.lint.syntax import (
    PROJECTIONS,
    Node,
    is_path,
    node,
    starts_with_index,
    unparse,
)

_IDENTITY = node("identity")
_UNMENDABLE = frozenset({"unknown_function", "wrong_arguments"})


def fix_of(
    one: Eval, tree: Node, found: list[LintFinding], slips: list[Slip], *, positive: bool
) -> Fix | None:
    """Return the corrected eval, or None when no rewrite is known.

    Args:
        one: The eval.
        tree: Its normalised query.
        found: The findings about it.
        slips: Parts written in place of something else.
        positive: Whether the criterion asks for something rather than for its absence.
    """
    codes = {each.code for each in found}
    if codes & _UNMENDABLE:
        return None
    fixed = replaced(tree, slips)
    changes = [f"{unparse(each.meant)} for {unparse(each.node)}" for each in slips]
    if "list_op_on_dict" in codes:
        fixed = _over_values(
            fixed, {each.where for each in found if each.code == "list_op_on_dict"}
        )
        changes.append("values of an object taken as a list")
    if "index_in_projection" in codes:
        fixed = _indexed_after(fixed)
        changes.append("element taken after the projection")
    fixed, result_change, weaker = _as_boolean(one, fixed, codes, positive=positive)
    changes += result_change
    expected: Any = one.expected_value
    if "inverted_expected" in codes:
        expected = True
        changes.append("true expected")
    if not changes:
        return None
    return Fix(query=unparse(fixed), expected_value=expected, changes=tuple(changes), weaker=weaker)


def _indexed_after(tree: Node) -> Node:
    """Turn `X[?c][0].f`, which asks each element for its element 0, into `X[?c] | [0].f`."""
    children = [
        _indexed_after(each) if isinstance(each, dict) else each for each in tree["children"]
    ]
    tree = {**tree, "children": children}
    if tree["type"] != "filter_projection" or not starts_with_index(children[1]):
        return tree
    # on a perfect mailbox none of 68 published evals passes without this rewrite, and 52 do with it
    left, right, condition = children
    return node("pipe", node("filter_projection", left, _IDENTITY, condition), right)


def _over_values(tree: Node, wrong: set[str]) -> Node:
    """Put `values()` around the operand of each list operation in `wrong`."""
    children = [
        _over_values(each, wrong) if isinstance(each, dict) else each for each in tree["children"]
    ]
    changed = {**tree, "children": children}
    taken = tree if tree["type"] in PROJECTIONS - {"value_projection"} else None
    if tree["type"] == "index_expression":
        taken = tree["children"][-1]
    if taken is not None and unparse(taken) in wrong:
        children[0] = node("function_expression", children[0], value="values")
    return changed


def _as_boolean(
    one: Eval, tree: Node, codes: set[str], *, positive: bool
) -> tuple[Node, list[str], bool]:
    """Turn a query whose result is not a boolean into one that asks whether there is a result."""
    if not isinstance(one.expected_value, bool):
        return tree, [], False
    if "number_result" in codes:
        sign = "gte" if positive else "eq"
        weaker = positive and "wrong_number" in codes
        return _compared(tree, sign, 1 if positive else 0), ["number compared"], weaker
    if not codes & {"list_result", "value_result"}:
        return tree, [], False
    if is_path(tree):
        return _compared(tree, "ne", None), ["value compared with null"], True
    if "list_result" not in codes:
        return tree, [], False
    length = node("function_expression", tree, value="length")
    return _compared(length, "gte", 1), ["list counted"], False


def _compared(tree: Node, sign: str, value: int | None) -> Node:
    literal: Node = {"type": "literal", "value": value, "children": []}
    return {"type": "comparator", "value": sign, "children": [tree, literal]}
