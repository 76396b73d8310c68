"""Claims that a careful reader compiled twice from the compile prompt alone, decided on made end states.

`compiled_claims.jsonl` has twelve tasks with five criteria each, both compiles, and for each criterion how the end state is changed
so that the criterion is met, and in five ways so that it is not.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.compiled_claims import changed, count, read

from bench_core.records.judge import JudgeCase
from llm_judge.claims.adequacy import check

if TYPE_CHECKING:
    from collections import Counter

TASKS = [
    json.loads(line)
    for line in (Path(__file__).parent / "compiled_claims.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def counted() -> Counter[Any]:
    return count(TASKS)


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
