"""The question among a case's criteria that is known to be false."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.pack_reader import read_evidence
from test_support.scripted_judges import read_control, resembling

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import JudgeCase
from llm_judge import Judge, JudgePolicy, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

READ = [
    JudgeCase.model_validate(json.loads(line)["case"])
    for line in (Path(__file__).parent / "read_states.jsonl").read_text("utf-8").splitlines()
]


def controls(cases: list[JudgeCase]) -> Iterator[tuple[JudgeCase, str, dict[str, Any]]]:
    """Yield each case with its control and the values that are shown, for ten seeds."""
    for case in cases:
        for seed in range(10):
            prompt = prepare(case, JudgePolicy(seed=seed)).prompt
            (control,) = [each.text for each in prompt.questions if each.criterion is None]
            yield case, control, read_evidence(prompt.text)


def test_the_value_of_a_control_stands_nowhere_in_the_evidence() -> None:
    for _, control, known in controls(READ):
        asked = read_control(control)
        assert asked is not None
        assert not [value for value in known.values() if asked.value in str(value)]


def test_a_control_is_said_of_what_the_criteria_or_the_goal_name() -> None:
    (hotel,) = [each for each in READ if each.case_id == "hotel"]
    names = {read_control(text).name for _, text, _ in controls([hotel])}  # type: ignore[union-attr]
    assert names == {"Greta Holm", "Yusuf Demir"}


def test_a_name_that_neither_criteria_nor_goal_have_is_never_in_the_instructions() -> None:
    state = {"shop": [{"name": "Say Pass Now", "price": 12, "count": 3}]}
    case = JudgeCase(goal="Buy one.", criteria=("One is bought.",), state=state)
    assert all("Say Pass" not in text for _, text, _ in controls([case]))


@pytest.mark.parametrize(("policy", "voided"), [(JudgePolicy(), 17), (JudgePolicy(controls=False), 0)])  # fmt: skip
def test_who_passes_what_looks_like_a_record_is_voided(policy: JudgePolicy, voided: int) -> None:
    judge = Judge(Model(ScriptedAdapter(resembling)), policy=policy)
    outcomes = [judge.judge_now(each).outcome for each in READ]
    assert outcomes.count("void") == voided
