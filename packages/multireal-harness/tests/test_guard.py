from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multireal_harness.guard import GUARDED, is_guarded


@pytest.mark.parametrize(
    "url",
    [
        "http://mail.test/finish", "http://mail.test/FINISH/", "http://mail.test//finish?x=1",
        "http://mail.test/calendar/finish#top", "http://mail.test/%66inish", "http://mail.test/%2566inish",
        "http://mail.test/config?run_id=1", "http://mail.test/submit", "http://mail.test/finish;v=1",
        "http://mail.test\\finish", "http://mail.test/./finish", "http://[mail.test/inbox",
    ],
)  # fmt: skip
def test_every_spelling_of_a_guarded_path_is_known(url: str) -> None:
    assert is_guarded(url)


@pytest.mark.parametrize(
    "url",
    ["http://mail.test/", "http://mail.test/finished", "http://mail.test/finish/line", "http://finish.test/",
     "http://mail.test/?next=/finish", "about:blank", "http://mail.test/mail/config-help"],
)  # fmt: skip
def test_other_paths_are_let_through(url: str) -> None:
    assert not is_guarded(url)


@given(st.sampled_from(sorted(GUARDED)), st.text("abc/", max_size=8), st.data())
def test_law_encoding_letters_of_a_path_opens_nothing(
    name: str, before: str, data: st.DataObject
) -> None:
    letters = [f"%{ord(c):02x}" if data.draw(st.booleans()) else c for c in name]
    assert is_guarded(f"http://mail.test/{quote(before)}/{''.join(letters)}")
