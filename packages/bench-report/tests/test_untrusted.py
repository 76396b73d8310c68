from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench_report.text.untrusted import clip, inline, markdown, shown_json, visible

HIDING = ["\x1b[31m", "\u202e", "\u2066", "\u200b", "\x00", "\x9b", "\ufeff", "\U000e0041"]


@pytest.mark.parametrize("text", HIDING)
def test_characters_that_hide_or_command_become_visible(text: str) -> None:
    shown = visible(f"a{text}b")

    assert not any(
        unicodedata.category(char) in {"Cc", "Cf", "Cs"} for char in shown if char not in "\t\n"
    )


@given(st.text())
def test_visible_is_idempotent(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_clip_never_shows_more_of_the_text_than_the_limit(text: str, limit: int) -> None:
    shown, _, rest = clip(text, limit).partition("… (")

    assert len(text) <= limit or rest.endswith("more characters)")
    assert len(shown) <= 8 * limit  # one hidden character becomes at most "[U+10FFFF]"


def test_clip_says_how_much_is_missing() -> None:
    assert clip("x" * 10_000_004, 4) == "xxxx… (10,000,000 more characters)"


def test_inline_puts_lines_together() -> None:
    assert inline("one\n two\tthree", 100) == "one two three"


def test_stacked_accents_are_thinned_out() -> None:
    assert len(visible("a" + "\u0301" * 500)) < 10


def test_json_is_shown_indented_and_strings_bare() -> None:
    assert shown_json({"a": [1]}, 100) == '{"a": [1]}'
    assert shown_json({"a": "x" * 60}, 100) == '{\n "a": "' + "x" * 60 + '"\n}'
    assert shown_json("text", 100) == "text"


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=60))
def test_markdown_shows_any_text_as_it_is(text: str) -> None:
    tokens = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .parse(markdown(text))
    )

    kinds = {child.type for token in tokens for child in token.children or ()}
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert kinds <= {"text", "text_special", "html_inline"}
    written = "".join(
        child.content for t in tokens for child in t.children or () if child.type != "html_inline"
    )
    assert " ".join(written.split()) == " ".join(inline(text, 200).split())


def test_markdown_stays_in_its_table_cell() -> None:
    assert "\n" not in markdown("a\nb")
    assert markdown("a|b") == r"a\|b"


def test_markdown_links_to_nothing_and_mentions_no_account() -> None:
    assert markdown("https://x.y www.x.y @all") == (
        "https:<!-- -->//x.y www<!-- -->.x.y @<!-- -->all"
    )
