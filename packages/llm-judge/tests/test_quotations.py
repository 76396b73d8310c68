from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.records.judge import Evidence
from llm_judge.evidence.quotations import check_evidence, quote_match
from llm_judge.states.pointers import leaves

if TYPE_CHECKING:
    from bench_core.records.judge import JudgeCase

LONG = "The ride to 8 Mission Street was booked for this evening. " * 5


def check(state: Any, asked: str = "", **evidence: Any) -> tuple[bool | None, str | None]:
    found = check_evidence(state, Evidence(**evidence), pictures={"s1": (800, 600)}, asked=asked)
    return found.verified, found.status


@pytest.mark.parametrize(
    ("value", "quote", "how"),
    [
        ("Steakhouse 101", "Steakhouse 101", "exact"),
        ("Steakhouse 101", '"Steakhouse 101"', "exact"),
        ("a\nb", "a\\nb", "exact"),
        ("caf\u00e9", "caf\\u00e9", "exact"),
        ("", "", "exact"),
        (3, "3", "exact"),
        (12.5, "12.5", "exact"),
        (True, "true", "exact"),
        (None, "null", "exact"),
        ([1, 2], "[1, 2]", "exact"),
        ({"a": 1, "b": 2}, '{"b": 2}', "members"),
        ("Steakhouse 101", "Steakhouse", None),
        ("Steakhouse 101", "steakhouse 101", None),
        ("Steakhouse 101", "Steakhouse  101", None),
        ("Steakhouse 101", "Steakhouse 102", None),
        (3, "3.0", None),
        (3, "03", None),
        (True, "1", None),
        (1, "true", None),
        (None, "", None),
        ({"a": 1}, "{}", None),
        ({"a": 1}, '{"a": true}', None),
        ({"a": 1}, "not json", None),
        (LONG, "8 Mission Street was booked", None),
    ],
)
def test_a_quotation_stands_there_or_it_does_not(value: Any, quote: str, how: str | None) -> None:
    assert quote_match(value, quote) == how


@pytest.mark.parametrize(
    ("text", "quote", "held"),
    [
        (LONG, "8 Mission Street was booked", True),
        (f"The ride was booked by nobody. {LONG}", "The ride was booked by nobody", True),
        (LONG, "8 Mission Street was book", False),
        (LONG, "Mission Street", False),
        ("The ride to 8 Mission Street was booked", "8 Mission Street was booked", False),
    ],
)
def test_a_passage_is_a_part_of_a_long_text_between_words(
    text: str, quote: str, held: object
) -> None:
    assert check({"t": text}, kind="passage", pointer="/t", quote=quote)[0] is held


@pytest.mark.parametrize(
    ("pointer", "status"),
    [
        ("/b/0/nothing", "nothing stands there"),
        ("/b/1", "nothing stands there"),
        ("/b/-1", "nothing stands there"),
        ("/b/00", "nothing stands there"),
        ("b/0", "no such pointer"),
    ],
)
def test_a_pointer_that_leads_nowhere_proves_nothing(pointer: str, status: str) -> None:
    assert check({"b": [{"t": "x"}]}, pointer=pointer, quote="x") == (False, status)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"pointer": "/b"}, (True, "empty")),
        ({"pointer": "/n"}, (True, "empty")),
        ({"pointer": "/r"}, (False, "something stands there")),
        ({"pointer": "/made/up"}, (False, "there is no such place to be empty")),
        ({"pointer": "b", "quote": "sushi"}, (False, "no such pointer")),
        ({"pointer": "/r", "quote": "sushi"}, (True, "absent")),
        ({"pointer": "/r", "quote": "steak"}, (False, "it does stand there")),
        ({"pointer": "/r", "quote": "8:30 PM"}, (False, "it does stand there")),
        ({"pointer": "/r", "quote": "zebra"}, (False, "was not asked for")),
        ({"pointer": "", "quote": "sushi"}, (False, "there is no such place to look in")),
    ],
)
def test_absence_is_looked_up(evidence: dict[str, Any], expected: tuple[bool, str]) -> None:
    state = {"b": [], "n": None, "r": [{"food": "Steak", "at": "2026-01-11T20:30"}]}
    asked = "Book sushi or steak at 8:30 PM"
    assert check(state, asked, kind="absent", **evidence) == expected


def test_every_quoted_member_of_a_record_must_be_its_own() -> None:
    record = {"guests": 4, "time": "8:30 PM", "name": "Ann"}
    assert quote_match(record, '{"guests": 4, "time": "8:30 PM"}') == "members"
    assert quote_match(record, '{"guests": 4, "time": "9:30 PM"}') is None
    assert quote_match(record, '{"guests": 4, "table": 1}') is None


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        (None, (None, "whole picture, not checked")),
        ("0,0,800,600", (None, "region, not checked")),
        ("10,10,800,600", (False, "the region is outside the picture")),
        ("top left", (False, "the region is not x,y,width,height")),
    ],
)
def test_a_region_must_lie_in_its_picture(region: str | None, expected: Any) -> None:
    assert check({}, screenshot="s1", region=region) == expected
    assert check({}, screenshot="s2", region=region) == (False, "no such picture")


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))  # fmt: skip
def test_a_true_quotation_always_holds(state: Any) -> None:
    for pointer, value in leaves(state):
        quote = value if isinstance(value, str) else json.dumps(value)
        assert check(state, pointer=pointer, quote=quote)[0] is True


def altered(quote: str, rng: random.Random) -> str:
    """Change a quotation by one random edit that makes it another text."""
    at = rng.randrange(len(quote) + 1)
    other = rng.choice(string.ascii_letters + string.digits + " .,:-_$")
    edits = [quote[:at] + other + quote[at:]]
    if at < len(quote):
        edits += [quote[:at] + quote[at + 1 :], quote[:at] + other + quote[at + 1 :]]
        edits += [quote[:at] + quote[at].swapcase() + quote[at + 1 :]]
    if len(quote) > 2:
        middle = len(quote) // 2
        edits += [quote[middle:] + quote[:middle], quote[:middle], quote[::-1]]
    if any(each.isdigit() for each in quote):
        edits.append("".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in quote))
    return rng.choice(edits)


def test_no_altered_quotation_is_accepted(recorded: tuple[JudgeCase, ...]) -> None:
    rng = random.Random(9)  # noqa: S311  # not cryptography
    places = [(c.state, *each) for c in recorded for each in leaves(c.state)]
    tried = 0
    for state, pointer, value in rng.choices(places, k=106_000):
        quote = value if isinstance(value, str) else json.dumps(value)
        wrong = altered(quote, rng)
        if wrong == quote:
            continue
        tried += 1
        assert not check(state, pointer=pointer, quote=wrong)[0], (pointer, value, wrong)
    assert tried >= 100_000


def test_no_quotation_from_elsewhere_is_accepted(recorded: tuple[JudgeCase, ...]) -> None:
    rng = random.Random(10)  # noqa: S311  # not cryptography
    for case in recorded:
        places = list(leaves(case.state))
        for (pointer, value), (_, other) in zip(
            rng.choices(places, k=5_000), rng.choices(places, k=5_000), strict=True
        ):
            quote = other if isinstance(other, str) else json.dumps(other)
            held = check(case.state, pointer=pointer, quote=quote)[0]
            text = value if isinstance(value, str) else json.dumps(value)
            assert held == (text == quote)


def test_every_true_quotation_of_a_recorded_state_holds(recorded: tuple[JudgeCase, ...]) -> None:
    rng = random.Random(11)  # noqa: S311  # not cryptography
    for case in recorded:
        for pointer, value in rng.choices(list(leaves(case.state)), k=5_000):
            quote = value if isinstance(value, str) else json.dumps(value)
            assert check(case.state, pointer=pointer, quote=quote)[0] is True
