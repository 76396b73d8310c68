"""Type inference: the possible results of a query on a state of known shape, and its faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jmespath.functions import Functions

from multireal_harness.lint.findings import LintFinding, finding
from multireal_harness.lint.slips import Slip, misspelt
from multireal_harness.lint.syntax import PROJECTIONS, Node, starts_with_index, unparse
from multireal_harness.states.shapes import ANY, KINDS, NOTHING, ValueShape, learn, merge

_FUNCTIONS: dict[str, Any] = Functions.FUNCTION_TABLE
_GIVES = {
    **dict.fromkeys(("contains", "ends_with", "starts_with"), "boolean"),
    **dict.fromkeys(("abs", "avg", "ceil", "floor", "length", "sum"), "number"),
    **dict.fromkeys(("join", "to_string", "type"), "string"),
    **dict.fromkeys(("keys", "map", "sort", "sort_by", "to_array", "values"), "array"),
    "merge": "object",
}
_NULL = ValueShape(frozenset({"null"}))
_BOOLEAN = ValueShape(frozenset({"boolean"}))
_OBJECT = ValueShape(frozenset({"object"}))
_ORDERINGS = frozenset({"lt", "lte", "gt", "gte"})


def infer(tree: Node, root: ValueShape = ANY) -> tuple[ValueShape, list[LintFinding], list[Slip]]:
    """Return the shape of a query's result on a state of the shape `root`, findings, and misspelt names."""
    walk = _Walk(root)
    return walk.result(tree), walk.findings, walk.misspelt


class _Walk:
    """One walk through a query, which collects `findings` and the names that are `misspelt`."""

    def __init__(self, root: ValueShape) -> None:
        self.findings: list[LintFinding] = []
        self.misspelt: list[Slip] = []
        self._root = root

    def result(self, tree: Node) -> ValueShape:
        """Return the shape of the query's result."""
        return self._visit(tree, self._root)

    def _visit(self, tree: Node, at: ValueShape) -> ValueShape:
        return _VISITORS[tree["type"]](self, tree, at)

    def _note(self, code: str, tree: Node, detail: str = "") -> None:
        found = finding(code, detail, unparse(tree))
        if found not in self.findings:
            self.findings.append(found)

    def on_field(self, tree: Node, at: ValueShape) -> ValueShape:
        if tree["value"] == "null":  # a common way to write the literal: no state has such a field
            return _NULL
        below = at.name(tree["value"])
        if below is None:
            known = f"{tree['value']!r} is not one of {_inventory(at)}"
            name = misspelt(tree["value"], at.fields)
            if name is None:
                self._note("dead_field", tree, known)
                return _NULL
            meant = {**tree, "value": name}
            self.misspelt.append(Slip(tree, "dead_field", meant))
            self._note("dead_field", tree, f"{known}; {self.misspelt[-1].advice}")
            below = at.fields[name]
        return ANY if below == NOTHING else below

    def on_current(self, _: Node, at: ValueShape) -> ValueShape:
        return at

    def on_chain(self, tree: Node, at: ValueShape) -> ValueShape:
        for child in tree["children"]:
            at = self._visit(child, at)
        return at

    def on_index(self, tree: Node, at: ValueShape) -> ValueShape:
        if not at.unknown and "array" not in at.kinds:
            self._wrong_container(tree, at)
            return _NULL
        return at.item if at.item is not None and at.item != NOTHING else ANY

    def on_slice(self, tree: Node, at: ValueShape) -> ValueShape:
        self.on_index(tree, at)
        return at

    def on_projection(self, tree: Node, at: ValueShape) -> ValueShape:
        left, right, *condition = tree["children"]
        base = self._visit(left, at)
        if tree["type"] != "value_projection" and not base.unknown and "array" not in base.kinds:
            self._wrong_container(tree, base)
            item = ANY
        else:
            item = base.item if base.item is not None and base.item != NOTHING else ANY
        if condition and item.unknown and _reads_fields(condition[0]):
            item = _OBJECT
        for each in condition:
            self._visit(each, item)
        if condition and starts_with_index(right):
            self._note("index_in_projection", tree)
            item = ANY
        return ValueShape(frozenset({"array"}), item=self._visit(right, item))

    def _wrong_container(self, tree: Node, at: ValueShape) -> None:
        if "object" in at.kinds:
            self._note("list_op_on_dict", tree, "it has ids or positions for keys; use values()")
        elif at.kinds != {"null"}:  # the cause of a null was reported at its place
            self._note("dead_field", tree, f"a {_kinds(at)} has no elements")

    def on_flatten(self, tree: Node, at: ValueShape) -> ValueShape:
        self._visit(tree["children"][0], at)
        return ValueShape(frozenset({"array"}))

    def on_comparator(self, tree: Node, at: ValueShape) -> ValueShape:
        sides = [self._visit(child, at) for child in tree["children"]]
        known = [each for each in sides if not each.unknown and each.kinds != {"null"}]
        if tree["value"] in _ORDERINGS and any("number" not in each.kinds for each in known):
            self._note("ordering_of_text", tree)
        elif (
            tree["value"] == "eq"
            and len(known) == len(sides)
            and not known[0].kinds & known[1].kinds
        ):
            self._note("never_equal", tree, f"{_kinds(known[0])} and {_kinds(known[1])}")
        return _BOOLEAN

    def on_and(self, tree: Node, at: ValueShape) -> ValueShape:
        """Return the shape of the last operand: an earlier one is the result only when it is falsy."""
        return [self._visit(child, at) for child in tree["children"]][-1]

    def on_or(self, tree: Node, at: ValueShape) -> ValueShape:
        found = [self._visit(child, at) for child in tree["children"]]
        return ANY if any(each.unknown for each in found) else merge(found[0], found[1])

    def on_function(self, tree: Node, at: ValueShape) -> ValueShape:
        name = tree["value"]
        arguments = [self._visit(child, at) for child in tree["children"]]
        if name not in _FUNCTIONS:
            near = misspelt(name, _FUNCTIONS)
            if near is None:
                self._note("unknown_function", tree, f"there is no {name}()")
                return ANY
            self.misspelt.append(Slip(tree, "misspelt_function", {**tree, "value": near}))
            self._note("misspelt_function", tree, f"{name}(); did you mean {near}()?")
            name = near
        signature = _FUNCTIONS[name]["signature"]
        variadic = bool(signature) and signature[-1].get("variadic", False)
        if len(arguments) < len(signature) or (len(arguments) > len(signature) and not variadic):
            wanted = f"{len(signature)}{' or more' if variadic else ''}"
            self._note("wrong_arguments", tree, f"{len(arguments)} given, {wanted} wanted")
        else:
            for wanted_kinds, shape in zip(signature, arguments, strict=False):
                kinds = {each.partition("-")[0] for each in wanted_kinds["types"]}
                if not kinds or "expref" in kinds or shape.unknown or shape.kinds == {"null"}:
                    continue
                if not shape.kinds & kinds:
                    wanted = " or ".join(sorted(kinds))
                    self._note("wrong_arguments", tree, f"{wanted} wanted, not {_kinds(shape)}")
        if name == "values" and arguments:
            item = arguments[0].item or _field_values(arguments[0])
            return ValueShape(frozenset({"array"}), item=item)
        return ValueShape(frozenset({_GIVES[name]})) if name in _GIVES else ANY

    def on_literal(self, tree: Node, _: ValueShape) -> ValueShape:
        return learn([tree["value"]])

    def on_boolean(self, tree: Node, at: ValueShape) -> ValueShape:
        self._chain_apart(tree, at)
        return _BOOLEAN

    def _chain_apart(self, tree: Node, at: ValueShape) -> None:
        for child in tree["children"]:
            self._visit(child, at)

    def on_expref(self, tree: Node, at: ValueShape) -> ValueShape:
        # it is applied to elements, not to the surrounding value, so that its fields cannot be checked
        del at
        self._chain_apart(tree, ANY)
        return ANY

    def on_list(self, tree: Node, at: ValueShape) -> ValueShape:
        self._chain_apart(tree, at)
        return ValueShape(frozenset({"array"}))

    def on_object(self, tree: Node, at: ValueShape) -> ValueShape:
        fields = {pair["value"]: self._visit(pair["children"][0], at) for pair in tree["children"]}
        return ValueShape(frozenset({"object"}), fields, closed=True)


def _reads_fields(tree: Node) -> bool:
    """Return whether a condition reads fields of its elements, which must be objects then."""
    if tree["type"] in {"literal", "expref", "current"}:
        return False
    if tree["type"] in {"field", "subexpression"}:
        return tree["type"] == "field" or _reads_fields(tree["children"][0])
    return any(_reads_fields(each) for each in tree["children"] if isinstance(each, dict))


def _field_values(shape: ValueShape) -> ValueShape:
    item = NOTHING
    for each in shape.fields.values():
        item = merge(item, each)
    return item if shape.closed and item != NOTHING else ANY


def _kinds(shape: ValueShape) -> str:
    return " or ".join(sorted(shape.kinds & KINDS)) or "value"


def _inventory(shape: ValueShape) -> str:
    names = sorted(shape.fields)
    if not names:
        return f"the fields of a {_kinds(shape)}"
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")  # one line


_VISITORS: dict[str, Callable[[_Walk, Node, ValueShape], ValueShape]] = {
    "field": _Walk.on_field,
    "current": _Walk.on_current,
    "identity": _Walk.on_current,
    "subexpression": _Walk.on_chain,
    "index_expression": _Walk.on_chain,
    "pipe": _Walk.on_chain,
    "index": _Walk.on_index,
    "slice": _Walk.on_slice,
    **dict.fromkeys(PROJECTIONS, _Walk.on_projection),
    "flatten": _Walk.on_flatten,
    "comparator": _Walk.on_comparator,
    "and_expression": _Walk.on_and,
    "or_expression": _Walk.on_or,
    "not_expression": _Walk.on_boolean,
    "function_expression": _Walk.on_function,
    "literal": _Walk.on_literal,
    "expref": _Walk.on_expref,
    "multi_select_list": _Walk.on_list,
    "multi_select_dict": _Walk.on_object,
}
