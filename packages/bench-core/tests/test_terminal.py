from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.terminal import duration, pad, plain_text, shorten, width


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("two\r\nlines\tand tab", "two lines and tab"),
        ("bell\x07 back\x08 null\x00", "bell back null"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\x9b31mC1", "31mC1"),
        ("日本語 ü €", "日本語 ü €"),
    ],
)
def test_nothing_a_terminal_would_obey_is_left(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@given(st.text())
def test_plain_text_is_one_printable_line_and_stays_as_it_is(text: str) -> None:
    plain = plain_text(text)
    assert "\x1b" not in plain
    assert len(plain.splitlines()) <= 1
    assert plain_text(plain) == plain


@given(st.text(), st.integers(1, 50))
def test_shortened_text_fits(text: str, cells: int) -> None:
    assert width(shorten(text, cells)) <= cells


@pytest.mark.parametrize(
    ("text", "cells", "short"),
    [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("ab cd", 4, "ab…")],
)
def test_text_that_is_too_long_ends_with_an_ellipsis(text: str, cells: int, short: str) -> None:
    assert shorten(text, cells) == short


def test_padding_counts_cells_not_characters() -> None:
    assert pad("日本", 6) == "日本  "
    assert pad("1.0", 5, right=True) == "  1.0"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 00 s"), (3599, "59 min 59 s"),
        (3599.7, "1 h 00 min"), (93_600, "26 h 00 min"),
    ],
)  # fmt: skip
def test_durations_read_like_people_write_them(seconds: float, words: str) -> None:
    assert duration(seconds) == words
