"""A careful reader's replies on 20 unlike end states, and a careless judge on the same ones.

`read_states.jsonl` has 20 end states (settings, keyed maps, orders, airline, CRM, sheet, repository, calendars with a
zone, German and Spanish shops, bank, mail, ...), five criteria each, whether each is met, and what a reader who saw
nothing but the requests answered.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.scripted_judges import adversary, written

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import JudgeCase
from llm_judge import Judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import ModelRequest

READ = [
    json.loads(line)
    for line in (Path(__file__).parent / "read_states.jsonl").read_text("utf-8").splitlines()
]
Kinds = Counter[tuple[bool, str, str]]


def judged(scripts: Callable[[dict[str, Any]], Callable[[ModelRequest], Any]]) -> Kinds:
    """Count the criteria by whether they are met, the verdict, and its kind."""
    found: Kinds = Counter()
    for each in READ:
        judge = Judge(Model(ScriptedAdapter(scripts(each))))
        verdict = asyncio.run(judge.judge(JudgeCase.model_validate(each["case"])))
        for met, one in zip(each["truth"], verdict.criteria, strict=True):
            found[met, one.verdict, one.kind] += 1
    return found


@pytest.fixture(scope="module")
def careful() -> Kinds:
    return judged(lambda each: written(each["answers"]))


def test_what_a_careful_reader_decides_stands(careful: Kinds) -> None:
    assert careful == {(True, "pass", "supported"): 52, (False, "fail", "supported"): 48}


def test_a_careless_judge_proves_nothing() -> None:
    careless = judged(lambda _: adversary)
    wrong = {
        kind: n for (met, verdict, kind), n in careless.items() if verdict == "pass" and not met
    }
    assert "proven" not in wrong
    # genuine quotations, wrong verdicts: only a claim or a second model tells
    assert wrong == {"supported": 48}
