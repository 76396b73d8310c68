"""Scripted judges on the recorded end states of real runs: what becomes of each kind."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from test_support.scripted_judges import (
    blanket_fail,
    criterion_for_value,
    fabricator,
    honest,
    rubber_stamp,
    undecided,
)

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import Criterion, JudgeCase
from llm_judge import Judge, JudgePolicy, lint
from llm_judge.states.mutations import changed_leaves, mutants

if TYPE_CHECKING:
    from collections.abc import Iterator


def plain(case: JudgeCase) -> list[Any]:
    """What a criterion can be made of: short values that the application holds of the run."""
    free = (
        "description",
        "note",
        "message",
        "text",
        "summary",
        "comment",
        "bio",
        "request",
        "review",
    )
    return [
        leaf
        for leaf in changed_leaves(case.state)
        if isinstance(leaf.value, str | int | float)
        and not isinstance(leaf.value, bool)
        and 0 < len(str(leaf.value)) < 60
        and not any(each in str(leaf.path[-1]).lower() for each in free)
    ]


def pairs(recorded: tuple[JudgeCase, ...], per_state: int) -> Iterator[tuple[JudgeCase, JudgeCase]]:
    """Yield a good case and a bad one: two values asked about, one of them then wrong."""
    rng = random.Random(3)  # noqa: S311  # not cryptography
    for case in recorded:
        leaves = plain(case)
        for number in range(per_state):
            asked = rng.sample(leaves, 2)
            criteria = tuple(
                Criterion(id=f"c{n}", text=criterion_for_value(leaf.pointer, leaf.value))
                for n, leaf in enumerate(asked)
            )
            good = case.model_copy(
                update={"case_id": f"{case.case_id}-{number}", "criteria": criteria}
            )
            wrong = list(mutants(case.state, leaves=(asked[0],), consistent=True))
            mutant = rng.choice([each for each in wrong if each.operator != "drop"])
            yield good, good.model_copy(update={"state": mutant.state})


SCRIPTED = {
    "honest": (honest, "pass", "fail"),
    "sloppy": (fabricator, "abstain", "abstain"),
    "rubber stamp": (rubber_stamp, "void", "void"),
    "unsure": (undecided, "abstain", "abstain"),
    "blanket fail": (blanket_fail, "fail", "fail"),
}
PER_STATE = int(os.environ.get("JUDGED_PER_STATE", "6"))


@pytest.mark.parametrize("name", SCRIPTED)
def test_honest_sloppy_and_malicious_judges_end_as_they_should(
    recorded: tuple[JudgeCase, ...], name: str
) -> None:
    script, good, bad = SCRIPTED[name]
    judge = Judge(Model(ScriptedAdapter(script)), policy=JudgePolicy(chars=60_000))
    found: dict[str, Counter[str]] = {"good": Counter(), "bad": Counter()}
    for right, wrong in pairs(recorded, PER_STATE):
        found["good"][asyncio.run(judge.judge(right)).outcome] += 1
        found["bad"][asyncio.run(judge.judge(wrong)).outcome] += 1
    everything = PER_STATE * len(recorded)
    assert found == {"good": Counter({good: everything}), "bad": Counter({bad: everything})}


def test_the_defects_of_the_recorded_states_are_found(recorded: tuple[JudgeCase, ...]) -> None:
    found = {
        case.case_id: {each.code for each in lint(case, case.state) if each.severity != "info"}
        for case in recorded
    }
    assert found == {
        "flyunified-gocalendar-staynb-1": {"state.no_change"},
        "gocalendar-opendining-1": set(),
        "gomail-topwork-3": {"state.identical_apps", "state.goal_missing"},
        "opendining-udriver-1": {"state.goal_violated"},
    }
