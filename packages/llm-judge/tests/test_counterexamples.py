"""States on which a claim and a query-like rule differ, from an end state that tells everything in several places."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records.claims import Claim, TaskClaims
from bench_core.records.judge import JudgeCase
from llm_judge import Judge
from llm_judge.claims import task_digest, write_claim_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD = {"id": "b1", "place": "Luna", "guests": "2 people", "time": "7:00 PM"}
NEW = {"id": "b2", "place": "Old Mill", "guests": "3 people", "time": "8:30 PM"}
STATE = {
    "dining": {
        "initialstate": {"bookings": [OLD]},
        "finalstate": {"bookings": [OLD, NEW]},
        "differences": {"bookings": {"added": {"b2": NEW}, "deleted": {}, "updated": {}}},
    }
}
BOOKED: list[dict[str, Any]] = [
    {"op": "created"},
    {"op": "is", "field": "/place", "values": ["Old Mill", "The Old Mill"]},
    {"op": "number", "field": "/guests", "value": 3},
    {"op": "moment", "field": "/time", "value": "20:30"},
]


def booked(op: str = "exactly", **changes: Any) -> Claim:
    where = {"op": "and", "of": BOOKED}
    assertion = {"op": op, "over": "/dining/bookings/*", "where": where}
    return Claim.model_validate(
        {"criterion_id": "c1", "criterion": "booked", "assertion": assertion, "approved_by": "Ann"}
        | changes
    )


def added(state: Any) -> list[Any]:
    return list(state["dining"]["differences"]["bookings"]["added"].values())


def is_right(each: Any, **changes: str) -> bool:
    return bool({**each, **changes}.items() >= {"place": "Old Mill", "guests": "3 people", "time": "8:30 PM"}.items())  # fmt: skip


def found(claim: Claim, rule: Callable[[Any], bool], folder: Path, state: Any = STATE) -> list[Any]:
    case = JudgeCase(goal="Book", criteria=("booked",), state=state)
    file = folder / "claims.jsonl"
    task = TaskClaims(task=task_digest(case), case_id="x", goal="Book", claims=(claim,))
    write_claim_file(file, [task])
    return list(Judge.counterexamples(case, file, {"c1": rule}))


def exact(state: Any) -> bool:
    """What an exact query does, in the app's own notation and list of changes."""
    return sum(is_right(each) for each in added(state)) == 1


def test_a_rule_that_says_the_same_differs_nowhere(tmp_path: Path) -> None:
    assert found(booked(), exact, tmp_path) == []


WRONG: dict[str, tuple[Callable[[Any], bool], str, bool]] = {
    "too much": (lambda s: any(is_right(e, guests="x") for e in added(s)), "nothing changed", False),
    "guests not asked": (lambda s: sum(is_right(e, guests="3 people") for e in added(s)) == 1,
                         "/dining/finalstate/bookings/1/guests is", True),
    "time not asked": (lambda s: sum(is_right(e, time="8:30 PM") for e in added(s)) == 1,
                       "/dining/finalstate/bookings/1/time is", True),
    "one or more": (lambda s: any(map(is_right, added(s))),
                    "/dining/finalstate/bookings also holds", True),
    "of two records": (lambda s: all(any(e[k] == NEW[k] for e in added(s)) for k in ("place", "guests", "time"))
                       and sum(e["place"] == "Old Mill" for e in added(s)) == 1,
                       " and /dining/finalstate/bookings also holds", True),
    "never": (lambda _: False, "nothing changed", False),
    "always": (lambda _: True, "/dining/finalstate/bookings/1", True),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_differs_on_the_smallest_change_that_shows_it(
    name: str, tmp_path: Path
) -> None:
    rule, told, met = WRONG[name]
    (one,) = found(booked(), rule, tmp_path)
    assert told in one.change
    assert (one.rule, one.claim, one.claim_by) == (met, not met, "Ann")
    assert (rule(one.state), exact(one.state)) == (met, not met)


def test_a_change_is_made_wherever_the_state_tells_it(tmp_path: Path) -> None:
    (one,) = found(booked(), WRONG["guests not asked"][0], tmp_path)
    (changed,) = added(one.state)
    assert changed in one.state["dining"]["finalstate"]["bookings"]
    assert OLD in one.state["dining"]["finalstate"]["bookings"]
    assert one.state["dining"]["initialstate"] == STATE["dining"]["initialstate"]


def test_a_record_that_is_gone_is_gone_everywhere(tmp_path: Path) -> None:
    def counted(state: Any) -> bool:
        assert len(added(state)) == len(state["dining"]["finalstate"]["bookings"]) - 1
        return exact(state)

    assert found(booked(), counted, tmp_path) == []


def test_what_the_run_did_not_make_is_left_alone_where_the_app_lists_its_changes(
    tmp_path: Path,
) -> None:
    def unchanged(state: Any) -> bool:
        assert OLD in state["dining"]["finalstate"]["bookings"]
        return exact(state)

    assert found(booked(), unchanged, tmp_path) == []


def test_the_only_element_of_a_list_is_changed_within_it(tmp_path: Path) -> None:
    text = json.dumps(STATE).replace('"Old Mill"', '["Old Mill"]')

    def forgets_the_place(state: Any) -> bool:
        return any(is_right(each, place="Old Mill") for each in added(state))

    (one,) = found(booked("exists"), forgets_the_place, tmp_path, json.loads(text))
    assert one.change.startswith("/dining/finalstate/bookings/1/place/0 is ")
    assert added(one.state)[0]["place"] == one.state["dining"]["finalstate"]["bookings"][1]["place"]
    assert added(one.state)[0]["place"] != ["Old Mill"]


def test_another_notation_is_not_held_against_a_rule_that_is_right(tmp_path: Path) -> None:
    claim = booked()
    rule = WRONG["too much"][0]
    # "The Old Mill", "3 PEOPLE" and "20:30" meet the claim; the app writes none of them
    assert found(claim, exact, tmp_path) == []
    # but a rule that is met in whatever notation must be met rightly
    (one,) = found(claim, lambda s: not rule(s) and len(added(s)) > 0, tmp_path)
    assert one.rule


@pytest.mark.parametrize(
    ("changes", "differs"),
    [({"strength": "necessary"}, False), ({"strength": "sufficient"}, True),
     ({"approved_by": None}, False), ({"approved_by": None, "standing": "adequate"}, True),
     ({"criterion": "other"}, False), ({"assertion": None}, False)],
    ids=["necessary", "sufficient", "unchecked", "adequate", "other-words", "none"],
)  # fmt: skip
def test_only_what_a_claim_proves_is_held_against_a_rule(
    changes: dict[str, Any], differs: bool, tmp_path: Path
) -> None:
    assert bool(found(booked(**changes), lambda _: False, tmp_path)) is differs


def test_a_state_apart_from_the_one_before_is_changed_too(tmp_path: Path) -> None:
    case = JudgeCase(
        goal="Book", criteria=("booked",), state={"bookings": [OLD, NEW]}, initial_state={"bookings": [OLD]},
    )  # fmt: skip
    claim = booked().model_copy(
        update={"assertion": booked().assertion.model_copy(update={"over": "/bookings/*"})}  # type: ignore[union-attr]
    )
    task = TaskClaims(task=task_digest(case), case_id="x", goal="Book", claims=(claim,))
    file = tmp_path / "claims.jsonl"
    file.write_text(json.dumps(task.model_dump(mode="json", exclude_defaults=True)))
    (one,) = Judge.counterexamples(case, file, {"c1": lambda _: True})
    assert one.state not in (None, case.state)
