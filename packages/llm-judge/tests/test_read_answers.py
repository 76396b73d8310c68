"""A reader's replies on answers, pictures and converted trajectories, and a careless judge on the same ones.

`read_answers.jsonl` was drawn from a seed: ten answers with two facts each, five windows with two pictures each, three
trajectories in the form of CUAVerifierBench and three in that of AgentRewardBench, as `convert` makes them. The reader saw
the requests and the pictures, and wrote all replies before the truth was looked at.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from test_support.scripted_judges import adversary, written

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import JudgeCase
from llm_judge import Judge, prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import ModelRequest

READ = [
    json.loads(line)
    for line in (Path(__file__).parent / "read_answers.jsonl").read_text("utf-8").splitlines()
]


def case_of(read: dict[str, Any], folder: Path) -> JudgeCase:
    """Return a case with its pictures in a folder."""
    case = JudgeCase.model_validate(read["case"])
    for name, picture in read.get("pictures", {}).items():
        (folder / name).write_bytes(base64.b64decode(picture))
    shots = [each.model_copy(update={"path": str(folder / each.path)}) for each in case.screenshots]
    return case.model_copy(update={"screenshots": tuple(shots)})


def judged(
    folder: Path, scripts: Callable[[dict[str, Any]], Callable[[ModelRequest], Any]]
) -> Counter[tuple[str, bool, str, str]]:
    """Count by form of the case, whether it is met, the verdict and its kind; a trajectory as a whole, others by criterion."""
    found = Counter[tuple[str, bool, str, str]]()
    for each in READ:
        judge = Judge(Model(ScriptedAdapter(scripts(each))))
        verdict = asyncio.run(judge.judge(case_of(each, folder)))
        form = each["case"]["case_id"].partition("-")[0].partition(".")[0]
        ones = [(one.verdict, one.kind) for one in verdict.criteria]
        if len(each["truth"]) < len(ones):
            ones = [(verdict.outcome, verdict.kind)]  # type: ignore[list-item]
        for met, (decision, kind) in zip(each["truth"], ones, strict=True):
            found[form, met, decision, kind] += 1
    return found


def test_what_a_reader_decides_of_answers_pictures_and_trajectories_stands(tmp_path: Path) -> None:
    assert judged(tmp_path, lambda each: written(each["answers"])) == {
        ("answer", True, "pass", "supported"): 3,
        ("answer", False, "fail", "supported"): 7,
        ("window", True, "pass", "supported"): 3,
        ("window", False, "fail", "supported"): 7,
        ("shirt", False, "fail", "supported"): 3,
        ("webarena", True, "pass", "supported"): 2,
        ("webarena", False, "fail", "supported"): 1,
    }


def test_a_careless_judge_proves_nothing_of_them(tmp_path: Path) -> None:
    found = judged(tmp_path, lambda _: adversary)
    wrong = {each: n for each, n in found.items() if each[2] == "pass" and not each[1]}
    assert wrong == {
        ("answer", False, "pass", "supported"): 7,
        ("window", False, "pass", "opinion"): 7,
        ("shirt", False, "pass", "opinion"): 3,
    }


def test_without_a_state_none_is_shown(tmp_path: Path) -> None:
    (window, *_) = [each for each in READ if each["case"]["case_id"] == "window-0"]
    assert '"value":null' not in prepare(case_of(window, tmp_path)).prompt.text
