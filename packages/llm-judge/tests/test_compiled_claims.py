"""Claims that a careful reader compiled twice from the compile prompt alone, decided on made end states.

`compiled_claims.jsonl` has twelve tasks with five criteria each, both compiles, and for each criterion how the end state is changed
so that the criterion is met, and in five ways so that it is not.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench_core.records.claims import Claim
from bench_core.records.judge import JudgeCase
from llm_judge.claims.adequacy import check
from llm_judge.claims.decisions import setting_of
from llm_judge.claims.evaluation import States, decide

TASKS = [
    json.loads(line)
    for line in (Path(__file__).parent / "compiled_claims.jsonl").read_text("utf-8").splitlines()
]
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
    texts = {each["id"]: each["text"] for each in task["case"]["criteria"]}
    return {
        each["criterion"]: Claim.model_validate(
            {**each, "criterion_id": each["criterion"], "criterion": texts[each["criterion"]]}
        )
        for each in task["compiles"][number]
    }


@pytest.fixture(scope="module")
def counted() -> Counter[Any]:
    """Count standings, and how adequate claims decide right, wrong and otherwise written end states."""
    found: Counter[Any] = Counter()
    for task in TASKS:
        case = JudgeCase.model_validate(task["case"])
        setting, texts = setting_of(case), [each.text for each in case.criteria]
        second = read(task, 1)
        for name, claim in read(task, 0).items():
            start, ends = case.initial_state, task["ends"][name]
            assert claim.assertion is not None
            standing = check(
                claim, texts, case.goal, start, other=second.get(name), setting=setting
            ).standing
            found[standing] += 1
            right = changed(case.state, ends["right"])
            states = [("right", right)]
            states += [("wrong", changed(case.state, each)) for each in ends["wrong"]]
            states += [("notation", s) for f in NOTATIONS.values() if (s := f(right)) != right or repr(s) != repr(right)]  # fmt: skip
            for kind, end in states if standing == "adequate" else ():
                found[kind, decide(claim.assertion, States(end, start), setting).truth] += 1
    return found


def test_nearly_all_compiled_claims_are_adequate(counted: Counter[Any]) -> None:
    assert counted["adequate"] >= 55
    assert counted["adequate"] + counted["disputed"] + counted["inadequate"] == 60


def test_adequate_claims_decide_as_the_criterion_says(counted: Counter[Any]) -> None:
    assert counted["right", True] == counted["adequate"]
    assert counted["wrong", True] <= 0.01 * (counted["wrong", True] + counted["wrong", False])
    notations = counted["notation", True] + counted["notation", False]
    assert counted["notation", False] <= 0.03 * notations


def test_a_key_that_other_records_refer_to_is_read() -> None:
    task = next(each for each in TASKS if each["case"]["case_id"] == "airline")
    case, claims = JudgeCase.model_validate(task["case"]), read(task, 0)
    for name, claim in claims.items():
        right = changed(case.state, task["ends"][name]["right"])
        found = check(claim, [], case.goal, case.initial_state, right=[right])
        # the log names the reservation, too
        assert not any("/log/" in each for each in found.findings), name


def test_the_table_on_the_page_is_what_is_counted(counted: Counter[Any]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "claims.md").read_text("utf-8")
    rows = {
        "right states": counted["right", True], "decided wrong states that pass": counted["wrong", True],
        "decided wrong states": counted["wrong", True] + counted["wrong", False],
        "decided notations that fail": counted["notation", False],
        "decided notations": counted["notation", True] + counted["notation", False],
        **{name: counted[name] for name in ("adequate", "disputed", "inadequate")},
    }  # fmt: skip
    for name, number in rows.items():
        assert re.search(rf"\| {name} +\| +{number} +\|", page), (name, number)
