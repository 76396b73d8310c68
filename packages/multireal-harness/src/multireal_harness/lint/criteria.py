"""Find parts of a query that differ from its criterion: the opposite, more, less, or another place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial, reduce
from itertools import chain
from typing import Any

from multireal_harness.lint.slips import Slip
from multireal_harness.lint.syntax import Node, node, unparse, walk

_GONE = re.compile(
    r"\b(?:deleted|removed|cancell?ed|cleared|emptied|empty|gone|only|archived|moved)\b",
    re.IGNORECASE,
)
_MADE = re.compile(
    r"\b(?:added|booked|created|made|ordered|placed|reserved|saved|sent)\b", re.IGNORECASE
)
_NOTHING = re.compile(r"\b(?:that|verify) (?:no|nothing|none|neither)\b", re.IGNORECASE)
# words by which a criterion asks for more than one
_SEVERAL = re.compile(
    r"\b(?:all|another|both|each|every|multiple|other|several|second|full)\b|\bnot empty\b|\bat least\b",
    re.IGNORECASE,
)
# words by which a criterion may mean another element than the first
_LATER = re.compile(
    r"\b(?:second|third|both|all|each|two|three|last|other|cc|guests|recipients)\b", re.IGNORECASE
)
_EITHER = re.compile(r"\b(?:or|either|any)\b", re.IGNORECASE)
_QUOTED = re.compile(r"'[^']*'")
_SOME = (("gte", 1), ("gt", 0), ("ne", 0))
_NONE = (("eq", 0), ("lt", 1), ("lte", 0))
_TEXTS = frozenset({"contains", "ends_with", "starts_with"})
_BRANCHES = frozenset({"added", "deleted", "updated"})
_AND, _OR = partial(node, "and_expression"), partial(node, "or_expression")
_SIDES = {"finalstate", "initialstate"}
_PLACES = {
    "subject": ("subject", "title"),
    "title": ("title", "subject"),
    "location": ("location",),
    "body": ("content", "body", "description"),
}
"""The apps' fields for such words of a goal; the first is meant if the query names another of them."""
_CALLED = re.compile(
    r"\b(subject|title|location|body)d?(?: line)?(?: is| as| of| should be| reads?)?:? '([^']{3,})'",
    re.IGNORECASE,
)


def slips_beside(goal: str, criterion: str, tree: Node, *, positive: bool) -> Iterator[Slip]:
    """Yield the parts of a query that contradict its criterion, each with the likely meaning.

    Args:
        goal: The agent's goal.
        criterion: The query's criterion.
        tree: The query.
        positive: Whether the criterion asks for something rather than for its absence.
    """
    said = _QUOTED.sub("", criterion)
    yield from _counts(criterion, tree, positive=positive)
    apart = (each for each in walk(tree) if each["type"] == "or_expression" and _facts_apart(each))
    if not _EITHER.search(said) and (either := next(apart, None)) is not None:
        yield Slip(either, "either_suffices", _together(either))
    compared = any(_names(each) >= _SIDES for each in walk(tree) if each["type"] == "comparator")
    for each in walk(tree):
        if (
            each["type"] == "field"
            and each["value"] == "initialstate"
            and positive
            and not compared
        ):
            yield Slip(each, "reads_beginning", {**each, "value": "finalstate"})
        elif each["type"] == "index" and each["value"] > 0 and not _LATER.search(said):
            yield Slip(each, "later_element", {**each, "value": 0})
    yield from _other_fields(goal, tree)
    yield from _other_branch(said, tree, positive=positive)


def _counts(criterion: str, tree: Node, *, positive: bool) -> Iterator[Slip]:
    """Yield a comparison that is met by the opposite of the criterion, or by more than it asks for."""
    none = False
    if tree["type"] == "comparator" and (number := _literal(tree["children"][1])) is not None:
        left = tree["children"][0]
        counts = left["type"] == "function_expression" and left["value"] == "length"
        doubly = any(each["type"] == "not_expression" or each.get("value") == "ne" for each in walk(left))  # fmt: skip
        sign = (tree["value"], number)
        none = counts and sign in _NONE
        if none and positive and not doubly and not _GONE.search(criterion):
            yield Slip(tree, "opposite", _comparing(tree, "gte", 1))
        elif counts and sign in _SOME and _NOTHING.search(criterion):
            yield Slip(tree, "opposite", _comparing(tree, "eq", 0))
        elif counts and sign == ("lte", 1) and positive and not _GONE.search(criterion):
            yield Slip(tree, "opposite", _comparing(tree, "gte", 1))
        elif counts and sign == ("gt", 1) and not _SEVERAL.search(criterion):
            yield Slip(tree, "asks_more", _comparing(tree, "gte", 1))
    for each in walk(tree):
        if each["type"] == "comparator" and each["value"] == "ne" and positive and not none:
            value = _literal(each["children"][1])
            if value not in (None, "", False):
                yield Slip(each, "opposite", {**each, "value": "eq"})


def _facts_apart(either: Node) -> bool:
    """Whether the alternatives are of other fields and values, or one of them forgets fields of the other."""
    one, other = (_facts(each) for each in either["children"])
    fields = [{field for field, _ in each} for each in (one, other)]
    values = [{repr(value) for _, value in each} for each in (one, other)]
    if not one or not other:
        return False
    if not fields[0] & fields[1]:
        return not values[0] & values[1]
    return fields[0] < fields[1] or fields[1] < fields[0]


def _together(either: Node) -> Node:
    """Require a condition that one alternative forgets in all of them: `a && (b || c)` for `a && b || c`."""
    alternatives = [
        list(_parts(each, "and_expression")) for each in _parts(either, "or_expression")
    ]
    fields = [{field for part in each for field, _ in _facts(part)} for each in alternatives]
    least = min(fields, key=lambda each: (-fields.count(each), len(each)))
    kept = [
        [part for part in each if {f for f, _ in _facts(part)} <= least] for each in alternatives
    ]
    rest = reduce(_OR, (reduce(_AND, each) for each in kept if each))
    flat = [part if part not in chain(*kept) else rest for each in alternatives for part in each]
    return reduce(_AND, [part for at, part in enumerate(flat) if part not in flat[:at]])


def _parts(tree: Node, kind: str) -> Iterator[Node]:
    for each in tree["children"] if tree["type"] == kind else []:
        yield from _parts(each, kind)
    if tree["type"] != kind:
        yield tree


def _facts(tree: Node) -> list[tuple[str, Any]]:
    if tree["type"] in {"and_expression", "or_expression"}:
        found = [_facts(each) for each in tree["children"]]
        return [fact for each in found for fact in each] if all(found) else []
    if tree["type"] == "field":
        return [(tree["value"], True)]
    place, value = _sought(tree)
    return [] if place is None else [(unparse(place), value)]


def _sought(tree: Node) -> tuple[Node | None, Any]:
    """Return the place and the value of a condition; (None, None) for another kind of node."""
    equal = tree["type"] == "comparator" and tree["value"] == "eq"
    holds = tree["type"] == "function_expression" and tree["value"] in _TEXTS
    if not (equal or holds) or len(tree["children"]) != 2:
        return None, None
    place, sought = tree["children"]
    if place["type"] == "or_expression":  # `title || ''`
        place = place["children"][0]
    value = _literal(sought)
    return (None, None) if value is None or place["type"] == "literal" else (place, value)


def _other_fields(goal: str, tree: Node) -> Iterator[Slip]:
    """Yield fields in which a text is sought that the goal wants in another."""
    wanted = {text.casefold(): _PLACES[kind.lower()] for kind, text in _CALLED.findall(goal)}
    found = [(place, value) for each in walk(tree) for place, value in [_sought(each)] if place]
    for place, value in found:
        name = place["children"][-1] if place["type"] == "subexpression" else place
        names = wanted.get(str(value).casefold())
        fields = {unparse(each).rpartition(".")[2] for each, other in found if other == value}
        known = {field for each in _PLACES.values() for field in each}
        if names and name["type"] == "field" and fields <= known and not fields & set(names):
            yield Slip(name, "other_field", {**name, "value": names[0]})


def _other_branch(said: str, tree: Node, *, positive: bool) -> Iterator[Slip]:
    """Yield `added` if the criterion says that something was removed, and `deleted` if something was made."""
    fields = [each for each in walk(tree) if each["type"] == "field" and each["value"] in _BRANCHES]
    went, came = _GONE.search(said), _MADE.search(said)
    wrong, meant = ("added", "deleted") if went else ("deleted", "added")
    none = tree["type"] == "comparator" and (tree["value"], _literal(tree["children"][1])) in _NONE
    if (
        positive
        and not none
        and bool(went) is not bool(came)
        and {each["value"] for each in fields} == {wrong}
    ):
        yield from (Slip(each, "opposite", {**each, "value": meant}) for each in fields)


def _names(tree: Node) -> set[str]:
    return {each["value"] for each in walk(tree) if each["type"] == "field"}


def _literal(tree: Node) -> Any:
    return tree["value"] if tree["type"] == "literal" else None


def _comparing(tree: Node, sign: str, number: int) -> Node:
    right = {**tree["children"][1], "value": number}
    return {**tree, "value": sign, "children": [tree["children"][0], right]}
