"""Genuine evidence proves a pass only where it bears on the criterion.

`corpus/world.json` is the end state of one run over five applications; `proofs.jsonl` and `vacuous.jsonl`
hold criteria and what is quoted for them: `!` before a pointer says that nothing is there, `!pointer
word` that the word does not stand below it, and `pointer = text` quotes a passage.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from test_support.scripted_judges import quoting

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import Criterion, Evidence, JudgeCase
from llm_judge import Judge, JudgePolicy, prepare
from llm_judge.evidence.judged_state import JudgedState
from llm_judge.evidence.proof import ProofChecker
from llm_judge.meta_evaluation.generated_cases import generated_cases
from llm_judge.states.pointers import leaves, resolve

if TYPE_CHECKING:
    from bench_core.models import ModelRequest
    from bench_core.records.judge import CriterionVerdict, Verdict
    from llm_judge.meta_evaluation.labelled_set import LabelledCase

CORPUS = Path(__file__).parent / "corpus"
WORLD = json.loads((CORPUS / "world.json").read_text(encoding="utf-8"))
STATE = WORLD["state"]


def rows(name: str) -> list[dict[str, Any]]:
    lines = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


GOOD, VACUOUS = rows("proofs"), rows("vacuous")


def quotation(text: str) -> dict[str, Any]:
    pointer, _, passage = text.partition(" = ")
    absent = pointer.startswith("!")
    pointer, _, word = pointer.lstrip("!").partition(" ")
    value = resolve(STATE, pointer)
    quote = passage or (value if isinstance(value, str) else json.dumps(value))
    kind = "absent" if absent else "passage" if passage else "present"
    return {
        "kind": kind, "pointer": pointer, "quote": (word or None) if absent else quote, "screenshot": None, "region": None,
    }  # fmt: skip


def decided(criterion: str, quotes: list[str]) -> CriterionVerdict:
    case = JudgeCase(
        case_id="c",
        goal=WORLD["goal"],
        criteria=(Criterion(id="one", text=criterion),),
        state=STATE,
    )
    judge = Judge(Model(ScriptedAdapter(quoting([quotation(each) for each in quotes]))))
    verdict = asyncio.run(judge.judge(case))
    assert all(each.verified for each in verdict.criteria[0].evidence), verdict.criteria[0]
    return verdict.criteria[0]


@pytest.mark.parametrize("row", GOOD, ids=lambda row: row["id"])
def test_a_good_proof_passes(row: dict[str, Any]) -> None:
    found = decided(row["criterion"], row["quotes"])
    assert (found.verdict, found.doubt) == ("pass", None)


@pytest.mark.parametrize("row", VACUOUS, ids=lambda row: row["id"])
def test_vacuous_evidence_proves_no_pass(row: dict[str, Any]) -> None:
    found = decided(row["criterion"], row["quotes"])
    assert found.verdict == "unknown"
    assert found.doubt


def test_the_corpora_are_large_and_of_distinct_kinds() -> None:
    assert len(GOOD) >= 60
    assert len(VACUOUS) >= 60
    assert len({each["id"] for each in (*GOOD, *VACUOUS)}) == len(GOOD) + len(VACUOUS)
    assert len({each["quotes"][0].lstrip("!").split("/")[1] for each in GOOD}) >= 4


def judged(criteria: dict[str, str], answer: Any, **policy: Any) -> Verdict:
    asked = tuple(Criterion(id=name, text=text) for name, text in criteria.items())
    case = JudgeCase(case_id="c", goal=WORLD["goal"], criteria=asked, state=STATE)
    judge = Judge(Model(ScriptedAdapter(answer)), policy=JudgePolicy(**policy))
    return asyncio.run(judge.judge(case))


def codes(verdict: Verdict) -> list[str]:
    return [each.code for each in verdict.findings if each.code.startswith("evidence.")]


def test_what_no_rule_can_check_is_left_to_the_model_and_marked() -> None:
    quote = quotation("/cartly/finalstate/orders/history/1/product")
    verdict = judged({"lamps": "The cheapest lamps were ordered."}, quoting([quote]))
    assert verdict.outcome == "pass"
    assert codes(verdict) == ["evidence.unchecked"]
    assert "cheapest" in next(
        each.message for each in verdict.findings if each.code == "evidence.unchecked"
    )


def test_one_quotation_for_all_criteria_is_a_finding() -> None:
    name = quotation("/tablely/finalstate/booking/bookings/1/restaurant")
    criteria = {"time": "A table is booked for 8:30 PM.", "people": "A table for 3 is booked."}
    assert codes(judged(criteria, quoting([name]))) == ["evidence.reused"]


def test_a_wrong_booking_does_not_pass_by_the_restaurants_name() -> None:
    criteria = {"time": "A table is booked for 9:30 PM.", "people": "A table for 5 is booked."}
    name = quotation("/tablely/finalstate/booking/bookings/1/restaurant")
    verdict = judged(criteria, quoting([name]))
    assert [each.verdict for each in verdict.criteria] == ["unknown", "unknown"]


def asked(case_seed: int, criteria: tuple[str, ...]) -> list[str]:
    case = JudgeCase(
        case_id="c", goal=WORLD["goal"], state=STATE,
        criteria=tuple(Criterion(id=str(n), text=each) for n, each in enumerate(criteria)),
    )  # fmt: skip
    questions = prepare(case, JudgePolicy(seed=case_seed)).prompt.questions
    return [each.text for each in questions if each.control is not None]


def test_controls_are_worded_like_the_criteria_and_made_of_the_case() -> None:
    for text in asked(1, ("Verify that a table was booked.",)):
        assert text.startswith("Verify that ")
        assert "/" not in text.replace("7/18/2026", "")
    assert all(not text.startswith("Verify") for text in asked(1, ("A table was booked.",)))


def test_controls_differ_with_the_seed_and_not_without() -> None:
    criteria = ("A table was booked.",)
    assert asked(3, criteria) == asked(3, criteria)
    assert len({tuple(asked(seed, criteria)) for seed in range(20)}) > 15


def test_each_sample_is_asked_other_controls() -> None:
    seen: list[str] = []

    def noting(request: ModelRequest) -> dict[str, Any]:
        seen.append(request.system or "")
        return quoting([quotation("/tablely/finalstate/booking/bookings/1/time")])(request)

    assert judged({"time": "A table is booked for 8:30 PM."}, noting, samples=3).outcome == "pass"
    assert len(set(seen)) == 3


def test_a_time_zone_of_the_case_decides_what_a_moment_in_utc_is() -> None:
    event = {"title": "Call", "start": "2026-07-18T20:30:00.000Z"}
    state = {"daybook": {"initialstate": {"events": []}, "finalstate": {"events": [event]}}}
    found = {}
    for zone in ("America/Denver", "UTC", None):
        case = JudgeCase(
            case_id="c", goal="Plan a call", state=state, criteria=(Criterion(id="t", text="The call starts at 2:30 PM."),),
            timezone=zone,
        )  # fmt: skip
        quote = {
            "kind": "present",
            "pointer": "/daybook/finalstate/events/0/start",
            "quote": event["start"],
            "screenshot": None,
            "region": None,
        }
        found[zone] = asyncio.run(
            Judge(Model(ScriptedAdapter(quoting([quote])))).judge(case)
        ).outcome
    assert found == {"America/Denver": "pass", "UTC": "abstain", None: "abstain"}


@pytest.mark.parametrize(
    ("text", "at", "outcome"),
    [
        ("The value at /air/finalstate/Basic Economy/total is 152.", "Basic Economy", "pass"),
        ("The value at /air/finalstate/Basic Economy/total is 152.", "Basic", "abstain"),
        ("The value at /air/finalstate/Basic Economy/total is 153.", "Basic Economy", "abstain"),
        ("Check (/air/finalstate/Basic Economy/total), it is 152.", "Basic Economy", "pass"),
    ],
    ids=["key-with-space", "other-place", "other-value", "in-parentheses"],
)
def test_a_pointer_whose_keys_hold_spaces_is_read_whole(text: str, at: str, outcome: str) -> None:
    fares = {"Basic": {"total": 152}, "Basic Economy": {"total": 152}}
    state = {"air": {"initialstate": {}, "finalstate": fares}}
    case = JudgeCase(goal="Fly.", state=state, criteria=(Criterion(id="one", text=text),))
    quote = {"kind": "present", "pointer": f"/air/finalstate/{at}/total", "quote": "152", "screenshot": None, "region": None}  # fmt: skip
    verdict = asyncio.run(Judge(Model(ScriptedAdapter(quoting([quote])))).judge(case))
    assert verdict.outcome == outcome


COLLECTIONS = (
    ("tablely", "bookings"),
    ("daybook", "events"),
    ("webmail", "emails"),
    ("cartly", "orders"),
    ("rideline", "trips"),
)


def record_of(labelled: LabelledCase, number: int) -> list[Evidence]:
    """Quote all of the record that a generated criterion is about."""
    app, name = COLLECTIONS[number]
    state: Any = labelled.case.state
    records = state[app]["finalstate"][name]
    place = f"/{app}/finalstate/{name}/{len(records) - 1}"
    return [
        Evidence(pointer=pointer, quote=str(value), verified=True) for pointer, value in leaves(records[-1], place)
    ]  # fmt: skip


def test_the_right_record_proves_generated_criteria_and_a_wrong_one_does_not() -> None:
    unproven, fooled, right = [], [], 0
    for labelled in generated_cases(400, seed=5):
        case = labelled.case
        checker = ProofChecker(
            JudgedState(case.state, case.goal, apps=[each for each, _ in COLLECTIONS])
        )
        doubts = [
            checker.check(each.text, record_of(labelled, n)).doubt
            for n, each in enumerate(case.criteria)
        ]
        if labelled.outcome:
            right += len(doubts)
            unproven += [each for each in doubts if each is not None]
        elif not any(doubts):
            fooled.append(labelled.operator)
    assert fooled == []
    assert len(unproven) <= 0.05 * right, unproven[:5]
