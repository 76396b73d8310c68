"""The doctors of Multi-REAL's states and queries, with the judge's rules installed beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.records.claims import Claim, TaskClaims
from bench_core.records.judge import JudgeCase
from llm_judge.claims import task_digest, write_claim_file
from multireal_harness.definitions import Definition
from multireal_harness.evaluation import judged_criteria
from multireal_harness.states.goal_checks import goal_symptoms

if TYPE_CHECKING:
    from pathlib import Path

TASK = Definition.model_validate(
    {
        "id": "dining-mail-1",
        "goal": "Book a place with at least 4.5 stars and write to ana@corp.example.",
        "websites": [{"id": "dining"}, {"id": "mail"}],
        "evals": [],
    }
)


def states(rating: str, recipient: str) -> dict[str, Any]:
    booking = {"id": "b1", "restaurant": {"name": "Old Mill", "rating": rating}, "time": "8 PM"}
    mail = {"id": "m1", "to": [recipient], "subject": "Dinner"}
    return {
        "dining": {"initialstate": {"bookings": []}, "finalstate": {"bookings": [booking]}},
        "mail": {"initialstate": {"emails": []}, "finalstate": {"emails": [mail]}},
    }


def test_a_state_that_holds_what_the_goal_names_is_not_doubted() -> None:
    assert goal_symptoms(TASK, states("4.6", "ana@corp.example")) == []


def test_what_the_goal_names_and_the_state_does_not_hold_is_told() -> None:
    found = goal_symptoms(TASK, states("4.6", "ben@corp.example"))
    assert [(each.code, each.app, each.serious) for each in found] == [
        ("goal_violated", "llm-judge", True)
    ]
    assert "'ana@corp.example'" in found[0].message


def test_the_table_of_the_doctors_is_what_they_find(root: Path) -> None:
    script = root / "packages/multireal-harness/benchmarks/doctors_table.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)  # noqa: PLW1510  # its exit code is what is asked for
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run {script.name} without --check"


DINNER = Definition.model_validate(
    {
        "id": "calendar-1",
        "goal": "Add 'Sushi night' from 8 PM to 9:30 PM on July 19, 2024.",
        "websites": [{"id": "calendar", "url": "http://calendar.localhost"}],
        "evals": [
            {"type": "llm_boolean", "rubric": "The answer is friendly.", "expected_value": True},
            {
                "type": "jmespath",
                "query": "length(values(calendar.differences.events.added)[?title == 'Sushi night' && "
                "start == '2024-07-20T02:00:00.000Z' && end == '2024-07-20T03:30:00.000Z']) == `1`",
                "expected_value": True,
                "description": "Verify 'Sushi night' is on July 19 from 8 PM to 9:30 PM.",
            },
        ],
    }
)
EVENT = {
    "id": "e2",
    "title": "Sushi night",
    "start": "2024-07-20T02:00:00.000Z",
    "end": "2024-07-20T03:30:00.000Z",
}
MISTAKES = {
    "none": ("", "", None),
    "end-not-asked": (" && end == '2024-07-20T03:30:00.000Z'", "", "myEvents/1/end is"),
    "an-hour-late": ("T02:00", "T03:00", "nothing changed"),
    "one-or-more": ("== `1`", ">= `1`", "myEvents also holds"),
    "or": ("&& start", "|| start", "myEvents/1/"),
    "deleted": ("events.added", "events.deleted", "nothing changed"),
    "not": ("length(", "!length(", "nothing changed"),
    "start-not-asked": (" && start == '2024-07-20T02:00:00.000Z'", "", "myEvents/1/start is"),
    "title-not-asked": ("title == 'Sushi night' && ", "", "myEvents/1/title is"),
    "day-before": ("2024-07-20T02:00", "2024-07-19T02:00", "nothing changed"),
    "local-time": ("T02:00:00", "T20:00:00", "nothing changed"),
    "shorter": ("T03:30", "T03:00", "nothing changed"),
    "end-not-equal": ("end ==", "end !=", "nothing changed"),
    "title-not-equal": ("title ==", "title !=", "nothing changed"),
    "capital": ("Sushi night", "Sushi Night", "nothing changed"),
    "two": ("== `1`", "== `2`", "nothing changed"),
    "at-most": ("== `1`", "<= `1`", "myEvents/1/title is"),
    "other-field": ("title ==", "location ==", "nothing changed"),
    "initial-state": ("differences.events.added", "initialstate.myEvents", "nothing changed"),
    "start-of-the-title": ("title == 'Sushi night'", "starts_with(title, 'Sushi')", "myEvents/1/title is"),
    "part-of-the-title": ("title == 'Sushi night'", "contains(title, 'Sushi')", "myEvents/1/title is"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_query_that_differs_from_its_claim_is_shown_by_a_state(
    mistake: str, tmp_path: Path
) -> None:
    written, instead, change = MISTAKES[mistake]
    events = [{"id": "e1", "title": "Lunch", "start": "2024-07-18T18:00:00.000Z", "end": ""}]
    state = {
        "calendar": {
            "initialstate": {"myEvents": events},
            "finalstate": {"myEvents": [*events, EVENT]},
            "differences": {"events": {"added": {"e2": EVENT}, "deleted": {}, "updated": {}}},
        }
    }
    where = [
        {"op": "is", "field": "/title", "values": ["Sushi night"]},
        {"op": "created"},
        {"op": "moment", "field": "/start", "value": "2024-07-19T20:00"},
        {"op": "moment", "field": "/end", "value": "2024-07-19T21:30"},
    ]
    criteria = tuple(judged_criteria(DINNER))
    claim = Claim.model_validate(
        {
            "criterion_id": "e0",
            "criterion": criteria[0].text,
            "approved_by": "Ann Lee",
            "assertion": {
                "op": "exactly",
                "over": "/calendar/myEvents/*",
                "where": {"op": "and", "of": where},
            },
        }
    )
    case = JudgeCase(goal=DINNER.goal, criteria=criteria)
    claims = TaskClaims(task=task_digest(case), case_id=DINNER.id, goal=DINNER.goal, claims=(claim,))  # fmt: skip
    write_claim_file(tmp_path / "claims.jsonl", [claims])
    task = json.loads(DINNER.model_dump_json(by_alias=True))
    task["evals"][1]["query"] = DINNER.evals[1].query.replace(written, instead)
    for folder, content in (("tasks", task), ("truth", state)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "calendar-1.json").write_text(json.dumps(content), encoding="utf-8")
    (script,) = entry_points(group="console_scripts", name="multireal-harness")
    done = CliRunner().invoke(
        script.load(),
        ["validate-ground-truth", str(tmp_path / "truth"), "--tasks-dir", str(tmp_path / "tasks"),
         "--claims", str(tmp_path / "claims.jsonl")],
    )  # fmt: skip
    right = "eval 1 and its claim differ" in done.output
    assert (right, done.exit_code) == ((False, 0) if change is None else (True, 1)), done.output
    if change is not None:
        told = " ".join(done.output.split())
        assert change in told
        assert "the claim (approved by Ann Lee) is" in told
        met = "nothing changed" not in change
        assert ("which is expected; the claim (approved by Ann Lee) is false" in told) is met
