"""Genuine evidence over other applications, and over the goals of Multi-REAL: what proves and what does not.

`corpus/worlds.jsonl` are criteria over the small end states of `worlds.json`. `goals.jsonl` are criteria
over end states of Multi-REAL's applications (`goal_states.json`: what was there before, and what a
run set); where a row names an `eval`, its text stands in the tasks, which are not ours to keep.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bench_core.records.judge import Criterion
from llm_judge.prompts.answers import Answer
from llm_judge.prompts.controls import Question
from llm_judge.states.pointers import resolve, tokens
from llm_judge.verdicts.verdict_rules import EvidenceContext, decide_criterion

CORPUS = Path(__file__).parent / "corpus"


def rows(name: str) -> list[dict[str, Any]]:
    lines = (CORPUS / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def quotation(state: Any, place: str) -> dict[str, Any]:
    """Quote the whole value at a pointer; `!pointer word` says that the word does not stand below it."""
    pointer, _, word = place.lstrip("!").partition(" ")
    value = resolve(state, pointer)
    quote = value if isinstance(value, str) else json.dumps(value)
    found = {"kind": "absent", "quote": word or None} if place[0] == "!" else {"quote": quote}
    return {"kind": "present", "pointer": pointer, "screenshot": None, "region": None, **found}


def decided(context: EvidenceContext, text: str, quotes: list[str]) -> tuple[str, str | None]:
    answer = Answer.model_validate({
        "question": "q1", "reason": "It stands there.", "verdict": "pass", "confidence": 0.9,
        "evidence": [quotation(context.state, each) for each in quotes],
    })  # fmt: skip
    found = decide_criterion(
        context, Question("q1", text, Criterion(id="c", text=text)), answer, "scripted"
    )
    assert all(each.verified for each in found.evidence), (text, found.evidence)
    return found.verdict, found.doubt


def set_at(state: Any, pointer: str, value: Any) -> None:
    *path, last = tokens(pointer) or []
    for each in path:
        state = state[int(each)] if isinstance(state, list) else state[each]
    if isinstance(state, list):
        state[int(last) :] = [value]
    else:
        state[last] = value


def app_state(before: Any, recorded: dict[str, Any]) -> dict[str, Any]:
    """Return what an application's /finish says of a run that set some values."""
    after = copy.deepcopy(before)
    for pointer, value in recorded.pop("set").items():
        set_at(after, pointer, value)
    initial = copy.deepcopy(after) if recorded.pop("reloaded", False) else before
    return {"initialstate": initial, "finalstate": after, "state": copy.deepcopy(after), **recorded}


@pytest.fixture(scope="module")
def contexts(multireal: Path) -> dict[str, tuple[dict[str, Any], EvidenceContext]]:
    """Each end state with its task."""
    data = json.loads((CORPUS / "goal_states.json").read_text(encoding="utf-8"))
    found = {}
    for name, one in data["states"].items():
        task = json.loads((multireal / "tasks" / f"{one['task']}.json").read_text(encoding="utf-8"))
        state = {
            app: app_state(data["before"][app], recorded) for app, recorded in one["apps"].items()
        }
        apps = [each["id"] for each in task["websites"]]
        found[name] = (task, EvidenceContext(state, task["goal"], {}, apps=apps))
    return found


def test_other_applications_are_held_to_what_is_asked() -> None:
    worlds = json.loads((CORPUS / "worlds.json").read_text(encoding="utf-8"))
    contexts = {
        name: EvidenceContext(each["state"], each["goal"], {}, apps=each["apps"])
        for name, each in worlds.items()
    }
    wrong = []
    for row in rows("worlds.jsonl"):
        verdict, doubt = decided(contexts[row["world"]], row["criterion"], row["quotes"])
        if (verdict == "pass") is not row["proves"]:
            wrong.append((row["criterion"], row["quotes"], doubt))
    assert wrong == []


def test_goals_of_multireal_are_held_to_what_is_asked(
    contexts: dict[str, tuple[dict[str, Any], EvidenceContext]],
) -> None:
    wrong = []
    for row in rows("goals.jsonl"):
        task, context = contexts[row["state"]]
        text = row["criterion"] if "criterion" in row else task["evals"][row["eval"]]["description"]
        verdict, doubt = decided(context, text, row["quotes"])
        if (verdict == "pass") is not row["proves"]:
            wrong.append((text, row["quotes"], doubt))
    assert wrong == []
