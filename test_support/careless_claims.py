"""Careless variants of a claim, by kind: a fact dropped, records mixed, a bound turned, and so on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["careless"]

Node = dict[str, Any]
Variants = list[Node]


def careless(assertion: Node) -> Iterator[tuple[str, Node]]:
    """Yield each careless variant of an assertion with its kind.

    >>> flag = {"op": "flag", "field": "/on", "value": True}
    >>> [kind for kind, _ in careless({"op": "exists", "over": "/a/*", "where": flag})]
    ['condition dropped', 'some for none', 'flag turned']
    """
    seen = {json.dumps(assertion, sort_keys=True)}
    for place, node in _nodes(assertion, ()):
        for kind, variants in _KINDS.items():
            for variant in variants(node):
                made = _put(assertion, place, variant)
                text = json.dumps(made, sort_keys=True)
                if text not in seen:
                    seen.add(text)
                    yield kind, made


def _nodes(node: Node, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Node]]:
    yield place, node
    for name in ("of", "where", "holds"):
        below = node.get(name)
        for number, each in enumerate(
            below if isinstance(below, list) else [below] if below else []
        ):
            yield from _nodes(each, (*place, name, *([number] if isinstance(below, list) else [])))


def _put(node: Any, place: tuple[Any, ...], new: Any) -> Any:
    if not place:
        return new
    copy = list(node) if isinstance(node, list) else dict(node)
    copy[place[0]] = _put(node[place[0]], place[1:], new)
    return copy


def _of(*ops: str) -> Callable[[Callable[[Node], Variants]], Callable[[Node], Variants]]:
    return lambda change: lambda node: change(node) if node["op"] in ops else []


def _dropped(*ops: str) -> Callable[[Node], Variants]:
    """Leave out one part of an `and`, of these kinds or of any."""

    def change(node: Node) -> Variants:
        parts = node["of"] if node["op"] == "and" else []
        left = [[*parts[:n], *parts[n + 1 :]] for n, each in enumerate(parts) if not ops or each["op"] in ops]  # fmt: skip
        return [{**node, "of": each} if len(each) > 1 else each[0] for each in left if each]

    return change


def _mixed(node: Node) -> Variants:
    """Let another record meet the last condition."""
    parts = node.get("where", {}).get("of", []) if node["op"] == "exists" else []
    if len(parts) < 2 or node["where"]["op"] != "and":
        return []
    two = [{**node, "where": {"op": "and", "of": each}} for each in (parts[:-1], parts[-1:])]
    return [{"op": "and", "of": two}]


def _texts(change: Callable[[str], str | None]) -> Callable[[Node], Variants]:
    def variants(node: Node) -> Variants:
        name = {"is": "values", "contains": "phrases"}.get(node["op"])
        other = change(node[name][0]) if name else None
        return [{**node, name: [other]}] if name and other else []

    return variants


def _other_day(node: Node) -> Variants:
    day = node["value"][:10]
    return [{**node, "value": f"{day[:-1]}{(int(day[-1]) + 1) % 10}{node['value'][10:]}"}] if "-" in day else []  # fmt: skip


_LESS = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_KINDS: dict[str, Callable[[Node], Variants]] = {
    "fact dropped": _dropped(),
    "condition dropped": _of("exists")(lambda n: [{k: v for k, v in n.items() if k != "where"}] if "where" in n else []),
    "status ignored": _dropped("word"),
    "what the run did ignored": _dropped("created", "changed", "moved", "deleted", "before"),
    "records mixed": _mixed,
    "negation lost": _of("not")(lambda n: [n["of"]]),
    "some for none": _of("none", "exists")(lambda n: [{**n, "op": "exists" if n["op"] == "none" else "none"}]),
    "some for all": _of("all")(lambda n: [{"op": "exists", "over": n["over"], "where": n["holds"]}]),
    "any for all parts": _of("and")(lambda n: [{**n, "op": "or"}]),
    "flag turned": _of("flag")(lambda n: [{**n, "value": not n["value"]}]),
    "one more": _of("number")(lambda n: [{**n, "value": n["value"] + 1}]),
    "one less": _of("number")(lambda n: [{**n, "value": n["value"] - 1}]),
    "a bound for a number": _of("number", "moment")(lambda n: [{**n, "compare": each} for each in ("<=", ">=") if n.get("compare", "=") == "="]),
    "bound turned": _of("number", "moment")(lambda n: [{**n, "compare": _LESS[n["compare"]]}] if n.get("compare") in _LESS else []),
    "another day": _of("moment")(_other_day),
    "time ignored": _of("moment")(lambda n: [{**n, "value": n["value"][:10]}] if "T" in n["value"] else []),
    "day ignored": _of("moment")(lambda n: [{**n, "value": n["value"][11:]}] if "T" in n["value"] else []),
    "zone wrong": _of("moment")(lambda n: [{**n, "zone": "Asia/Tokyo"}] if "T" in n["value"] else []),
    "currency wrong": _of("number")(lambda n: [{**n, "currency": "JPY"}] if n.get("currency") else []),
    "currency ignored": _of("number")(lambda n: [{**n, "currency": None}] if n.get("currency") else []),
    "a wrong word accepted": _of("word")(lambda n: [{**n, "accept": [*n["accept"], n["reject"][0]], "reject": n["reject"][1:]}] if n["reject"] else []),
    "part of a name": _texts(lambda t: t.split()[0] if " " in t else None),
    "another name": _texts(lambda t: f"{t} II"),
}  # fmt: skip
