"""Show cases to the person who labels them: the questions and the state, without the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files

from bench_core.records.judge import JudgeCase
from llm_judge.case_files import case_state
from llm_judge.prompts.evidence_pack import pack

_CHARS = 12_000


def label_text(case: JudgeCase, chars: int = _CHARS) -> str:
    """Return the text that a person needs to label a case."""
    shown = pack(
        case_state(case),
        case.goal,
        case.criteria,
        initial=case.initial_state,
        actions=case.actions,
        chars=chars,
    )
    asked = "\n".join(f"- {each.text}" for each in case.criteria)
    return f"{case.case_id}\n\nGoal: {case.goal}\n\nIs all of this so?\n{asked}\n\nThe end state:\n{shown.text}"


def label_form(cases: Sequence[JudgeCase]) -> str:
    """Return one HTML file to label cases in, without a network; it saves JSON lines for `calibrate`."""
    rows = [
        {
            "case_id": each.case_id,
            "goal": each.goal,
            "criteria": [one.text for one in each.criteria],
            "shown": label_text(each).partition("The end state:\n")[2],
        }
        for each in cases
    ]
    # "<" is written as an escape, so that no text of a state can end the script
    data = json.dumps(rows, ensure_ascii=True).replace("<", "\\u003c")
    form = (files("llm_judge.calibration") / "label_form.html").read_text(encoding="utf-8")
    return form.replace("/*CASES*/[]", data)
