"""What end states are made from a right one, and what the queries make of them."""

from __future__ import annotations

from typing import Any

import pytest

from bench_core.checkers import AuditedTask, NoMutantsError, audit_checkers
from bench_core.records import Task
from multireal_harness.checkers import EvalChecker

GOAL = "Add the event 'Design review' and mail nina@studio.test 'See you on Friday'."
EVENT = {"id": "e-9", "title": "Design review", "start": "2024-07-19T16:00:00.000Z"}
MAIL = {"id": "m-9", "to": ["nina@studio.test"], "content": "See you on Friday", "sent": True}
OLD = {"id": "m-1", "to": ["me@studio.test"], "content": "Hello", "sent": True, "trash": False}
EVENTS = "length(values(gocalendar.differences.events.added)[?title == 'Design review']) == `1`"
MAILS = "length(gomail.differences.emails.added[?sent && contains(to, 'nina@studio.test') && contains(content, 'See you on Friday')]) >= `1`"


def end_states() -> dict[str, Any]:
    return {
        "gocalendar": {
            "actionhistory": [{"type": "calendar/createEvent", "index": 0}],
            "initialstate": {"calendar": {"myEvents": []}},
            "finalstate": {"calendar": {"myEvents": [EVENT]}},
            "differences": {"events": {"added": {"e-9": EVENT}, "deleted": {}, "updated": {}}},
        },
        "gomail": {
            "actionhistory": [{"type": "email/send", "index": 0}],
            "initialstate": {"email": {"emails": [OLD]}},
            "finalstate": {"email": {"emails": [OLD, MAIL]}},
            "differences": {"emails": {"added": [MAIL], "deleted": [], "updated": []}},
        },
    }


def task(*queries: str, goal: str = GOAL, expected: Any = True, kind: str = "jmespath") -> Task:
    sites = [{"id": app, "url": f"https://{app}.test"} for app in ("gocalendar", "gomail")]
    evals = [{"type": kind, "query": each, "expected_value": expected} for each in queries]
    definition = {
        "id": "gocalendar-gomail-1", "goal": goal, "websites": sites, "evals": evals, "challengeType": "action",
    }  # fmt: skip
    return Task(benchmark="multireal", task_id="multi.gocalendar-gomail-1", goal=goal, config={"definition": definition})  # fmt: skip


def audited(one: Task, states: dict[str, Any] | None = None) -> AuditedTask:
    right = {} if states is None else {"gocalendar-gomail-1": states}
    return audit_checkers(EvalChecker(right), [one]).tasks[0]


def verdicts(found: AuditedTask) -> dict[str, tuple[str, bool | None]]:
    return {each.mutant.mutant_id: (each.mutant.verdict, each.accepted) for each in found.outcomes}


def test_good_queries_refuse_every_wrong_end_state_but_an_unrelated_deletion() -> None:
    found = audited(task(EVENTS, MAILS), end_states())
    assert [each.mutant.operator for each in found.wrong_accepted] == ["unrelated-deletion"]
    assert found.right_refused == []
    wrong = {each.mutant.operator for each in found.decided("wrong")}
    assert wrong == {
        "nothing-done", "only-claimed", "done-and-undone", "thing-missing", "field-wrong", "field-missing",
        "not-sent", "unrelated-deletion",
    }  # fmt: skip
    assert {each.mutant.operator for each in found.decided("right")} == {
        "as-done", "names-in-other-order", "extra-reads", "other-id", "trailing-whitespace",
    }  # fmt: skip
    assert verdicts(found)["done-twice-1"][0] == "unknown"


def test_queries_that_accept_too_much_and_too_little_are_found() -> None:
    careless = audited(task("length(gomail.differences.emails.added) >= `1`"), end_states())
    assert {"field-wrong", "not-sent"} <= {each.mutant.operator for each in careless.wrong_accepted}
    exact = audited(
        task(EVENTS, MAILS.replace("contains(content,", "contains([content],")), end_states()
    )
    assert [each.mutant.operator for each in exact.right_refused] == ["trailing-whitespace"]
    impossible = audited(task("gomail.differences.emails.added[?sent][0].sent"), end_states())
    assert len(impossible.right_refused) == len(impossible.decided("right")) > 0


def test_a_text_that_another_thing_still_has_makes_nothing_wrong() -> None:
    states = end_states()
    again = {**EVENT, "id": "e-8"}
    states["gocalendar"]["differences"]["events"]["added"]["e-8"] = again
    states["gocalendar"]["finalstate"]["calendar"]["myEvents"].append(again)
    found = audited(task(EVENTS, MAILS), states)
    missing = [each for each in found.outcomes if each.mutant.operator == "thing-missing"]
    assert [each.mutant.evidence for each in missing] == [{"missing": MAIL}]


def test_a_deletion_is_not_certain_where_the_goal_speaks_of_removing() -> None:
    found = audited(task(MAILS, goal=f"{GOAL} Delete the old mail."), end_states())
    assert verdicts(found)["unrelated-deletion-1"][0] == "unknown"


def test_a_doubtful_state_makes_no_right_end_state() -> None:
    states = end_states()
    states["gocalendar"] = states["gomail"]
    assert audited(task(MAILS), states).decided("right") == []


def test_without_a_known_state_there_are_those_in_which_something_else_was_done() -> None:
    sent = "length(gomail.differences.emails.added[?contains(to, 'nina@studio.test')]) >= `1`"
    found = verdicts(audited(task(sent, expected=False)))
    assert found["nothing-done-1"] == ("wrong", True)
    assert found["other-thing-done-1"] == ("wrong", True)
    assert found["done-1"][0] == "unknown"
    assert verdicts(audited(task(sent)))["other-thing-done-1"] == ("wrong", False)


def test_what_queries_do_not_decide_has_no_mutants() -> None:
    found = audited(task("", kind="llm_boolean"), end_states())
    assert found.none_because == "a script or a judge decides, not queries alone"
    with pytest.raises(NoMutantsError):
        EvalChecker({}).mutants(task("", kind="script"), None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "goal",
    [
        "If the table is free, book it. Otherwise, do nothing.",
        "If there is a table, book it. If not, don't do anything.",
        "Check that the post is open. If it is, mail the link to nina@studio.test.",
    ],
)
def test_that_nothing_was_done_is_not_certain_where_the_goal_may_ask_for_nothing(goal: str) -> None:
    found = verdicts(audited(task(MAILS, goal=goal)))
    assert found["nothing-done-1"][0] == "unknown"
    assert "only-claimed-1" not in found


def test_an_id_is_only_changed_of_what_is_new_and_named_nowhere_else() -> None:
    read, confirmed = {**OLD, "isRead": True}, {**MAIL, "content": "See you on Friday, e-9"}
    states = end_states()
    states["gomail"]["differences"]["emails"] = {
        "added": [confirmed],
        "deleted": [],
        "updated": [read],
    }
    states["gomail"]["finalstate"]["email"]["emails"] = [read, confirmed]
    found = audited(task(EVENTS, MAILS), states)
    renamed = [each.mutant.change for each in found.outcomes if each.mutant.operator == "other-id"]
    assert renamed == ["the app gomail gave what was added another id"]


_RIGHT = frozenset({"as-done", "names-in-other-order", "extra-reads", "other-id"})


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("'Design review'", '"Design review"', _RIGHT),  # text in double quotes
        ("]) == `1`", ") == `1`", _RIGHT),
        ("== `1`", "== 1", _RIGHT),
        ("== `1`", "== '1'", _RIGHT),
        ("length(", "leng(", _RIGHT),
        ("differences", "changes", _RIGHT),
        ("Design review'", "Design Review'", _RIGHT),
        ("== 'Design", "!= 'Design", _RIGHT | {"field-wrong", "field-missing"}),
        ("== `1`", "== `0`", _RIGHT | {"thing-missing"}),
        ("== `1`", "<= `1`", {"thing-missing", "field-wrong", "field-missing"}),
        ("[?title == 'Design review']", "", {"field-wrong", "field-missing"}),
    ],
)  # fmt: skip
def test_mistakes_in_queries_are_found_unaided(old: str, new: str, found: set[str]) -> None:
    good = audited(task(EVENTS, MAILS), end_states())
    bad = audited(task(EVENTS.replace(old, new), MAILS), end_states())
    judged_wrongly = {each.mutant.operator for each in (*bad.wrong_accepted, *bad.right_refused)}
    assert found <= judged_wrongly
    assert {each.mutant.operator for each in good.right_refused} == set()
