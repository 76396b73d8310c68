from __future__ import annotations

import json
import random
import re
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


def check(state: Any, **evidence: Any) -> tuple[bool | None, str | None]:
    found = check_evidence(state, Evidence(**evidence), pictures={"s1": (800, 600)})
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
        ("Steakhouse 101", "steakhouse 101", "repaired"),
        ("Steakhouse 101", "Steakhouse  101", "repaired"),
        ("Ana\u2019s", "Ana's", "repaired"),
        (1250, "$1,250.00", "repaired"),
        ("1.250,50 \u20ac", "1250.50", "repaired"),
        ("EUR 12,5", "12.50", "repaired"),
        (-3, "3", None),
        ("12 people", "12", None),
        ("2026-07-18", "2026", None),
        ("Steakhouse 101", "Steakhouse 102", None),
        (3, "3.0", "repaired"),
        (3, "31", None),
        (True, "1", None),
        (1, "true", None),
        (None, "", None),
        ({"a": 1}, "{}", None),
        ({"a": 1}, '{"a": true}', None),
        ({"a": 1}, "not json", None),
        (LONG, "8 Mission Street was booked", "passage"),
        (LONG, "The ride to 8 Mission ... for this evening", "passage"),
        (LONG, "for this evening ... The ride to 8 Vine", None),
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
        (LONG, "ission Street", False),
        ("not confirmed", "confirmed", False),
    ],
)
def test_a_passage_is_a_part_of_a_long_text_between_words(
    text: str, quote: str, held: object
) -> None:
    assert check({"t": text}, kind="passage", pointer="/t", quote=quote)[0] is held


@pytest.mark.parametrize(
    "pointer", ["/b/0/nothing", "/b/1", "/b/-1", "/b/00", "b/1", "", "/", "$", "[", "/x"]
)
def test_a_pointer_that_leads_nowhere_proves_nothing(pointer: str) -> None:
    assert check({"b": [{"t": "x"}, {"t": "y"}]}, pointer=pointer, quote="z")[0] is False


@pytest.mark.parametrize(
    "pointer",
    ["/b/0/t", "b.0.t", "b[0].t", "#/b/0/t", "$.b[0].t", "/B/0/T", "/b/0", "/b/0/t/", " /b/0/t"],
)
def test_a_slip_in_the_spelling_of_a_pointer_is_repaired(pointer: str) -> None:
    found = check_evidence(
        {"b": [{"t": "x"}, {"t": "y"}]}, Evidence(pointer=pointer, quote="x"), pictures={}
    )
    assert (found.verified, found.pointer) == (True, "/b/0/t")


def test_a_pointer_may_start_inside_an_app_and_lead_into_the_state_before() -> None:
    state = {"shop": {"finalstate": {"cart": [{"item": "Lamp"}]}}}
    inside = Evidence(pointer="/cart/0/item", quote="Lamp")
    found = check_evidence(state, inside, pictures={}, roots=["/shop/finalstate"])
    assert (found.verified, found.pointer) == (True, "/shop/finalstate/cart/0/item")
    gone = Evidence(pointer="/cart/1/item", quote="Desk")
    initial = {"cart": [{"item": "Lamp"}, {"item": "Desk"}]}
    found = check_evidence({"cart": []}, gone, pictures={}, initial=initial)
    assert (found.verified, found.status) == (True, "before the run")


def test_a_quotation_is_never_moved_to_another_record() -> None:
    state = {"b": [{"t": "8:30 PM"}, {"t": "6:00 PM"}]}
    assert check(state, pointer="/b/1/t", quote="8:30 PM")[0] is False
    assert check(state, pointer="/b/9/t", quote="8:30 PM")[0] is False


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ({"pointer": "/b"}, (True, "empty")),
        ({"pointer": "/n"}, (True, "empty")),
        ({"pointer": "/r/7"}, (True, "nothing stands there")),
        ({"pointer": "/r"}, (False, "something stands there")),
        ({"pointer": "/made/up"}, (False, "there is no such place")),
        ({"pointer": "/made"}, (False, "there is no such place")),
        ({"pointer": "/r", "quote": "sushi"}, (True, "absent")),
        ({"pointer": "/r", "quote": "steak"}, (False, "it does stand there")),
        ({"pointer": "", "quote": "sushi"}, (True, "absent")),
    ],
)
def test_absence_is_looked_up(evidence: dict[str, Any], expected: tuple[bool, str]) -> None:
    state = {"b": [], "n": None, "r": [{"food": "Steak", "at": "2026-01-11T20:30"}]}
    assert check(state, kind="absent", **evidence) == expected


def test_every_quoted_member_of_a_record_must_be_its_own() -> None:
    record = {"guests": 4, "time": "8:30 PM", "name": "Ann"}
    assert quote_match(record, '{"guests": 4, "time": "8:30 PM"}') == "members"
    assert quote_match(record, '{"guests": 4, "time": "9:30 PM"}') is None
    assert quote_match(record, '{"guests": 4, "table": 1}') is None


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        (None, (False, "no region x,y,width,height of it is named")),
        ("0,0,800,600", (None, "region, pixels not read")),
        ("10,10,800,600", (False, "the region is outside the picture")),
        ("top left", (False, "no region x,y,width,height of it is named")),
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
    other = rng.choice(string.ascii_letters + string.digits)
    edits = [quote[:at] + other + quote[at:]]
    if at < len(quote):
        edits += [quote[:at] + quote[at + 1 :], quote[:at] + other + quote[at + 1 :]]
    if len(quote) > 2:
        middle = len(quote) // 2
        edits += [quote[middle:] + quote[:middle], quote[:middle], quote[::-1]]
    if any(each.isdigit() for each in quote):
        edits.append("".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in quote))
    return rng.choice(edits)


def same(value: Any, text: str, quote: str) -> bool:
    """Whether a quotation says what a text says, as far as a program that is not the judge's can tell."""
    one, other = (" ".join(each.casefold().split()) for each in (text, quote))
    before, after = (r"(?<!\w)" * other[:1].isalnum(), r"(?!\w)" * other[-1:].isalnum())
    passage = f"{before}{re.escape(other)}{after}"  # between borders of words
    if one == other or (isinstance(value, str) and len(other) >= 12 and re.search(passage, one)):
        return True
    if not other:  # says that nothing is there
        return value in ("", None, [], {})
    try:
        return amount(one) == amount(other)
    except ValueError:
        return False


def amount(text: str) -> float:
    bare = text.strip().strip("$\u20ac\u00a3\u00a5%").strip()
    return float(re.sub(r"(?<=\d)[,' ](?=\d{3}(?!\d))", "", bare))


def test_no_altered_quotation_is_accepted(recorded: tuple[JudgeCase, ...]) -> None:
    rng = random.Random(9)  # noqa: S311  # not cryptography
    places = [(c.state, *each) for c in recorded for each in leaves(c.state)]
    tried = 0
    for state, pointer, value in rng.choices(places, k=106_000):
        quote = value if isinstance(value, str) else json.dumps(value)
        wrong = altered(quote, rng)
        # other case, other spaces, another notation of the number and a whole part are no other text
        if same(value, quote, wrong):
            continue
        tried += 1
        assert not check(state, pointer=pointer, quote=wrong)[0], (pointer, value, wrong)
    assert tried >= 95_000


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
            assert held == same(value, text, quote), (text, quote)


def test_every_true_quotation_of_a_recorded_state_holds(recorded: tuple[JudgeCase, ...]) -> None:
    rng = random.Random(11)  # noqa: S311  # not cryptography
    for case in recorded:
        for pointer, value in rng.choices(list(leaves(case.state)), k=5_000):
            quote = value if isinstance(value, str) else json.dumps(value)
            assert check(case.state, pointer=pointer, quote=quote)[0] is True
