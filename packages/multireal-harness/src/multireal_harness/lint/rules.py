"""The rules of `lint`: the findings about one eval, and its rewrite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

from multireal_harness.definitions import Definition, Eval
from multireal_harness.eval_rules.queries import QueryError, compile_query, evaluate_query, matches
from multireal_harness.lint.criteria import slips_beside
from multireal_harness.lint.findings import EvalReport, Fix, LintFinding, finding
from multireal_harness.lint.fixes import fix_of
from multireal_harness.lint.inference import infer
from multireal_harness.lint.slips import Slip, compiling, replaced, slips_in
from multireal_harness.lint.syntax import Node, is_path, normalise, unparse, walk
from multireal_harness.lint.values import (
    is_concrete,
    nearest_day,
    nearest_number,
    nearest_text,
    past_dates,
    unasked,
)
from multireal_harness.states.schemas import Schemas
from multireal_harness.states.shapes import ANY, ValueShape

_NEGATIVE = re.compile(r"\b(no|not|never|without|none|didn't|wasn't)\b", re.IGNORECASE)
# "at least two", "exactly three": criteria for which a count of 1 is wrong.
_MANY = re.compile(
    r"\b(?:that|least|exactly|verify)\s+(?:two|three|four|five|six|seven|eight|nine|ten|[2-9])\b",
    re.IGNORECASE,
)
# 20 published evals have a year that their goal does not name, so that they fail in any other year.
_YEAR = re.compile(r"\b(20\d\d)\b")
_TAG = re.compile(r"</?[a-z][^>]*>")
"""Tags that an app's editor puts around its text."""
_SEEDED = frozenset({"finalstate", "initialstate", "state"})
"""Parts of a state that an untouched app fills with content of its own, which is not known here."""
_SHORTEST = 4
_PRESENCE = (0, 1, None, "")
"""Values that ask whether there is anything."""
_LIST_USES = frozenset({"projection", "filter_projection"})
_UNORDERED = frozenset({"keys", "values"})
"""Functions whose result has the order of an object's keys, which an app need not keep."""
_KINDS = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object",
          list: "array", type(None): "null"}  # fmt: skip


def lint_task(
    definition: Definition, schemas: Schemas | None = None, today: date | None = None
) -> list[EvalReport]:
    """Return a report for each JMESPath eval of a task; a date that is past stands in the first one.

    Args:
        definition: The task.
        schemas: Shapes of the apps' states; without them only the query's own structure is checked.
        today: The day at which dates are past, that of the machine where none is given.
    """
    reports = [
        lint_eval(definition, index, one, schemas)
        for index, one in enumerate(definition.evals)
        if one.kind == "jmespath"
    ]
    past = ", ".join(past_dates(definition, today or datetime.now(UTC).date()))
    if past and reports:
        findings = (*reports[0].findings, finding("past_date", past, "the goal"))
        reports[0] = reports[0].model_copy(update={"findings": findings})
    return reports


def lint_eval(
    definition: Definition, index: int, one: Eval, schemas: Schemas | None = None
) -> EvalReport:
    """Return the findings about one eval, and its rewrite if one is known."""
    schemas = schemas and schemas.of(definition)
    try:
        parsed: Any = compile_query(one.query).parsed
        tree = normalise(parsed)
        slips = list(slips_in(one.query, tree))
        found = [finding(each.code, each.advice, unparse(each.node)) for each in slips]
        tree = replaced(tree, slips)
        others, misspelt = _findings(definition, one, tree, schemas)
        beside = list(_beside(definition, one, tree))
        found += [
            *others,
            *(finding(each.code, each.advice, unparse(each.node)) for each in beside),
        ]
        slips += [*misspelt, *beside]
        fix = fix_of(one, tree, found, slips, positive=_is_positive(one))
        if fix is not None:
            fix = _checked(definition, one, fix, schemas)
    except QueryError as error:
        found, fix = [finding("does_not_compile", error.reason)], None
        text = compiling(one.query)
        if text is not None:
            found = [finding("does_not_compile", f"{error.reason}; did you mean {text}?")]
            fix = _compiled(definition, index, one.model_copy(update={"query": text}), schemas)
    except RecursionError:
        found, fix = [finding("too_deep")], None
    if one.is_todo:
        found.append(finding("todo_expectation"))
    return EvalReport(
        task_id=definition.id,
        index=index,
        query=one.query,
        expected_value=one.expected_value,
        criterion=one.criterion,
        findings=tuple(found),
        fix=fix,
    )


def _compiled(definition: Definition, index: int, one: Eval, schemas: Schemas | None) -> Fix:
    """Return the rewrite of an eval that compiles by now, with its other faults fixed, too."""
    change = "written in JMESPath's signs"
    further = lint_eval(definition, index, one, schemas).fix
    if further is not None:
        return further.model_copy(update={"changes": (change, *further.changes)})
    fix = Fix(query=one.query, expected_value=one.expected_value, changes=(change,))
    return _checked(definition, one, fix, schemas)


def _checked(definition: Definition, one: Eval, fix: Fix, schemas: Schemas | None) -> Fix:
    """Lint a rewrite itself, which may still be wrong, or be satisfied by doing nothing."""
    mended = one.model_copy(update={"query": fix.query, "expected_value": fix.expected_value})
    parsed: Any = compile_query(fix.query).parsed
    left = {
        each.code
        for each in _findings(definition, mended, normalise(parsed), schemas)[0]
        if each.severity == "fatal" or (each.code == "null_agent_passes" and _is_positive(one))
    }
    return fix.model_copy(update={"left": tuple(sorted(left))})


def _findings(
    definition: Definition, one: Eval, tree: Node, schemas: Schemas | None
) -> tuple[list[LintFinding], list[Slip]]:
    whole = ANY if schemas is None else schemas.state(definition.apps)
    split = schemas is not None and not definition.multi
    result, found, misspelt = infer(tree, whole.fields[definition.apps[0]] if split else whole)
    found += _wrong_result(one, result)
    found += _foreign_apps(definition, tree)
    found += _contradictions(tree)
    if one.expected_value is False and _is_positive(one):
        found.append(finding("inverted_expected", one.description))
    found += _unordered(tree)
    found += _literals(definition, one, tree)
    if schemas is not None:
        found += _on_untouched(definition, one, tree, schemas)
    return found, misspelt


def _beside(definition: Definition, one: Eval, tree: Node) -> Iterator[Slip]:
    if one.expected_value is True:
        yield from slips_beside(definition.goal, one.description, tree, positive=_is_positive(one))


def _wrong_result(one: Eval, result: ValueShape) -> Iterator[LintFinding]:
    wanted = _KINDS[type(one.expected_value)]
    if one.is_todo or result.unknown or wanted in result.kinds:
        return
    if wanted == "boolean" and result.kinds == {"number"}:
        yield finding("number_result")
        # Python's `1 == True` lets a count of exactly 1 pass, as 11 published evals need
        if not _is_positive(one) or _MANY.search(one.description):
            yield finding("wrong_number", one.description)
    elif wanted == "boolean" and "array" in result.kinds:
        yield finding("list_result")
    elif result.kinds != {"null"}:  # the cause of a null has its own finding
        yield finding("value_result", f"{' or '.join(sorted(result.kinds))}, not {wanted}")


def _foreign_apps(definition: Definition, tree: Node) -> Iterator[LintFinding]:
    if not definition.multi:
        return
    for name in _roots(tree):
        if name not in definition.apps and name != "null":
            yield finding("foreign_app", f"{name!r} is not one of {', '.join(definition.apps)}")


def _contradictions(tree: Node) -> Iterator[LintFinding]:
    """Yield paths from the root that are used as a list in one place and as an object in another."""
    lists, objects = set(), set()
    for each in walk(tree):
        if each["type"] in _LIST_USES and is_path(each["children"][0]):
            lists.add(unparse(each["children"][0]))
        elif each["type"] == "subexpression":
            steps = each["children"]
            objects |= {
                unparse({**each, "children": steps[:n]}) if n > 1 else unparse(steps[0])
                for n in range(1, len(steps))
                if steps[n]["type"] == "field"
            }
    for path in sorted(lists & objects):
        yield finding("contradictory_use", where=path)


def _roots(tree: Node) -> set[str]:
    """Return the names that the query reads from the root of the state."""
    if tree["type"] == "field":
        return {tree["value"]}
    if tree["type"] in {"expref", "literal"} or not tree["children"]:
        return set()
    first_only = {"subexpression", "index_expression", "pipe", "flatten", "projection",
                  "filter_projection", "value_projection"}  # fmt: skip
    children = tree["children"][:1] if tree["type"] in first_only else tree["children"]
    return set().union(*(_roots(child) for child in children if isinstance(child, dict)))


def _is_positive(one: Eval) -> bool:
    return _NEGATIVE.search(one.description) is None


# 48 published evals take the first of `values()`, which finds a left-over event as well as the new one.
def _unordered(tree: Node) -> Iterator[LintFinding]:
    for each in walk(tree):
        if each["type"] == "index_expression":
            first, *rest = each["children"]
            last = first["children"][-1] if first["type"] == "subexpression" else first
            values = last["type"] == "function_expression" and last["value"] in _UNORDERED
            if values and any(child["type"] == "index" for child in rest):
                yield finding("first_of_unordered", where=unparse(each))
                return


def _literals(definition: Definition, one: Eval, tree: Node) -> Iterator[LintFinding]:
    """Yield values that the query or its expectation asks for and the goal does not name, and the reverse."""
    literals = [each for each in walk(tree) if each["type"] == "literal"]
    # `> 3` asks for at least 4: a bound that is not itself an answer is not among the goal's numbers
    bounds = [
        side
        for each in walk(tree)
        if each["type"] == "comparator" and each["value"] in {"gt", "lt"}
        for side in each["children"]
    ]
    asked: list[tuple[Any, str]] = [
        (each["value"], unparse(each)) for each in literals if each not in bounds
    ]
    values = [
        value
        for value in (each["value"] for each in literals)
        if not isinstance(value, bool) and value not in _PRESENCE
    ]
    also = [] if one.is_todo else [(one.expected_value, "the expected value")]
    found = [f for value, where in [*asked, *also] for f in _of_value(definition, one, value, where, values)]  # fmt: skip
    yield from found
    if not isinstance(one.expected_value, bool):
        return
    if is_concrete(one.description) and not values:
        yield finding("asks_less", repr(one.description))
    elif _is_positive(one) and all(each.code != "date_not_in_goal" for each in found):
        texts = [text for each in values for text in (each if isinstance(each, list) else [each])]
        if left_out := list(unasked(one.description, texts)):
            yield finding("asks_less", ", ".join(left_out))


def _of_value(
    definition: Definition, one: Eval, value: Any, where: str, values: list[Any]
) -> Iterator[LintFinding]:
    goal, said = definition.goal, f"{definition.goal} {one.description}"
    if isinstance(value, int | float) and not isinstance(value, bool) and value not in _PRESENCE:
        number = nearest_number(value, said)
        if number is not None:
            yield finding("number_not_in_goal", f"{value:g}, the goal has {number:g}", where)
    if not isinstance(value, str):
        return
    value = _TAG.sub("", value)
    year, day = _YEAR.search(value), nearest_day(value, said)
    if day is not None:
        yield finding("date_not_in_goal", f"{value!r}, the goal has {day!r}", where)
    at = goal.casefold().find(value.casefold())
    exact = goal[at : at + len(value)]
    if year and year[1] not in goal:
        yield finding("hard_coded_year", repr(value), where)
    elif len(value) >= _SHORTEST and at < 0:
        near = None if value in said else nearest_text(value, goal)
        hint = f"; did you mean {near!r}?" if near else ""
        yield finding("literal_not_in_goal", f"{value!r}{hint}", where)
    elif " " in value and value not in said and exact not in values:
        yield finding("literal_not_in_goal", f"{value!r}, the goal has {exact!r}", where)


def _on_untouched(
    definition: Definition, one: Eval, tree: Node, schemas: Schemas
) -> Iterator[LintFinding]:
    # of the 230 published evals 17 pass on untouched states, and 40 raise
    names = {each["value"] for each in walk(tree) if each["type"] == "field"}
    if names & _SEEDED or not set(definition.apps) <= set(schemas.apps):
        return
    states: Any = schemas.untouched(definition.apps)
    asked = states if definition.multi else states[definition.apps[0]]
    found = evaluate_query(one.query, asked)
    if found.error is not None:
        yield finding("raises_on_empty_state", found.error)
    elif matches(found.value, one.expected_value):
        yield finding("null_agent_passes")
