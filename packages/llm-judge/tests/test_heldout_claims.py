"""Claims for thirty criteria that were not used while the checks were made, and careless variants of them.

`heldout_claims.jsonl` has five tasks (customers, tickets in German, a sheet in Spanish, mail, a bank in German) in the form of
`compiled_claims.jsonl`; the reader wrote both compiles before the first of them was checked.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.careless_claims import careless
from test_support.compiled_claims import changed, count, read

from bench_core.records.claims import Claim
from bench_core.records.judge import JudgeCase
from llm_judge.claims.adequacy import check
from llm_judge.claims.decisions import setting_of
from llm_judge.claims.evaluation import States, decide

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS = [
    json.loads(line)
    for line in (Path(__file__).parent / "heldout_claims.jsonl").read_text("utf-8").splitlines()
]
PAGE = (Path(__file__).parents[3] / "docs" / "claims.md").read_text("utf-8")
EVERY = int(os.environ.get("CARELESS_EVERY", "12"))
"""Of the careless claims so many-th is checked; the page has the count of all."""


@pytest.fixture(scope="module")
def counted() -> Counter[Any]:
    return count(TASKS)


def test_no_held_out_claim_passes_a_wrong_state(counted: Counter[Any]) -> None:
    assert counted["all", "wrong", True] == 0
    assert counted["all", "right", False] == 0


def test_the_table_on_the_page_is_what_is_counted(counted: Counter[Any]) -> None:
    def outcome(kind: str, truth: bool | None) -> tuple[int, int]:
        return counted[kind, truth], counted["all", kind, truth]

    rows = {
        "held-out right states that pass": outcome("right", True),
        "wrong states that pass": outcome("wrong", True),
        "wrong states that fail": outcome("wrong", False),
        "notations that pass": outcome("notation", True),
        "notations that fail": outcome("notation", False),
    }
    for name, numbers in rows.items():
        row = rf"\| {name} +\|.*\| +{numbers[0]} +\| +{numbers[1]} +\|\n"
        assert re.search(row, PAGE), (name, numbers)
    assert f"{counted['adequate']} adequate, {counted['disputed']} disputed" in PAGE


def careless_claims() -> Iterator[tuple[JudgeCase, Any, Claim, Claim]]:
    """Yield the case, its right end state, a careless variant that decides some state wrongly, and the careful second compile."""
    for task in TASKS:
        case = JudgeCase.model_validate(task["case"])
        second = read(task, 1)
        for name, claim in read(task, 0).items():
            assert claim.assertion is not None
            ends = task["ends"][name]
            right = changed(case.state, ends["right"])
            wrong = [changed(case.state, each) for each in ends["wrong"]]
            written = claim.assertion.model_dump(mode="json", exclude_defaults=True)
            for _, assertion in careless(written):
                one = Claim.model_validate({**claim.model_dump(), "assertion": assertion})
                truths = [_truth(one, each, case) for each in (right, *wrong)]
                if truths[0] is not True or True in truths[1:]:
                    yield case, right, one, second[name]


def _truth(claim: Claim, end: Any, case: JudgeCase) -> bool | None:
    assert claim.assertion is not None
    return decide(claim.assertion, States(end, case.initial_state), setting_of(case)).truth


def test_careless_variants_are_found() -> None:
    found = Counter[str]()
    for case, right, claim, second in list(careless_claims())[::EVERY]:
        texts, setting = [each.text for each in case.criteria], setting_of(case)
        for name, beside in (("right", {"right": [right]}), ("second", {"other": second})):
            checked = check(
                claim, texts, case.goal, case.initial_state, setting=setting, **beside
            )  # fmt: skip
            found[name] += checked.standing != "adequate"
        found["all"] += 1
    if EVERY == 1:
        assert f"{found['second']} of {found['all']}" in PAGE
        assert f"{found['right']} of {found['all']}" in PAGE
    assert found["second"] >= 0.95 * found["all"]
