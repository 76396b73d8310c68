from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.models import Model, ScriptedAdapter
from bench_core.records.judge import JudgeCase
from llm_judge import Judge
from llm_judge.claims.compiler import compile_claims, compile_request, place_words, read_claims
from llm_judge.claims.decisions import ClaimFile, read_claim_file, task_digest
from llm_judge.claims.evaluation import states_of
from llm_judge.claims.files import checked, compile_file, edited
from llm_judge.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.models import ModelRequest

START = {"rides": [{"id": "r0", "to": "Airport", "state": "done", "at": "2026-07-01T10:00:00Z"}]}
RIDE = {"id": "r1", "to": "8 Mission St", "state": "booked", "at": "2026-07-18T18:00:00Z"}
RIGHT = {"rides": [*START["rides"], RIDE]}
WRONG = {"rides": [*START["rides"], {**RIDE, "at": "2026-07-18T19:00:00Z"}]}
OPEN = {"rides": [*START["rides"], {**RIDE, "state": "reserviert"}]}

WHERE = [
    {"op": "created"},
    {"op": "is", "field": "/to", "kind": "address", "values": ["8 Mission Street"]},
    {"op": "moment", "field": "/at", "value": "2026-07-18T20:00", "zone": "Europe/Berlin"},
    {"op": "word", "field": "/state", "meaning": "the ride is booked", "accept": ["booked"], "reject": ["cancelled"]},
]  # fmt: skip
FACTS = [
    {"text": "to 8 Mission Street", "fields": ["/rides/*/to"]},
    {"text": "at 20:00 on 2026-07-18", "fields": ["/rides/*/at"]},
]
CLAIM = {
    "criterion": "c1",
    "facts": FACTS,
    "assertion": {"op": "exists", "over": "/rides/*", "where": {"op": "and", "of": WHERE}},
}
POLITE = {"criterion": "c2", "assertion": None, "reason": "no field holds messages"}
REPLY = json.dumps({"claims": [CLAIM, POLITE]})


def case(state: Any, case_id: str = "ride") -> JudgeCase:
    return JudgeCase(
        case_id=case_id,
        goal="Book a ride",
        criteria=("A ride to 8 Mission Street was booked for 20:00 on 2026-07-18", "The agent was polite"),
        state=state,
        initial_state=START,
        timezone="Europe/Berlin",
    )  # fmt: skip


@pytest.fixture
def asked() -> list[ModelRequest]:
    return []


@pytest.fixture
def model(asked: list[ModelRequest]) -> Model:
    def answer(request: ModelRequest) -> str:
        asked.append(request)
        return f"Here you are:\n```json\n{REPLY}\n```"

    return Model(ScriptedAdapter(answer))


def test_a_task_is_compiled_by_two_calls_whatever_the_number_of_trials(
    model: Model, asked: list[ModelRequest], tmp_path: Path
) -> None:
    cases = [case(RIGHT, f"t{n}") for n in range(12)]
    out = tmp_path / "claims.jsonl"
    made, kept = compile_file(cases, [model, model], out, {"t0": True})
    assert (len(made), kept, len(asked)) == (1, 0, 2)
    assert asked[0].system != asked[1].system
    assert [each.standing for each in made[0].claims] == ["adequate", "inadequate"]
    assert compile_file(cases, [model, model], out, {}) == ([], 1)
    assert len(asked) == 2
    # a new notation binds anew
    other = [case({"rides": [{**RIDE, "at": "18.07.2026 20:00"}]}, "t0")]
    assert len(compile_file(other, [model, model], out, {})[0]) == 1


def test_the_model_never_sees_a_value_of_the_state_to_be_judged() -> None:
    one = case({"rides": [{**RIDE, "to": "SECRET 77", "note": "Geheim"}]})
    sent = compile_request(one, [states_of(one.state, one.initial_state)]).model_dump_json()
    assert "SECRET" not in sent
    assert "Geheim" not in sent
    assert "/rides/*/note" in sent
    assert "Europe/Berlin" in sent


def test_a_criterion_is_decided_by_code_and_the_rest_is_left_to_a_model(model: Model) -> None:
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT], right=[RIGHT]))
    rule = ClaimFile([task])
    right = rule(case(RIGHT), RIGHT)
    assert list(right) == ["c1"]
    assert (right["c1"].verdict, right["c1"].kind) == ("pass", "proven")
    assert {"/rides/1/to", "/rides/1/at"} <= {each.pointer for each in right["c1"].evidence}
    assert rule(case(WRONG), WRONG)["c1"].verdict == "fail"
    assert rule(case(OPEN), OPEN) == {}  # nobody knows the word


@pytest.mark.parametrize(
    ("strength", "of_right", "of_wrong"),
    [("exact", "pass", "fail"), ("necessary", None, "fail"), ("sufficient", "pass", None)],
)
def test_a_necessary_claim_proves_no_pass_and_a_sufficient_one_no_fail(
    model: Model, strength: str, of_right: str | None, of_wrong: str | None
) -> None:
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT], right=[RIGHT]))
    weak = task.claims[0].model_copy(update={"strength": strength})
    rule = ClaimFile([task.model_copy(update={"claims": (weak,)})])
    for state, expected in ((RIGHT, of_right), (WRONG, of_wrong)):
        verdict = rule(case(state), state).get("c1")
        assert (verdict and verdict.verdict) == expected


@pytest.mark.parametrize("standing", ["unchecked", "inadequate", "disputed"])
def test_a_claim_that_is_not_adequate_decides_nothing_until_a_person_approves_it(
    model: Model, standing: str
) -> None:
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT], right=[RIGHT]))
    weak = task.claims[0].model_copy(update={"standing": standing})
    assert ClaimFile([task.model_copy(update={"claims": (weak,)})])(case(RIGHT), RIGHT) == {}
    approved = weak.model_copy(update={"approved_by": "Ann"})
    assert ClaimFile([task.model_copy(update={"claims": (approved,)})])(case(RIGHT), RIGHT)
    # a criterion in other words is another criterion
    old = approved.model_copy(update={"criterion": "A ride was booked"})
    assert ClaimFile([task.model_copy(update={"claims": (old,)})])(case(RIGHT), RIGHT) == {}


def test_a_word_is_asked_about_once_and_without_the_state(model: Model) -> None:
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT], right=[RIGHT]))
    sent: list[str] = []

    def answer(request: ModelRequest) -> str:
        sent.append(request.model_dump_json())
        return '{"answers": [{"number": 1, "same": true}]}'

    words = Model(ScriptedAdapter(answer))
    trials = [(case(OPEN), OPEN)] * 5
    placed = asyncio.run(place_words(task, trials, words))
    assert asyncio.run(place_words(placed, trials, words)) == placed
    assert len(sent) == 1
    assert "Mission" not in sent[0]
    assert ClaimFile([placed])(case(OPEN), OPEN)["c1"].verdict == "pass"


@pytest.mark.parametrize(
    "reply",
    ["", "no", "{", "[1]", '{"claims": 3}', '{"claims": [1, null, {"criterion": 7}]}', '{"claims": [{"criterion": "c1", "assertion": {"op": "evil"}}]}',
     '{"claims": [{"criterion": "c1", "assertion": {"op": "exists", "over": "x"}}]}', "{" * 5000, '{"claims":' + "[" * 99999,
     '{"claims": [{"criterion": "c1", "facts": "x", "strength": "sure"}]}'],
)  # fmt: skip
def test_a_reply_that_is_not_in_form_makes_no_claim(reply: str) -> None:
    claims, wrong = read_claims(reply, case(RIGHT))
    assert not claims
    assert set(wrong) == {"c1", "c2"}


def test_a_model_is_told_once_what_is_not_in_form() -> None:
    replies = iter(["{}", REPLY, "{}", "{}"])
    model = Model(ScriptedAdapter(lambda _: next(replies)))
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT]))
    assert len(task.claims) == 2


def test_what_a_person_edits_is_checked_or_approved_again(model: Model) -> None:
    task = asyncio.run(compile_claims([case(RIGHT)], [model, model], states=[RIGHT], right=[RIGHT]))
    text = task.model_dump_json()
    assert edited(task, text, "f") == task
    changed = edited(task, text.replace("T20:00", "T21:00"), "f")
    assert [each.standing for each in changed.claims] == ["unchecked", "inadequate"]
    assert checked(changed, [case(RIGHT)], {"ride": True}).claims[0].standing == "inadequate"
    assert checked(task, [case(RIGHT)], {"ride": True}).claims[0].standing == "adequate"


def test_the_commands_show_check_approve_and_decide(model: Model, tmp_path: Path) -> None:
    claims, cases, labels = (
        tmp_path / name for name in ("claims.jsonl", "cases.jsonl", "labels.jsonl")
    )
    lines = [case(RIGHT, "good").model_dump_json(), case(WRONG, "bad").model_dump_json()]
    cases.write_text("\n".join(lines))
    labels.write_text('{"case_id": "good", "passed": true}')
    compile_file([case(RIGHT, "good")], [model, model], claims, {})

    def run(*words: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["claims", *words])
        return result.exit_code, result.output

    code, shown = run("show", str(claims))
    assert code == 0
    assert "/at is 2026-07-18T20:00 in Europe/Berlin" in shown
    assert "no field shows it: no field holds messages" in shown
    assert run("check", str(claims), str(cases), "--right", str(labels))[0] == 1  # c2 has no field
    decided = run("decide", str(claims), str(cases))[1].splitlines()
    assert [line.partition(": A")[0] for line in decided[::2]] == [
        "good c1: pass (proven)",
        "bad c1: fail (proven)",
    ]
    assert run("approve", str(claims), "c2", "--by", "Ann")[0] == 2
    assert run("approve", str(claims), "c1", "--by", "Ann")[0] == 0
    assert read_claim_file(claims)[0].claims[0].approved_by == "Ann"
    assert read_claim_file(claims)[0].task == task_digest(case(RIGHT))


def test_a_judge_asks_its_model_only_about_what_no_claim_decides(
    model: Model, tmp_path: Path
) -> None:
    claims = tmp_path / "claims.jsonl"
    compile_file([case(RIGHT, "good")], [model, model], claims, {"good": True})
    sent: list[str] = []

    def answer(request: ModelRequest) -> str:
        sent.append(request.model_dump_json())
        return "{}"

    judge = Judge(Model(ScriptedAdapter(answer)), claims=claims)
    verdict = judge.judge_now(case(WRONG))
    decided = {each.criterion_id: each for each in verdict.criteria}
    assert (decided["c1"].verdict, decided["c1"].kind) == ("fail", "proven")
    assert (verdict.outcome, verdict.kind) == ("fail", "proven")
    before = len(sent)
    both = case(RIGHT)
    judge.judge_now(both)
    assert len(sent) > before
    assert all("The agent was polite" in one for one in sent)
    assert not any(both.criteria[0].text in one for one in sent)
    # a file of claims or a record in the case, it is the same
    assert (
        ClaimFile([])(both.model_copy(update={"claims": read_claim_file(claims)[0]}), RIGHT)[
            "c1"
        ].verdict
        == "pass"
    )
