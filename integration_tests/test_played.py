"""Trials that people or models have played, played again: what was scored then is scored now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from integration_tests.played.naming import NotShownError, Shown
from integration_tests.played.replay import Kept, acts_of, expected_acts, played_again

MACHINE = r"/(?:tmp|home|root|work|opt)/|(?:localhost|127\.0\.0\.1):\d"
FOLDER = Path(__file__).parent / "played"
KEPT = {path.relative_to(FOLDER).as_posix(): path for path in sorted(FOLDER.glob("*/*.jsonl"))}
AGAIN = (
    "multireal/multi.calendar-dining-1--tool-calling-without-pictures.jsonl",
    "multireal/multi.dining-mail-1--browser-use.jsonl",
    "multireal/multi.mail-travel-2--tool-calling-without-pictures.jsonl",
    "waa/file_explorer_0c9dda13-428c-492b-900b-f48562111f93-WOS--tool-calling-without-pictures.jsonl",
    "waa/microsoft_paint_15f8de6e-3d39-40e4-af17-bdbb2393c0d9-WOS--tool-calling.jsonl",
    "waa/settings_46adf721-2949-4426-b069-010b7c128d8f-wos--vision.jsonl",
    "webarena/132--tool-calling.jsonl",
    "webarena/191--tool-calling.jsonl",
    "webarena/404--tool-calling.jsonl",
    "webarena/491--tool-calling.jsonl",
    "webarena/595--tool-calling.jsonl",
)
"""Those that are played again here; `campaign_played.py` has all."""
BY_PIXELS = [name for name, path in KEPT.items() if Kept.of(path).by_pixels]


def test_a_kept_trial_is_small_and_names_no_place_of_a_machine() -> None:
    texts = {name: path.read_text("utf-8") for name, path in KEPT.items()}
    assert {name for name, text in texts.items() if len(text.encode()) > 20_000} == set()
    assert {name for name, text in texts.items() if re.search(MACHINE, text)} == set()


@pytest.mark.parametrize("name", BY_PIXELS)
def test_a_dialect_makes_the_recorded_acts_of_a_reply(tmp_path: Path, name: str) -> None:
    kept = Kept.of(KEPT[name])
    assert acts_of(kept, tmp_path) == expected_acts(kept)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", AGAIN)
def test_replies_that_name_what_is_shown_score_as_they_did(tmp_path: Path, name: str) -> None:
    kept = Kept.of(KEPT[name])
    result, problem = played_again(kept, tmp_path / "run")
    assert (problem, result.score) == (None, kept.trial["score"]), result.checks


HATS = """Page: Hats http://a.localhost:4001/
 ## Straw
 [3] link "Straw hat" [4] button "Buy"
 ## Felt
 [5] link "Felt hat" [6] button "Buy"
"""
CHANGED = """Page: Hats http://a.localhost:4001/
What has changed since you were last shown it (~ reads so now, - is gone, + is new; the rest is as before):
~ [6] button "Buy" (disabled)
+ [7] button "Pay"
"""


def test_an_element_is_named_by_what_is_shown_and_found_under_another_id() -> None:
    named = Shown([HATS]).name("6")
    assert named == {"role": "button", "name": "Buy", "under": "## Felt"}
    other = re.sub(r"\[(\d)\]", r"[1\1]", HATS)
    assert Shown([other]).find(named) == "16"


def test_what_a_later_turn_leaves_out_is_still_known() -> None:
    shown = Shown([HATS, CHANGED])
    assert shown.find({"role": "link", "name": "Straw hat"}) == "3"
    assert shown.find({"role": "button", "name": "Pay"}) == "7"
    assert shown.find({"role": "button", "name": "Buy"}) == "6"


def test_what_is_not_shown_is_not_found() -> None:
    with pytest.raises(NotShownError):
        Shown([HATS]).find({"role": "button", "name": "Sell"})


def test_addresses_are_kept_without_their_ports() -> None:
    kept = Shown([HATS]).without_ports("http://a.localhost:4001/cart")
    assert kept == "{origin 0}/cart"
    assert Shown([HATS.replace("4001", "52")]).with_ports(kept) == "http://a.localhost:52/cart"
