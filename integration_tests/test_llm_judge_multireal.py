"""The multi-app harness meets the judge through its entry point."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bench_core.records.judge import Criterion, JudgeCase
from llm_judge import samples
from multireal_harness.judge_plugin import load_judge

if TYPE_CHECKING:
    from pathlib import Path


def test_the_judge_is_made_from_its_name_and_model() -> None:
    judge = load_judge("llm-judge", f"replay:{samples.cassette()}")
    verdict = asyncio.run(judge.judge(samples.case()))
    assert (verdict.judge, verdict.outcome) == ("llm-judge", "pass")
    assert all(each.verified for one in verdict.criteria for each in one.evidence)


def test_a_model_that_cannot_be_read_is_no_verdict(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["The task was completed. PASS", "PASS"]')
    judge = load_judge("llm-judge", f"scripted:{script}")
    case = JudgeCase(
        case_id="answer",
        goal="How many lamps are there?",
        criteria=(Criterion(id="e0", text="The answer says that there are three lamps."),),
        state={"answer": "There are three lamps."},
    )
    verdict = asyncio.run(judge.judge(case))
    assert (verdict.outcome, verdict.passed) == ("error", None)
