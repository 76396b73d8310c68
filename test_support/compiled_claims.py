"""Fixtures of compiled claims: read them, make their end states and other notations of them, and count."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

from bench_core.records.claims import Claim
from bench_core.records.judge import JudgeCase
from llm_judge.claims.adequacy import check
from llm_judge.claims.decisions import setting_of
from llm_judge.claims.evaluation import States, decide

__all__ = ["changed", "count", "read"]

Change = Callable[[Any], Any]


def changed(state: Any, edits: list[list[Any]]) -> Any:
    """Return a copy of a state with values put at pointers; `-` appends, `__delete__` takes away, at last."""
    copy = json.loads(json.dumps(state))
    gone = []
    for pointer, value in edits:
        *steps, last = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
        at = copy
        for step in steps:
            at = at[int(step)] if isinstance(at, list) else at[step]
        if value == "__delete__":
            gone.append((at, last))
        elif last == "-":
            at.append(value)
        else:
            at[int(last) if isinstance(at, list) else last] = value
    for at, last in gone:
        del at[int(last) if isinstance(at, list) else last]
    return copy


def leaves(change: Change, state: Any) -> Any:
    if isinstance(state, dict):
        return {key: leaves(change, value) for key, value in state.items()}
    return [leaves(change, each) for each in state] if isinstance(state, list) else change(state)


def reversed_order(state: Any) -> Any:
    if isinstance(state, dict):
        return {key: reversed_order(state[key]) for key in reversed(state)}
    if isinstance(state, list):
        inner = [reversed_order(each) for each in state]
        return inner[::-1] if all(isinstance(each, dict) for each in state) else inner
    return state


def with_a_field_more(state: Any) -> Any:
    if isinstance(state, list):
        return [with_a_field_more(each) for each in state]
    if not isinstance(state, dict):
        return state
    made = {key: with_a_field_more(value) for key, value in state.items()}
    scalar = any(not isinstance(value, dict | list) for value in state.values())
    return {**made, "updatedBy": "u-55"} if scalar and len(state) > 1 else made


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_text(pattern: str, change: Callable[[re.Match[str]], str]) -> Change:
    def apply(value: Any) -> Any:
        found = re.fullmatch(pattern, value) if isinstance(value, str) else None
        return value if found is None else change(found)

    return apply


UTC = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z"
NOTATIONS: dict[str, Change] = {
    "records and keys in another order": reversed_order,
    "a field more in each record": with_a_field_more,
    "numbers as text": partial(leaves, lambda v: str(v) if _number(v) else v),
    "numbers as 2.0": partial(leaves, lambda v: float(v) if _number(v) else v),
    "words in upper case": partial(leaves, _in_text(r"[a-zäöüß][a-zäöüß ]*", lambda m: m[0].upper())),
    "white space around texts": partial(leaves, _in_text(r".+", lambda m: f" {m[0]} ")),
    "moments with +00:00": partial(leaves, _in_text(UTC, lambda m: f"{m[1]}+00:00")),
    "moments with milliseconds": partial(leaves, _in_text(UTC, lambda m: f"{m[1]}.000Z")),
    "days in words": partial(
        leaves, _in_text(r"\d{4}-\d\d-\d\d", lambda m: f"{date.fromisoformat(m[0]):%B %-d, %Y}")
    ),
    "true as 1": partial(leaves, lambda v: int(v) if isinstance(v, bool) else v),
    "a currency before the number": partial(leaves, _in_text(r"(\d+,\d\d) €", lambda m: f"€ {m[1]}")),
}  # fmt: skip


def read(task: dict[str, Any], number: int) -> dict[str, Claim]:
    """Return the claims of one compile of a task, by criterion."""
    texts = {each["id"]: each["text"] for each in task["case"]["criteria"]}
    return {
        each["criterion"]: Claim.model_validate(
            {**each, "criterion_id": each["criterion"], "criterion": texts[each["criterion"]]}
        )
        for each in task["compiles"][number]
    }


def count(tasks: list[dict[str, Any]]) -> Counter[Any]:
    """Count standings, and how claims of each decide right, wrong and otherwise written end states."""
    found: Counter[Any] = Counter()
    for task in tasks:
        case = JudgeCase.model_validate(task["case"])
        setting, texts = setting_of(case), [each.text for each in case.criteria]
        second = read(task, 1)
        for name, claim in read(task, 0).items():
            start, ends = case.initial_state, task["ends"][name]
            if claim.assertion is None:
                raise ValueError(f"{name} is not expressed")
            standing = check(
                claim, texts, case.goal, start, other=second.get(name), setting=setting
            ).standing
            found[standing] += 1
            right = changed(case.state, ends["right"])
            states = [("right", right)]
            states += [("wrong", changed(case.state, each)) for each in ends["wrong"]]
            states += [("notation", s) for f in NOTATIONS.values() if (s := f(right)) != right or repr(s) != repr(right)]  # fmt: skip
            for kind, end in states:
                truth = decide(claim.assertion, States(end, start), setting).truth
                found["all", kind, truth] += 1
                found[kind, truth] += standing == "adequate"
    return found
