from __future__ import annotations

import os
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from test_support.random_claims import random_assertion, random_state

from bench_core.records.claims import Assertion, Claim
from llm_judge.claims.evaluation import Decided, States, decide, states_of
from llm_judge.claims.printing import in_english
from llm_judge.claims.values import Setting

DRAWS = int(os.environ.get("FUZZED_CLAIMS", "300"))
_read = TypeAdapter(Assertion).validate_python

START = {
    "orders": [{"id": "o1", "status": "open", "total": "10,00 €", "lines": [{"sku": "a", "n": 1}]}],
    "inbox": [{"id": "m1"}, {"id": "m2"}],
    "archive": [],
    "theme": "dark",
}
END = {
    "orders": [
        {"id": "o1", "status": "shipped", "total": "10,00 €", "lines": [{"sku": "a", "n": 2}]},
        {
            "id": "o2",
            "status": "en route",
            "total": "1.234,50 €",
            "when": "2026-07-19T02:30:00Z",
            "cancelledAt": None,
            "lines": [{"sku": "b", "n": 3}, {"sku": "c", "n": 1}],
        },
    ],
    "inbox": [{"id": "m2"}],
    "archive": [{"id": "m1"}],
    "theme": "dark",
}


def truth(assertion: dict[str, Any], end: Any = END, **world: str | None) -> bool | None:
    return decide(_read(assertion), States(end, START), Setting(**world)).truth


def of_new_order(*conditions: dict[str, Any]) -> dict[str, Any]:
    of = [{"op": "created"}, *conditions]
    return {"op": "exists", "over": "/orders/*", "where": {"op": "and", "of": of}}


def _at(where: dict[str, Any], op: str = "exists", **more: Any) -> dict[str, Any]:
    return {"op": op, "over": "/orders/*", "where": where, **more}


def _word(accept: str = "shipped", **more: Any) -> dict[str, Any]:
    return {"op": "word", "field": "/status", "meaning": "is shipped", "accept": [accept], **more}


MOMENT = {"op": "moment", "field": "/when", "value": "2026-07-18T20:30"}


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        (of_new_order({"op": "number", "field": "/total", "value": 1234.5, "currency": "EUR"}), True),
        (of_new_order({"op": "number", "field": "/total", "value": 1234.5, "currency": "USD"}), False),
        (of_new_order({"op": "number", "field": "/total", "value": 10, "currency": "EUR"}), False),
        (of_new_order({**MOMENT, "zone": "America/Denver", "stored": "UTC"}), True),
        (of_new_order({**MOMENT, "zone": "Europe/Berlin"}), False),
        (of_new_order(MOMENT), None),  # in UTC, and nothing says where the criterion's time is
        (of_new_order({"op": "empty", "field": "/cancelledAt"}), True),
        (of_new_order({"op": "empty", "field": "/deletedAt"}), None),
        (of_new_order({"op": "empty", "field": "/deletedAt", "optional": True}), True),
        (_at({"op": "and", "of": [_word(), {"op": "changed", "field": "/status"}]}), True),
        (_at(_word(), "exactly", count=1), None),
        (_at(_word(reject=["en route"]), "exactly", count=1), True),
        (_at(_word(reject=["en route"]), "exactly", count=2), False),
        (_at(_word(reject=["en route"]), "at_most", count=1), True),
        (_at(_word(), "at_least", count=1), True),
        (_at(_word(), "at_least", count=3), False),
        (_at(_word(), "none"), False),
        ({"op": "all", "over": "/orders/*", "holds": _word(reject=["en route"])}, False),
        ({"op": "all", "over": "/orders/*", "holds": _word()}, None),
        ({"op": "all", "over": "/archive/*", "where": {"op": "deleted"}, "holds": _word()}, False),
        ({"op": "all", "over": "/archive/*", "where": {"op": "is", "field": "/id", "values": ["x"]},
          "holds": _word(), "may_be_none": True}, True),
        ({"op": "sum", "over": "/orders/*/lines/*", "field": "/n", "compare": "=", "value": 6}, True),
        ({"op": "sum", "over": "/orders/*/lines/*", "field": "/n", "compare": "<", "value": 6}, False),
        ({"op": "sum", "over": "/orders/*/lines/*", "field": "/m", "compare": "<", "value": 6}, None),
        ({"op": "exists", "over": "/archive/*", "where": {"op": "moved", "source": "/inbox/*"}}, True),
        ({"op": "exists", "over": "/orders/*", "where": {"op": "moved", "source": "/inbox/*"}}, False),
        ({"op": "exists", "over": "$start/inbox/*", "where": {"op": "deleted"}}, True),
        ({"op": "exists", "over": "$start/orders/*", "where": {"op": "deleted"}}, False),
        ({"op": "none", "over": "/drafts/*"}, None),
        ({"op": "none", "over": "/drafts/*", "optional": True}, True),
        ({"op": "relation", "field": "/theme", "other": "$start/theme"}, True),
        ({"op": "not", "of": {"op": "changed", "field": "/theme"}}, True),
        (_at({"op": "before", "of": {"op": "is", "field": "/status", "values": ["open"]}}), True),
        (_at({"op": "before", "of": {"op": "is", "field": "/status", "values": ["shut"]}}), False),
        # two facts of two records are not one record
        (_at({"op": "and", "of": [{"op": "is", "field": "/id", "values": ["o1"]}, {"op": "created"}]}), False),
    ],
)  # fmt: skip
def test_a_claim_is_true_false_or_open(assertion: dict[str, Any], expected: bool | None) -> None:
    assert truth(assertion) is expected


def test_a_record_taken_out_of_effect_does_not_count() -> None:
    claim = _word("en route", void=["/cancelledAt"])
    assert truth(of_new_order(claim)) is True
    order = {**END["orders"][1], "cancelledAt": "2026-07-19"}
    assert truth(of_new_order(claim), {**END, "orders": [END["orders"][0], order]}) is False


@pytest.mark.parametrize(
    ("value", "condition", "world", "expected"),
    [
        ("1.234", {"op": "number", "value": 1234}, {}, None),  # a thousand, or one and a bit
        ("1.234", {"op": "number", "value": 1234}, {"locale": "de-DE"}, True),
        ("1.234", {"op": "number", "value": 1234}, {"locale": "en-US"}, False),
        ("1.234", {"op": "number", "compare": ">", "value": 1}, {}, True),
        ("$12", {"op": "number", "value": 12, "currency": "USD"}, {}, None),
        ("$12", {"op": "number", "value": 12, "currency": "USD"}, {"currency": "USD"}, True),
        ("$12", {"op": "number", "value": 12, "currency": "USD"}, {"currency": "CAD"}, False),
        ("$12", {"op": "number", "value": 12, "currency": "USD", "marks": ["$"]}, {}, True),
        ("12", {"op": "number", "value": 12, "currency": "USD"}, {}, None),
        (12, {"op": "number", "value": 12, "currency": "USD", "marks": [""]}, {}, True),
        ("5 km", {"op": "number", "value": 5000, "unit": "m"}, {}, True),
        ("5 kg", {"op": "number", "value": 5000, "unit": "m"}, {}, False),
        ("5 qux", {"op": "number", "value": 5000, "unit": "m"}, {}, None),
        ("T-1000", {"op": "number", "value": 1000}, {}, None),
        ("03/04/2026", {"op": "moment", "value": "2026-04-03"}, {}, None),
        ("03/04/2026", {"op": "moment", "value": "2026-04-03"}, {"locale": "en-GB"}, True),
        ("03/04/2026", {"op": "moment", "value": "2026-05-01", "compare": "<"}, {}, True),
        ("3. April 2026", {"op": "moment", "value": "2026-04-03"}, {}, True),
        ("3 avril 2026 à 14h30", {"op": "moment", "value": "2026-04-03T14:30"}, {}, True),
        ("Apr 3", {"op": "moment", "value": "2026-04-03"}, {}, None),
        ("Apr 4", {"op": "moment", "value": "2026-04-03"}, {}, False),
        ("2026-04-03", {"op": "moment", "value": "2026-04-03T10:00"}, {}, None),
        ("2026-04-03T10:00", {"op": "moment", "value": "2026-04-01", "compare": "between", "high": "2026-04-03"}, {}, True),
        ("8:30 PM", {"op": "moment", "value": "20:30"}, {}, True),
        ("8:30 PM EST", {"op": "moment", "value": "20:30"}, {}, None),
        ("soon", {"op": "moment", "value": "20:30"}, {}, None),
        ("12 Main St., Springfield", {"op": "is", "kind": "address", "values": ["12 Main Street"]}, {}, True),
        ("112 Main St.", {"op": "is", "kind": "address", "values": ["12 Main Street"]}, {}, False),
        ("https://www.example.com/a/", {"op": "is", "kind": "host", "values": ["example.com"]}, {}, True),
        ("https://www.example.com/a/", {"op": "is", "kind": "path", "values": ["/a"]}, {}, True),
        ("+49 30 1234567", {"op": "is", "kind": "phone", "values": ["030 1234567"]}, {}, True),
        ("#ORD-17", {"op": "is", "kind": "id", "values": ["ord17"]}, {}, True),
        ("working", {"op": "contains", "phrases": ["work"]}, {}, False),
        ("<p>At&nbsp;work</p>", {"op": "contains", "phrases": ["at work"]}, {}, True),
        (["Ann", "Bob"], {"op": "is", "values": ["bob"]}, {}, True),
        (None, {"op": "number", "value": 3}, {}, False),
        ("yes", {"op": "flag", "value": True}, {}, True),
        ("maybe", {"op": "flag", "value": True}, {}, None),
    ],
)  # fmt: skip
def test_a_notation_is_read_or_left_open_but_never_guessed(
    value: Any, condition: dict[str, Any], world: dict[str, str], expected: bool | None
) -> None:
    assert truth({"field": "/x", **condition}, {"x": value}, **world) is expected


def test_words_that_nobody_placed_are_asked_about_once() -> None:
    found = decide(_read(of_new_order(_word())), States(END, START))
    assert (found.truth, found.words) == (None, (("is shipped", "en route"),))
    placed = {("is shipped", "en route"): True}
    assert decide(_read(of_new_order(_word())), States(END, START), words=placed).truth is True


def test_snapshots_inside_a_state_are_read_apart(shop: dict[str, Any]) -> None:
    made = of_new_order({"op": "moment", "field": "/time", "value": "20:30"})
    found = decide(_read({**made, "over": "/tablely/bookings/*"}), states_of(shop))
    assert found == Decided(True, (("/tablely/finalstate/bookings/1/time", "8:30 PM"),))


def test_a_claim_is_nested_at_most_so_deep() -> None:
    deep: dict[str, Any] = {"op": "created"}
    for _ in range(60):
        deep = {"op": "not", "of": deep}
    with pytest.raises(ValueError, match="at most 24 deep"):
        Claim(criterion_id="c", criterion="x", assertion=deep)


@pytest.mark.parametrize("block", range(4))
def test_every_claim_on_every_state_is_decided_without_an_exception(block: int) -> None:
    for seed in range(block * DRAWS // 4, (block + 1) * DRAWS // 4):
        rng = _rng(seed)
        one, states = _drawn(rng)
        found = decide(one, states, Setting(None, "de", None))
        assert found.truth is not None or found.undecided or found.words, seed
        assert in_english(one)


@given(seed=st.integers(0, 10**6))
def test_not_is_an_involution_and_excluded_middle_holds_where_decided(seed: int) -> None:
    one, states = _drawn(_rng(seed))
    truth = decide(one, states).truth
    opposite = _read({"op": "not", "of": one.model_dump()})
    assert decide(opposite, states).truth is (None if truth is None else not truth)
    for op, value in (("or", True), ("and", False)):
        both = _read({"op": op, "of": [one.model_dump(), opposite.model_dump()]})
        assert decide(both, states).truth is (None if truth is None else value)


@given(seed=st.integers(0, 10**6))
def test_both_and_either_are_those_of_kleene(seed: int) -> None:
    rng = _rng(seed)
    one, states = _drawn(rng, depth=2)
    two, _ = _drawn(rng, depth=2)
    truths = [decide(each, states).truth for each in (one, two)]
    for op, decisive in (("and", False), ("or", True)):
        both = _read({"op": op, "of": [one.model_dump(), two.model_dump()]})
        expected = decisive if decisive in truths else None if None in truths else not decisive
        assert decide(both, states).truth is expected


@given(seed=st.integers(0, 10**6))
def test_quantifiers_agree_with_each_other(seed: int) -> None:
    rng = _rng(seed)
    where, states = _drawn(rng, depth=1)
    over = {"over": rng.choice(("/orders/*", "/map/*")), "where": where.model_dump()}
    count = {
        op: decide(_read({"op": op, **over, "count": n}), states).truth
        for op, n in (("exists", 1), ("none", 1), ("at_least", 2), ("at_most", 1), ("exactly", 0))
    }
    opposite = {True: False, False: True, None: None}
    assert count["none"] is opposite[count["exists"]]
    assert count["at_most"] is opposite[count["at_least"]]
    assert count["exactly"] is count["none"]


@given(seed=st.integers(0, 10**6))
def test_two_claims_that_decide_differently_are_printed_differently(seed: int) -> None:
    rng = _rng(seed)
    one, states = _drawn(rng, depth=2)
    two, _ = _drawn(rng, depth=2)
    if in_english(one) == in_english(two):
        assert decide(one, states).truth is decide(two, states).truth


def _rng(seed: int) -> Random:
    return Random(seed)  # noqa: S311  # not cryptography


def _drawn(rng: Random, depth: int = 4) -> tuple[Any, States]:
    one = _read(random_assertion(rng, depth))
    end, start = random_state(rng), random_state(rng)
    return one, States(end, start) if rng.random() < 0.7 else states_of(end)


def test_what_is_known_from_other_states_and_claims_changes_no_decision() -> None:
    rng = Random(54)  # noqa: S311  # not cryptography
    claims = [_read(random_assertion(rng, 4)) for _ in range(20)]
    ends = [random_state(rng) for _ in range(8)]
    known: dict[Any, bool] = {}
    decided = set()
    for end, start in pairwise(ends):
        shared = States(end, start)
        for one in claims:
            truth = decide(one, shared, known=known).truth
            assert truth is decide(one, States(end, start)).truth
            decided.add(truth)
    assert known
    assert decided == {True, False, None}


@pytest.mark.parametrize(
    ("condition", "values", "truths"),
    [
        ({"op": "flag", "value": True}, [True, 1, "1", 2], [True, True, True, None]),
        ({"op": "is", "kind": "exact", "values": ["1"]}, [1, True, "1", 1.0], [True, False, True, True]),
        ({"op": "number", "value": 1}, [1, True, "1", 2], [True, None, True, False]),
    ],
)  # fmt: skip
def test_values_that_python_calls_equal_are_known_apart(
    condition: dict[str, Any], values: list[Any], truths: list[Any]
) -> None:
    claim = _read(
        {"op": "exists", "over": "/all/*", "where": {"op": "and", "of": [{**condition, "field": "/v"}]}}
    )  # fmt: skip
    known: dict[Any, bool] = {}
    for _ in range(2):
        found = [decide(claim, States({"all": [{"v": each}]}), known=known).truth for each in values]  # fmt: skip
        assert found == truths


@pytest.mark.parametrize(
    ("before", "after", "truth"),
    [
        ([{"a": 1}], [{"a": 1}, {"a": 2}], True),
        ([{"a": 1}], [{"a": 2}], None),  # it may have been changed
        ([{"a": 1}, {"a": 1}], [{"a": 1}, {"a": 2}], None),
        ([{"a": 1}], [{"a": 2}, {"a": 1}, {"a": 3}], True),
    ],
)
def test_beside_records_that_are_all_still_there_one_without_an_identifier_is_new(
    before: list[Any], after: list[Any], truth: bool | None
) -> None:
    where = {"op": "and", "of": [{"op": "created"}, {"op": "number", "field": "/a", "value": 2}]}
    one = TypeAdapter(Assertion).validate_python({"op": "exists", "over": "/l/*", "where": where})
    assert decide(one, States({"l": after}, {"l": before})).truth is truth
