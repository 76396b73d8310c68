"""What of an end state no right solution needs."""

from __future__ import annotations

from typing import Any

import pytest

from multireal_harness.definitions import Definition
from multireal_harness.unneeded import own_things, unneeded_changes

MAIL = {"id": "m-9", "to": ["nina@studio.test"], "subject": "Hello", "sent": True}
OLD = {"id": "m-1", "subject": "Lunch", "trash": False}
EVENT = {"id": "e-1", "title": "Stand-up"}
SENT = "length(gomail.differences.emails.added) == `1`"


def state(area: str, name: str, before: list[Any], after: list[Any]) -> dict[str, Any]:
    return {"initialstate": {area: {name: before}}, "finalstate": {area: {name: after}}}


def end_states(mails: list[Any], events: list[Any]) -> dict[str, Any]:
    return {
        "gomail": state("email", "emails", [OLD], mails),
        "gocalendar": state("calendar", "myEvents", [EVENT], events),
    }


def definition(goal: str, query: str = SENT) -> Definition:
    sites = [{"id": app, "url": f"https://{app}.test"} for app in ("gocalendar", "gomail")]
    evals = [{"type": "jmespath", "query": query, "expected_value": True}]
    return Definition.model_validate(
        {"id": "gocalendar-gomail-1", "goal": goal, "websites": sites, "evals": evals, "challengeType": "action"}
    )  # fmt: skip


@pytest.mark.parametrize(
    ("goal", "mails", "events", "found"),
    [
        ("Mail Nina.", [OLD, MAIL], [EVENT], []),
        ("Mail Nina.", [MAIL], [EVENT], ["deleted in gomail, emails: Lunch"]),
        ("Mail Nina.", [{**OLD, "trash": True}, MAIL], [EVENT], ["deleted in gomail, emails: Lunch"]),
        ("Mail Nina.", [{**OLD, "id": "m-2"}, MAIL], [EVENT], []),  # the app has numbered anew
        ("Mail Nina.", [{**OLD, "isRead": True}, MAIL], [], ["deleted in gocalendar, myEvents: Stand-up"]),
        ("Cancel the stand-up and mail Nina.", [OLD, MAIL], [], []),
        ("Mail Nina.", [OLD, MAIL], [EVENT, {"id": "e-2", "title": "Gym"}], ["added in gocalendar, myEvents: Gym"]),
        ("Mail Nina and block the hour.", [OLD, MAIL], [EVENT, {"id": "e-2", "title": "Gym"}], []),
        ("Mail Nina.", [OLD, MAIL, {**MAIL, "id": "m-8"}], [EVENT], []),  # a query judges the app's mails
    ],
)  # fmt: skip
def test_only_what_no_query_and_no_word_of_the_goal_asks_for_is_named(
    goal: str, mails: list[Any], events: list[Any], found: list[str]
) -> None:
    assert unneeded_changes(definition(goal), end_states(mails, events))[0] == found


def test_deletions_are_watched_for_only_where_none_may_be_asked_for() -> None:
    states = end_states([MAIL], [])
    assert unneeded_changes(definition("Mail Nina."), states)[1] == ["unrelated-deletion"]
    assert unneeded_changes(definition("Remove it, and mail Nina."), states) == ([], [])
    gone = definition("Mail Nina.", "length(gocalendar.differences.events.deleted) == `1`")
    assert unneeded_changes(gone, states) == ([], [])


def test_a_state_that_was_not_captured_shows_nothing() -> None:
    assert unneeded_changes(definition("Mail Nina."), {"gomail": None, "gocalendar": {}})[0] == []


def test_own_things_are_found_in_lists_objects_and_lists_of_the_same_name() -> None:
    saved = {"savedRestaurants": {"savedRestaurants": [{"id": "r7"}]}}
    assert list(own_things(saved)) == [("savedRestaurants", {"id": "r7"})]
    assert list(own_things({"orders": {"a": {"id": "1"}}})) == [("orders", {"id": "1"})]
    assert list(own_things({"products": [{"id": "p"}], "orders": ["x"]})) == []
