from __future__ import annotations

import os
from random import Random
from typing import Any

import pytest
from test_support.random_claims import random_assertion, random_state

from bench_core.records.claims import Claim
from llm_judge.claims.adequacy import Adequacy, check
from llm_judge.claims.evaluation import States, states_of
from llm_judge.claims.shape import shape_of
from llm_judge.claims.values import Setting

DRAWS = int(os.environ.get("FUZZED_CLAIMS", "300")) // 10
CRITERION = "Ann Lee ordered 3 lamps for 1234.50 EUR in all, delivered on 2026-07-18 at 20:30"
START = {
    "orders": [
        {"id": "o1", "status": "confirmed", "total": "10,00 €", "customer": "Bob Ray",
         "delivery": "2026-05-01T08:00:00Z", "items": [{"sku": "LMP", "name": "Lamp", "qty": 1}]},
        {"id": "o2", "status": "cancelled", "total": "24,00 €", "customer": "Ann Lee",
         "delivery": "2026-06-01T08:00:00Z", "items": [{"sku": "CHR", "name": "Chair", "qty": 2}]},
    ],
    "carts": [{"id": "k1", "total": "0,00 €", "customer": "Ann Lee"}],
    "reviews": [],
}  # fmt: skip
NEW = {
    "id": "o3", "status": "confirmed", "total": "1.234,50 €", "customer": "Ann Lee",
    "delivery": "2026-07-19T02:30:00Z", "items": [{"sku": "LMP", "name": "Lamp", "qty": 3}],
}  # fmt: skip
END = {**START, "orders": [*START["orders"], NEW]}
RIGHT = States(END, START)

CREATED: dict[str, Any] = {"op": "created"}
WHO = {"op": "is", "field": "/customer", "values": ["Ann Lee"]}
TOTAL = {"op": "number", "field": "/total", "value": 1234.5, "currency": "EUR"}
WHEN = {
    "op": "moment",
    "field": "/delivery",
    "value": "2026-07-18T20:30",
    "zone": "America/Denver",
}
NAME = {"op": "is", "field": "/name", "values": ["Lamp", "Lamps"]}
QTY = {"op": "number", "field": "/qty", "value": 3}
STATUS = {
    "op": "word", "field": "/status", "meaning": "the order is in effect", "accept": ["confirmed", "placed"],
    "reject": ["cancelled", "draft"],
}  # fmt: skip
FACTS = [
    {"text": "Ann Lee", "fields": ["/orders/*/customer"]},
    {"text": "3 lamps", "fields": ["/orders/*/items/*/qty", "/orders/*/items/*/name"]},
    {"text": "1234.50 EUR", "fields": ["/orders/*/total"]},
    {"text": "on 2026-07-18 at 20:30", "fields": ["/orders/*/delivery"]},
]


def items(*of: dict[str, Any]) -> dict[str, Any]:
    return {"op": "exists", "over": "/items/*", "where": {"op": "and", "of": list(of)}}


def orders(*of: dict[str, Any], op: str = "exists", **more: Any) -> dict[str, Any]:
    return {"op": op, "over": "/orders/*", "where": {"op": "and", "of": list(of)}, **more}


def claim(assertion: dict[str, Any], **more: Any) -> Claim:
    known = {"criterion_id": "c1", "criterion": CRITERION, "facts": FACTS, **more}
    return Claim(assertion=assertion, **known)


LAMPS = items(NAME, QTY)
GOOD = claim(orders(CREATED, WHO, TOTAL, WHEN, LAMPS, STATUS))
# written by another hand: other words, another order, the same meaning
SECOND = claim(
    {"op": "and", "of": [orders(STATUS, items(NAME, QTY),
     {"op": "not", "of": {"op": "before", "of": {"op": "empty", "field": "/id"}}}, CREATED, WHEN, TOTAL, WHO)]}
)  # fmt: skip

CARELESS = {
    "who dropped": orders(CREATED, TOTAL, WHEN, LAMPS, STATUS),
    "total dropped": orders(CREATED, WHO, WHEN, LAMPS, STATUS),
    "day and time dropped": orders(CREATED, WHO, TOTAL, LAMPS, STATUS),
    "number dropped": orders(CREATED, WHO, TOTAL, WHEN, items(NAME), STATUS),
    "thing dropped": orders(CREATED, WHO, TOTAL, WHEN, items(QTY), STATUS),
    "status ignored": orders(CREATED, WHO, TOTAL, WHEN, LAMPS),
    "cancelled accepted": orders(CREATED, WHO, TOTAL, WHEN, LAMPS, {**STATUS, "accept": ["confirmed", "cancelled"], "reject": []}),
    "made by the run ignored": orders(WHO, TOTAL, WHEN, LAMPS, STATUS),
    "records mixed": {"op": "and", "of": [orders(CREATED, WHO, STATUS), orders(TOTAL, WHEN, LAMPS)]},
    "items mixed": orders(CREATED, WHO, TOTAL, WHEN, items(NAME), items(QTY), STATUS),
    "time taken for UTC": orders(CREATED, WHO, TOTAL, {**WHEN, "zone": "UTC"}, LAMPS, STATUS),
    "zone of another place": orders(CREATED, WHO, TOTAL, {**WHEN, "zone": "Europe/Berlin"}, LAMPS, STATUS),
    "only the day": orders(CREATED, WHO, TOTAL, {**WHEN, "value": "2026-07-18"}, LAMPS, STATUS),
    "one too many": orders(CREATED, WHO, TOTAL, WHEN, items(NAME, {**QTY, "compare": ">", "value": 3}), STATUS),
    "one too few will do": orders(CREATED, WHO, TOTAL, WHEN, items(NAME, {**QTY, "compare": ">=", "value": 2}), STATUS),
    "at least for exactly": orders(CREATED, WHO, {**TOTAL, "compare": ">="}, WHEN, LAMPS, STATUS),
    "another currency": orders(CREATED, WHO, {**TOTAL, "currency": "USD"}, WHEN, LAMPS, STATUS),
    "currency ignored": orders(CREATED, WHO, {**TOTAL, "currency": None}, WHEN, LAMPS, STATUS),
    "negation": {"op": "not", "of": orders(CREATED, WHO, TOTAL, WHEN, LAMPS, STATUS)},
    "none for one": orders(CREATED, WHO, TOTAL, WHEN, LAMPS, STATUS, op="none"),
    "or for and": {"op": "exists", "over": "/orders/*", "where": {"op": "or", "of": [WHO, TOTAL, WHEN, LAMPS]}},
    "wrong list": {"op": "exists", "over": "/carts/*", "where": WHO},
    "wrong field": orders(CREATED, WHO, TOTAL, WHEN, items({**NAME, "field": "/sku"}, QTY), STATUS),
    "part of a name": orders(CREATED, {"op": "contains", "field": "/customer", "phrases": ["Lee"]}, TOTAL, WHEN, LAMPS, STATUS),
    "at most for at least": orders(CREATED, WHO, TOTAL, WHEN, LAMPS, STATUS, op="at_most", count=1),
}  # fmt: skip


def found(one: Claim, **known: Any) -> Adequacy:
    return check(
        one, [CRITERION], "Order three lamps", START, setting=Setting("America/Denver"), **known
    )


def test_a_careful_claim_is_adequate_with_a_right_state_or_a_second_compile() -> None:
    assert found(GOOD, right=[RIGHT]).standing == "adequate"
    assert found(GOOD, other=SECOND).standing == "adequate"
    both = found(GOOD, right=[RIGHT], other=SECOND)
    assert both.standing == "adequate"
    assert both.states > 200
    assert "single facts were broken in: a right state" in both.findings


def test_without_a_right_state_the_findings_say_that_the_witness_is_the_claims_own() -> None:
    without = found(GOOD, other=SECOND)
    assert without.witness == "made from the claim itself"
    assert found(GOOD).standing == "inadequate"


@pytest.mark.parametrize("kind", CARELESS)
def test_a_careless_claim_is_found_beside_a_careful_one(kind: str) -> None:
    one = claim(CARELESS[kind])
    assert found(one, right=[RIGHT], other=SECOND).standing in {"inadequate", "disputed"}
    assert found(one, other=SECOND).standing in {"inadequate", "disputed"}


def test_most_careless_claims_are_found_by_a_right_state_alone() -> None:
    missed = {
        kind
        for kind, one in CARELESS.items()
        if found(claim(one), right=[RIGHT]).standing == "adequate"
    }
    # what no right state shows: how else it might have come about, and that no other number would do
    assert missed == {"made by the run ignored", "one too few will do", "at least for exactly"}


def test_what_a_criterion_leaves_open_need_not_be_exact() -> None:
    criterion = (
        "Ann Lee ordered 3 lamps or more, for at least 1234.50 in all, on 2026-07-18 at 20:30"
    )
    facts = [{**each, "text": each["text"].replace(" EUR", "")} for each in FACTS]
    more = items(NAME, {**QTY, "compare": ">="})
    loose = {**TOTAL, "compare": ">=", "currency": None}
    one = claim(orders(CREATED, WHO, loose, WHEN, more, STATUS), criterion=criterion, facts=facts)
    assert (
        check(
            one, [criterion], "g", START, setting=Setting("America/Denver"), right=[RIGHT]
        ).standing
        == "adequate"
    )


def test_the_example_of_a_dispute_is_the_smallest() -> None:
    disputed = found(claim(CARELESS["status ignored"]), right=[RIGHT], other=SECOND).findings[0]
    assert "/orders/2/status" in disputed
    assert " and " not in disputed.partition("with ")[2].partition(" this one")[0]


def test_a_fact_without_a_field_makes_a_claim_necessary_at_most() -> None:
    unbound = [*FACTS, {"text": "with gift wrap", "fields": []}]
    assert (
        found(claim(GOOD.model_dump()["assertion"], facts=unbound), right=[RIGHT]).standing
        == "inadequate"
    )
    weaker = claim(GOOD.model_dump()["assertion"], facts=unbound, strength="necessary")
    assert found(weaker, right=[RIGHT]).standing == "adequate"


def test_a_guard_must_be_breakable_and_other_claims_are_warned_about() -> None:
    still = {"criterion": "Nothing of Bob Ray was cancelled", "facts": []}
    bobs = orders(
        {"op": "is", "field": "/customer", "values": ["Bob Ray"]},
        {**STATUS, "accept": ["cancelled"], "reject": ["confirmed"]},
        op="none",
    )
    guard = check(claim(bobs, guard=True, **still), ["x"], "g", START, right=[RIGHT])
    assert guard.standing == "adequate"
    careless = check(claim(bobs, **still), ["x"], "g", START, right=[RIGHT])
    assert any("true before the run" in each for each in careless.findings)
    empty = claim(
        {
            "op": "none",
            "over": "/orders/*",
            "where": {"op": "and", "of": [CREATED, {"op": "deleted"}]},
        },
        guard=True,
        **still,
    )
    assert check(empty, ["x"], "g", START, right=[RIGHT]).standing == "inadequate"


def test_a_criterion_that_no_field_holds_is_said_to_be_so() -> None:
    none = Claim(
        criterion_id="c1", criterion="The agent was polite", reason="no field holds messages"
    )
    assert check(none, ["x"], "g", START, right=[RIGHT]).findings == (
        "no claim: no field holds messages",
    )


def test_the_shape_shows_no_value_of_the_state_to_be_judged() -> None:
    text = shape_of([RIGHT]).text
    assert all(secret not in text for secret in ("1.234", "o3", "2026-07-19"))
    assert (
        '/orders/*/total: text; written like "99,99 €", "9.999,99 €"; before the run: "10,00 €", "24,00 €"'
        in text.replace("\\u20ac", "€")
    )
    assert "/reviews/*: each element of a list; 0 before the run" in text
    keyed = {f"ORD-{n}": {"state": "open", "sum": n} for n in range(3)}
    assert (
        "/orders/*: each value of a map, its key is @key; 3 before the run"
        in shape_of([States({"orders": keyed}, {"orders": keyed})]).text
    )


def test_every_claim_is_checked_without_an_exception_whatever_the_states_hold() -> None:
    for seed in range(DRAWS):
        rng = Random(seed)  # noqa: S311  # not cryptography
        one, two = (
            Claim(
                criterion_id="c",
                criterion="open 1,234 on 2026-07-18",
                assertion=random_assertion(rng, 3),
            )
            for _ in "ab"
        )
        end, start = random_state(rng), random_state(rng)
        states = States(end, start) if seed % 2 else states_of(end)
        found = check(
            one, ["x"], "g", start, right=[states] if seed % 3 else [], other=two, seed=seed
        )
        assert found.standing in {"adequate", "inadequate", "disputed"}
        assert shape_of([states]).digest


def test_a_second_name_of_a_record_that_both_compiles_choose_by_identifier_is_no_dispute() -> None:
    number = {"op": "is", "field": "/id", "values": ["o1"]}
    named = {"op": "is", "field": "/customer", "values": ["Bob Ray"]}
    one = claim(orders(number, STATUS), criterion="Bob Ray's order is in effect", facts=[])
    texts = (["x"], "g", START)
    two = one.model_copy(update={"assertion": claim(orders(number, named, STATUS)).assertion})
    assert check(one, *texts, other=two).standing == "adequate"
    guards = [each.model_copy(update={"guard": True}) for each in (one, two)]
    assert check(guards[0], *texts, other=guards[1]).standing == "disputed"
    new = claim(orders(number, {**named, "values": ["Cy Poe"]}, STATUS), facts=[]).assertion
    assert (
        check(one, *texts, other=two.model_copy(update={"assertion": new})).standing == "disputed"
    )
    without = claim(orders(number, named), facts=[]).assertion
    assert (
        check(one, *texts, other=two.model_copy(update={"assertion": without})).standing
        == "disputed"
    )


def test_numbers_in_words_identifiers_and_hundredths_are_those_of_the_criteria() -> None:
    told = "four lamps for 12.50 on order 7"
    start = {"orders": [{"id": 7, "lamps": 1, "cents": 900}]}

    def findings(field: str, value: float) -> tuple[str, ...]:
        one = claim({"op": "number", "field": f"/orders/0/{field}", "value": value}, criterion=told)
        found = check(one, [told], "g", start)
        return tuple(each for each in found.findings if "not in the criteria" in each)

    assert not any(findings(*each) for each in (("lamps", 4), ("id", 7), ("cents", 1250)))
    assert all(findings(*each) for each in (("lamps", 13), ("cents", 125), ("cents", 12500)))
