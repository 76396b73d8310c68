"""End states that a JMESPath query is met by, made from the query itself, and variants of them."""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from typing import Any

from multireal_harness.eval_rules.queries import QueryError, compile_query, evaluate_query, matches
from multireal_harness.lint.syntax import Node

_SIGNS = {"eq": 0, "gte": 0, "lte": 0, "gt": 1, "lt": -1, "ne": 1}
"""What is added to a number so that it is in that relation to it."""
_MIRRORED = {"gt": "lt", "lt": "gt", "gte": "lte", "lte": "gte"}
_MOST_ALTERNATIVES = 4
_BRANCHES = ("added", "deleted", "updated", "finalstate", "initialstate")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class _UnknownWayError(Exception):
    """A query of a kind from which no state is made."""


class _Place:
    """A part of a state to be: empty until it is asked to be an object, a list or a value."""

    def __init__(self, *, lists: bool) -> None:
        self.fields: dict[str, _Place] = {}
        self.items: list[_Place] | None = None
        self.value: Any = None
        self._lists = lists

    def field(self, name: str) -> _Place:
        return self.fields.setdefault(name, _Place(lists=self._lists))

    def values(self) -> _Place:
        """Return a list whose elements become the values of this object."""
        listed = _Place(lists=self._lists)
        listed.items = _Values(self)
        return listed

    def item(self, number: int) -> _Place:
        self.items = [] if self.items is None else self.items
        while len(self.items) <= number:
            self.items.append(_Place(lists=self._lists))
        return self.items[number]

    def hold(self, text: Any) -> None:
        """Contain a value: in a list if this is one, in a text otherwise."""
        if self.items and self.items[0].json() is None:
            self.items[0].value = text
        elif self.items is not None or self._lists:
            self.item(len(self.items or ())).value = text
        elif not isinstance(text, str):
            raise _UnknownWayError
        elif text not in (self.value or ""):
            self.value = f"{self.value} {text}" if self.value else text

    def give(self, value: Any) -> None:
        """Be a value, or the list of what one element has it in."""
        if isinstance(value, list) and self.items:
            self.items[0].value = value[0]
        elif isinstance(self.value, str) and self.value != value:
            raise _UnknownWayError
        else:
            self.value = value

    def json(self) -> Any:
        if self.items is not None:
            return [each.json() for each in self.items]
        if self.fields:
            return {name: each.json() for name, each in self.fields.items()}
        return self.value


class _Values(list[_Place]):
    """The elements of an object that `values()` reads as a list."""

    def __init__(self, owner: _Place) -> None:
        super().__init__(owner.fields.values())
        self._owner = owner

    def append(self, place: _Place, /) -> None:
        super().append(place)
        self._owner.fields[f"k{len(self)}"] = place


class _Builder:
    """Makes one state; `choices` says which of several ways is taken."""

    def __init__(self, *, lists: bool, fresh: bool, objects: bool, alternative: int) -> None:
        self.fresh = fresh
        self.objects = objects
        self.alternative = alternative
        self.root = _Place(lists=lists)

    def find(self, tree: Node, at: _Place) -> _Place:  # noqa: C901, PLR0911  # one for each kind of node
        """Return the place of which a path speaks; elements of a list that are asked for are made."""
        kind, children = tree["type"], tree["children"]
        if kind in {"identity", "current"}:
            return at
        if kind == "field":
            return at.field(tree["value"])
        if kind == "index":
            return at.item(max(tree["value"], 0))
        if kind in {"subexpression", "index_expression", "pipe"}:
            for each in children:
                at = self.find(each, at)
            return at
        if kind in {"or_expression", "flatten"}:
            return self.find(children[0], at)
        if kind == "function_expression" and tree["value"] == "values":
            return self.find(children[0], at).values()
        if kind == "projection":
            return self._element(self.find(children[0], at), children[1], None)
        if kind == "filter_projection":
            return self._element(self.find(children[0], at), children[1], children[2])
        if kind == "value_projection":
            return self._element(self.find(children[0], at).values(), children[1], None)
        if kind == "multi_select_list":
            return self.find(children[0], at)
        raise _UnknownWayError

    def _element(self, listed: _Place, then: Node, condition: Node | None) -> _Place:
        """Return a list with one element that meets the condition, as far as it is taken on."""
        number = len(listed.items or ()) if self.fresh and condition else 0
        element = listed.item(number)
        if condition:
            self.meet(condition, element)
        found = self.find(then, element)
        if then["type"] == "identity":
            return listed
        whole = _Place(lists=False)
        whole.items = [found]
        return whole

    def meet(self, tree: Node, at: _Place, *, wanted: bool = True) -> None:  # noqa: C901  # one for each kind of node
        kind, children = tree["type"], tree["children"]
        if kind == "not_expression":
            self.meet(children[0], at, wanted=not wanted)
        elif kind in {"and_expression", "or_expression"}:
            if (kind == "and_expression") is wanted:
                for each in children:
                    self.meet(each, at, wanted=wanted)
            else:
                flat = list(_alternatives(tree, kind))
                self.meet(flat[min(self.alternative, len(flat) - 1)], at, wanted=wanted)
        elif kind == "comparator":
            self._compare(tree, at, wanted=wanted)
        elif not wanted:
            return  # what is not there is neither true nor held
        elif kind == "function_expression" and tree["value"] != "values":
            self._call(tree, at)
        elif kind == "pipe":
            *before, last = children
            for each in before:
                at = self.find(each, at)
            self.meet(last, at)
        else:
            place = self.find(tree, at)
            if place.items is None and not place.fields and not place.value:
                place.value = True

    def _call(self, tree: Node, at: _Place) -> None:
        searched, sought = (*tree["children"], None)[:2]
        if tree["value"] == "length":  # `1 == True` in Python, and so for the benchmark
            self._count(searched, at, 1)
        elif tree["value"] in {"contains", "starts_with", "ends_with"} and sought is not None and sought["type"] == "literal":  # fmt: skip
            self.find(searched, at).hold(sought["value"])
        else:
            raise _UnknownWayError

    def _compare(self, tree: Node, at: _Place, *, wanted: bool) -> None:
        (left, right), sign = tree["children"], tree["value"]
        if left["type"] == "literal":
            left, right, sign = right, left, _MIRRORED.get(sign, sign)
        null = right["type"] == "field" and right["value"] == "null"
        if right["type"] != "literal" and not null:
            raise _UnknownWayError
        value = None if null else right["value"]
        if not wanted:
            return
        while left["type"] == "pipe":
            at, left = self.find(left["children"][0], at), left["children"][1]
        if left["type"] == "function_expression" and left["value"] == "length":
            self._count(left["children"][0], at, _in_relation(value, sign))
            return
        place = self.find(left, at)
        if sign == "ne" and value in (
            None,
            "",
            False,
        ):  # anything else is right, such as what is there
            if place.items is None and not place.fields and place.value is None:
                place.value = "text" if value is None or value == "" else True
        else:
            place.give(_in_relation(value, sign))

    def _count(self, counted: Node, at: _Place, number: int) -> None:
        steps = counted["children"] if counted["type"] == "pipe" else [counted]
        for each in steps[:-1]:
            at = self.find(each, at)
        counted = steps[-1]
        if counted["type"] == "or_expression":
            counted = counted["children"][0]
        if counted["type"] == "filter_projection":
            listed = self.find(counted["children"][0], at)
            begin = len(listed.items or ()) if self.fresh else 0
            for each in range(begin, begin + number):
                element = listed.item(each)
                self.meet(counted["children"][2], element)
                self.find(counted["children"][1], element)
        else:
            listed = self.find(counted, at)
            if self.objects and listed.items is None:
                listed = listed.values()
            for each in range(number):
                element = listed.item(each)
                if element.json() is None:
                    element.field("id")
        if not number and listed.items is None:
            listed.items = []


def _in_relation(value: Any, sign: str) -> Any:
    if isinstance(value, bool):
        return value is (sign == "eq")
    if isinstance(value, int | float):
        return value + _SIGNS[sign]
    if sign not in {"eq", "ne"}:
        raise _UnknownWayError
    return value if sign == "eq" else "another"


def _alternatives(tree: Node, kind: str) -> Iterator[Node]:
    for each in tree["children"]:
        yield from _alternatives(each, kind) if each["type"] == kind else [each]


def is_met(query: str, state: Any, expected: Any = True) -> bool:
    """Return whether a query gives what is expected of a state; one that does not compile is never met."""
    try:
        found = evaluate_query(query, state)
    except QueryError:
        return False
    return found.error is None and matches(found.value, expected)


def met_states(query: str, expected: Any = True) -> list[Any]:
    """Return small states on which a query gives what is expected; an empty list where none was found."""
    try:
        parsed: Any = compile_query(query).parsed
    except QueryError:
        return []
    found: list[Any] = []
    either = (False, True)
    for lists, fresh, objects, alternative in itertools.product(
        either, either, either, range(_MOST_ALTERNATIVES)
    ):
        builder = _Builder(lists=lists, fresh=fresh, objects=objects, alternative=alternative)
        try:
            if isinstance(expected, bool):
                builder.meet(parsed, builder.root, wanted=expected)
            else:
                builder.find(parsed, builder.root).value = expected
        except (_UnknownWayError, TypeError, AttributeError):
            continue
        state = builder.root.json() or {}
        if state not in found and is_met(query, state, expected):
            found.append(state)
    return found


def variants(state: Any) -> Iterator[Any]:
    """Yield states that differ from one in a single place: another value, none, one element more or less, moved."""
    for path in list(_paths(state)):
        value = _at(state, path)
        for other in _others(value):
            yield _with(state, path, other)
        if path and path[-1] in _BRANCHES:
            for branch in _BRANCHES:
                parent = _at(state, path[:-1])
                others = {key: each for key, each in parent.items() if key != path[-1]}
                yield _with(state, path[:-1], {**others, path[-1]: type(value)(), branch: value})


def _others(value: Any) -> Iterable[Any]:
    yield None
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value - 1, value + 1, value + 10)
    elif isinstance(value, str):
        yield from (
            "another",
            value.title(),
            value[0].upper() + value[1:],
            value[1:],
            value.lower(),
        )
        for found in _DAY.finditer(value):
            try:
                day = date.fromisoformat(found[0])
            except ValueError:
                continue
            yield from (value.replace(found[0], f"{day + timedelta(each)}") for each in (-1, 1))
        yield from (value.replace("PM", "AM"), value.replace("people", "guests"))
    elif isinstance(value, list):
        yield from ([], value[1:], [*value, *copy.deepcopy(value)], [{"id": "else"}, *value])
    elif isinstance(value, dict):
        yield {}
        yield from ({key: each for key, each in value.items() if key != left} for left in value)
        if value and all(isinstance(each, dict) for each in value.values()):
            yield {**value, **{f"{key}2": copy.deepcopy(each) for key, each in value.items()}}


def _paths(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield before
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    for key, each in inner:
        yield from _paths(each, (*before, key))


def _at(value: Any, path: Iterable[Any]) -> Any:
    for each in path:
        value = value[each]
    return value


def _with(state: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    state = copy.deepcopy(state)
    _at(state, path[:-1])[path[-1]] = value
    return state
