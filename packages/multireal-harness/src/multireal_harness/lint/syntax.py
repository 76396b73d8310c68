"""Text from JMESPath's syntax tree, and the two rewrites that keep its meaning.

`jmespath` parses and searches, but cannot write a tree as text. `unparse` does, with the same meaning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Node = dict[str, Any]
"""A node of jmespath's tree: `type`, `children` and, for some types, `value`."""

PROJECTIONS = frozenset({"projection", "filter_projection", "value_projection"})
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_COMPARATORS = {"eq": "==", "ne": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_LOOSE = frozenset({
    "pipe", "or_expression", "and_expression", "not_expression", "comparator", "expref",
})  # fmt: skip
_FLATTEN, _STAR, _FILTER, _DOT, _BRACKET = 9, 20, 21, 40, 55
"""Binding powers as in jmespath's parser."""
_PATHS = frozenset({"field", "subexpression", "index_expression", "current", "identity"})


def node(kind: str, *children: Node, value: Any = None) -> Node:
    """Make a node."""
    made: Node = {"type": kind, "children": list(children)}
    return made if value is None else {**made, "value": value}


def walk(tree: Node) -> Iterator[Node]:
    """Yield the node and everything below it, however deep that goes."""
    left = [tree]
    while left:
        found = left.pop()
        yield found
        left += [child for child in reversed(found["children"]) if isinstance(child, dict)]


def normalise(tree: Node) -> Node:
    """Write a chain of dots and brackets from the left: `a.b[*].c` is `(a.b)[*].c`.

    jmespath nests the part after a dot to the right; both mean the same.
    """
    children = [normalise(each) if isinstance(each, dict) else each for each in tree["children"]]
    if tree["type"] != "subexpression":
        return {**tree, "children": children}
    whole, *rest = children
    for each in rest:
        whole = _followed(whole, each)
    return whole


def _followed(left: Node, right: Node) -> Node:
    """Return `left.right`, so that the operations of `right` on its own first part come last."""
    if right["type"] in PROJECTIONS | {"index_expression"}:
        first, *others = right["children"]
        return {**right, "children": [_followed(left, first), *others]}
    before = left["children"] if left["type"] == "subexpression" else [left]
    after = right["children"] if right["type"] == "subexpression" else [right]
    return node("subexpression", *before, *after)


def is_path(tree: Node) -> bool:
    """Whether the node only looks something up, so that its value may be anything."""
    if tree["type"] == "pipe":
        return is_path(tree["children"][-1])
    return tree["type"] in _PATHS


def starts_with_index(tree: Node) -> bool:
    """Whether the right side of a projection takes an element by number first."""
    first = tree
    while first["type"] in {"subexpression", "index_expression"} | PROJECTIONS:
        if first["type"] == "index_expression" and first["children"][0]["type"] == "identity":
            return bool(first["children"][1]["type"] == "index")
        first = first["children"][0]
    return False


def unparse(tree: Node) -> str:
    """Return a query text that means the same as `tree`.

    >>> import jmespath
    >>> unparse(jmespath.compile("a[?b=='x'][0].c").parsed)
    "a[?b == 'x'][0].c"
    """
    return _WRITERS[tree["type"]](tree)


def _left(tree: Node, power: int) -> str:
    """Write the operand before an operator of that binding power, in parentheses if needed."""
    if tree["type"] == "identity":
        return ""
    loose = tree["type"] in _LOOSE or _swallows(tree, power)
    return f"({unparse(tree)})" if loose else unparse(tree)


def _swallows(tree: Node, power: int) -> bool:
    """Whether text after the node, without parentheses, would belong to a projection in it."""
    if tree["type"] == "subexpression":
        return _swallows(tree["children"][-1], power)
    if tree["type"] not in PROJECTIONS or power == _FLATTEN:
        return False
    right = tree["children"][1]
    if right["type"] in {"multi_select_list", "multi_select_dict"}:
        return False  # after these jmespath continues with the whole projection
    return right["type"] == "identity" or power > _reach(tree) or _swallows(right, power)


def _reach(projection: Node) -> int:
    """Return the binding power up to which signs end the projection."""
    left = projection["children"][0]["type"]
    if projection["type"] == "value_projection":
        return _STAR if left == "identity" else _DOT
    if projection["type"] == "filter_projection":
        return _FILTER
    return _FLATTEN if left == "flatten" else _STAR


def _operand(tree: Node) -> str:
    return f"({unparse(tree)})" if tree["type"] in _LOOSE else unparse(tree)


def _right(tree: Node) -> str:
    """Write the right side of a projection, which begins with a dot or a bracket."""
    if tree["type"] == "identity":
        return ""
    return unparse(tree) if _begins_with_bracket(tree) else f".{unparse(tree)}"


def _begins_with_bracket(tree: Node) -> bool:
    first = tree
    while first["children"] and first["type"] in _CHAINS:
        below = first["children"][0]
        if below["type"] == "identity":
            return bool(first["type"] != "value_projection")  # that one begins with a star
        first = below
    return False


def _name(text: str) -> str:
    return text if _WORD.fullmatch(text) else json.dumps(text)


def _literal(tree: Node) -> str:
    value = tree["value"]
    # a raw string has no escape but that of the quote, so a text with backslashes is written as JSON
    if isinstance(value, str) and "\\" not in value:
        return "'" + value.replace("'", "\\'") + "'"
    return "`" + json.dumps(value, ensure_ascii=False).replace("`", "\\`") + "`"


def _subexpression(tree: Node) -> str:
    first, *rest = tree["children"]
    return ".".join([_left(first, _DOT), *map(unparse, rest)])


def _index_expression(tree: Node) -> str:
    first, *rest = tree["children"]
    return _left(first, _BRACKET) + "".join(map(unparse, rest))


def _slice(tree: Node) -> str:
    start, stop, step = ("" if each is None else str(each) for each in tree["children"])
    return f"[{start}:{stop}" + (f":{step}]" if step else "]")


def _projection(tree: Node) -> str:
    left, right = tree["children"]
    if left["type"] == "flatten":
        return unparse(left) + _right(right)
    if left["type"] == "index_expression" and left["children"][-1]["type"] == "slice":
        return unparse(left) + _right(right)
    return f"{_left(left, _BRACKET)}[*]{_right(right)}"


def _filter_projection(tree: Node) -> str:
    left, right, condition = tree["children"]
    return f"{_left(left, _FILTER)}[?{unparse(condition)}]{_right(right)}"


def _value_projection(tree: Node) -> str:
    left, right = tree["children"]
    before = _left(left, _DOT)
    return (f"{before}.*" if before else "*") + _right(right)


def _flatten(tree: Node) -> str:
    return f"{_left(tree['children'][0], _FLATTEN)}[]"


def _infix(sign: str) -> Callable[[Node], str]:
    return lambda tree: f" {sign} ".join(map(_operand, tree["children"]))


def _and(tree: Node) -> str:
    return _joined(tree, "&&", frozenset({"comparator", "not_expression"}))


def _or(tree: Node) -> str:
    return _joined(tree, "||", frozenset({"comparator", "not_expression", "and_expression"}))


def _joined(tree: Node, sign: str, tighter: frozenset[str]) -> str:
    """Write `left sign right`; both signs group to the left, so only the left may go bare."""
    left, right = tree["children"]
    bare_left = left["type"] in tighter | {tree["type"]}
    before = unparse(left) if bare_left else _operand(left)
    after = unparse(right) if right["type"] in tighter else _operand(right)
    return f"{before} {sign} {after}"


def _pipe(tree: Node) -> str:
    left, right = tree["children"]
    after = f"({unparse(right)})" if right["type"] == "pipe" else unparse(right)
    return f"{unparse(left)} | {after}"


def _function(tree: Node) -> str:
    return f"{tree['value']}({', '.join(map(unparse, tree['children']))})"


def _multi_select_dict(tree: Node) -> str:
    pairs = (f"{_name(each['value'])}: {unparse(each['children'][0])}" for each in tree["children"])
    return "{" + ", ".join(pairs) + "}"


_CHAINS = frozenset({"subexpression", "index_expression", "flatten", *PROJECTIONS})
_WRITERS: dict[str, Callable[[Node], str]] = {
    "field": lambda tree: _name(tree["value"]),
    "literal": _literal,
    "current": lambda _: "@",
    "identity": lambda _: "@",
    "index": lambda tree: f"[{tree['value']}]",
    "slice": _slice,
    "subexpression": _subexpression,
    "index_expression": _index_expression,
    "projection": _projection,
    "filter_projection": _filter_projection,
    "value_projection": _value_projection,
    "flatten": _flatten,
    "comparator": lambda tree: _infix(_COMPARATORS[tree["value"]])(tree),
    "and_expression": _and,
    "or_expression": _or,
    "not_expression": lambda tree: f"!({unparse(tree['children'][0])})",
    "pipe": _pipe,
    "function_expression": _function,
    "expref": lambda tree: f"&{_operand(tree['children'][0])}",
    "multi_select_list": lambda tree: f"[{', '.join(map(unparse, tree['children']))}]",
    "multi_select_dict": _multi_select_dict,
}
