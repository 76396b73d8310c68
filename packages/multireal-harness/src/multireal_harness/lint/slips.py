"""Slips of the pen in a query: the written part, and the most likely meaning."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from jmespath.lexer import Lexer

from multireal_harness.eval_rules.queries import QueryError, compile_query
from multireal_harness.lint.syntax import Node, unparse, walk

_WORDS = {"true": True, "false": False}
_HAYSTACK_FIRST = frozenset({"contains", "ends_with", "starts_with"})
_NUMBERS = frozenset({"abs", "avg", "ceil", "floor", "length", "sum"})
_ALIKE = 0.75
"""How alike two names must be for one to be the other misspelt: `subjct` and `subject` are by .92."""
# Syntax commonly carried over from other languages, each with JMESPath's own.
_FOREIGN = (
    (r"[\u2018\u2019]", "'"),
    (r"[\u201c\u201d]", "'"),
    (r"(?<![=!<>])=(?!=)", "=="),
    (r"===", "=="),
    (r"\bAND\b|\band\b", "&&"),
    (r"\bOR\b|\bor\b", "||"),
    (r"\bNOT\s+|\bnot\s+", "!"),
    (r"(==|!=|<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)", r"\1 `\2`"),
    (r"==\s*None\b", "== null"),
)
_CLEARLY = 0.1
"""By how much the best of two names must be more alike."""
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_BEGIN_AND_END = (("start", "end"), ("checkin", "checkout"), ("startDate", "endDate"))
_COUNTED = re.compile(r"(.*[^\s!=<>])(\s*[!=<>]+\s*`\d+`)")
"""A query up to the number with which it compares, before which a function ends."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Slip(NamedTuple):
    """A part of a query that was hardly meant.

    Attributes:
        node: The part in the query's tree.
        code: The code of the finding.
        meant: The correct part.
    """

    node: Node
    code: str
    meant: Node

    @property
    def advice(self) -> str:
        """The question to the author."""
        return f"did you mean {unparse(self.meant)}?"


def slips_in(query: str, tree: Node) -> Iterator[Slip]:
    """Yield the slips that the query shows by itself.

    Double quotes name a field, `true` without backticks is a field, and `contains` takes the searched value first.
    """
    tokens = Lexer().tokenize(query)
    quoted = {each["value"] for each in tokens if each["type"] == "quoted_identifier"}
    for each in walk(tree):
        operands = each["children"] if each["type"] in {"comparator", "function_expression"} else []
        for operand in operands:
            if operand["type"] != "field":
                continue
            if operand["value"] in _WORDS and operand["value"] not in quoted:
                yield Slip(operand, "bare_boolean", _literal(_WORDS[operand["value"]]))
            elif operand["value"] in quoted:
                yield Slip(operand, "wrong_quotes", _literal(operand["value"]))
        if each["type"] == "function_expression" and each["value"] in _HAYSTACK_FIRST:
            texts = [one["type"] == "literal" and isinstance(one["value"], str) for one in operands]
            if texts == [True, False] and operands[1]["type"] != "literal":
                swapped = {**each, "children": operands[::-1]}
                yield Slip(each, "swapped_arguments", swapped)
        if each["type"] == "comparator" and operands[0].get("value") in _NUMBERS and _is_digits(operands[1]):  # fmt: skip
            yield Slip(operands[1], "quoted_number", _literal(int(operands[1]["value"])))
        if each["type"] == "and_expression" and any(one["type"] == "literal" and not one["value"] for one in each["children"]):  # fmt: skip
            yield Slip(each, "never_met", {**each, "type": "or_expression"})
    yield from _ends_first(tree)


def _is_digits(tree: Node) -> bool:
    value = tree["value"] if tree["type"] == "literal" else None
    return isinstance(value, str) and value.isascii() and value.isdecimal()


def _ends_first(tree: Node) -> Iterator[Slip]:
    """Yield the two comparisons of a record's beginning and end where the end comes first."""
    for each in walk(tree):
        if each["type"] != "and_expression":
            continue
        equal = {
            unparse(one["children"][0]): one
            for one in walk(each)
            if one["type"] == "comparator" and one["value"] == "eq"
        }
        for begin, end in _BEGIN_AND_END:
            both = [equal[each] for each in (begin, end) if each in equal]
            values = [one["children"][1].get("value") for one in both]
            if (
                len(both) == 2
                and all(isinstance(v, str) and _DAY.match(v) for v in values)
                and values[0] > values[1]
            ):
                for one, value in zip(both, reversed(values), strict=True):
                    meant = {**one, "children": [one["children"][0], _literal(value)]}
                    yield Slip(one, "ends_first", meant)
                return


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Return the one name in `known` that `name` misspells; None if there is none or more than one.

    >>> misspelt("subjct", ["subject", "to"]), misspelt("checkIn", ["checkin", "checkout"])
    ('subject', 'checkin')
    >>> misspelt("restaurantName", ["restaurant", "date"])
    """
    names = list(known)
    same = [each for each in names if _plain(each) == _plain(name)]
    # a name of more words is another name: `pickupTime` is not a misspelt `pickup`
    alike = [each for each in names if len(_WORD.findall(each)) == len(_WORD.findall(name))]
    found = same or difflib.get_close_matches(name, alike, n=2, cutoff=_ALIKE)
    if len(found) > 1:
        first, second = (difflib.SequenceMatcher(None, name, each).ratio() for each in found[:2])
        return found[0] if first - second > _CLEARLY else None
    return found[0] if found else None


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()


def compiling(query: str) -> str | None:
    """Return a query that compiles, with JMESPath's signs and closed brackets; None if no way is known."""
    for text in _rewritten(query):
        try:
            compile_query(text)
        except QueryError:
            continue
        return text
    return None


def _rewritten(query: str) -> Iterator[str]:
    texts = [query]
    for pattern, sign in _FOREIGN:
        texts += [
            changed for each in texts if (changed := _outside_texts(pattern, sign, each)) != each
        ]
    for each in dict.fromkeys(texts):
        yield each
        counted = _COUNTED.fullmatch(each)
        if counted and _closed(counted[1]) == f"{counted[1]})":
            yield f"{counted[1]}){counted[2]}"
        yield _closed(each)
        yield each[:-1]


def _outside_texts(pattern: str, sign: str, query: str) -> str:
    """Replace outside of texts in quotes or backticks."""
    parts = re.split(r"('(?:[^'\\]|\\.)*'|`[^`]*`|\"[^\"]*\")", query)
    return "".join(
        part if number % 2 else re.sub(pattern, sign, part) for number, part in enumerate(parts)
    )


def _closed(query: str) -> str:
    """Close the open brackets and quotes of a query."""
    waiting: list[str] = []
    text = ""
    for sign in query:
        if text:
            text = "" if sign == text else text
        elif sign in "'`\"":
            text = sign
        elif sign in _PAIRS:
            waiting.append(_PAIRS[sign])
        elif waiting and sign == waiting[-1]:
            waiting.pop()
    return query + text + "".join(reversed(waiting))


def replaced(tree: Node, slips: Iterable[Slip]) -> Node:
    """Return the tree with the intended part in place of each slip."""
    return _replaced(tree, {id(each.node): each.meant for each in slips})


def _replaced(tree: Node, meant: dict[int, Node]) -> Node:
    tree = meant.get(id(tree), tree)
    children = [
        _replaced(each, meant) if isinstance(each, dict) else each for each in tree["children"]
    ]
    return {**tree, "children": children}


def _literal(value: Any) -> Node:
    return {"type": "literal", "value": value, "children": []}
