from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from webarena_runner.world.markup import field, hidden, listing, tag


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _parsed(markup: str) -> _Texts:
    parser = _Texts()
    parser.feed(markup)
    parser.close()
    return parser


_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"))


@given(_TEXT, _TEXT)
def test_text_and_attributes_read_back_as_they_were(text: str, value: str) -> None:
    read = _parsed(tag("p", text, title=value))

    assert read.text == text
    assert read.tags == [("p", {"title": value})]


def test_what_was_built_is_not_escaped_again() -> None:
    assert tag("p", tag("b", "a < b"), " & c") == "<p><b>a &lt; b</b> &amp; c</p>"


def test_attributes_are_spelled_as_html_spells_them() -> None:
    assert tag("a", data_url="/x", class_="big", hidden=True, id=None) == (
        '<a data-url="/x" class="big" hidden></a>'
    )


def test_void_elements_have_no_end_tag() -> None:
    assert hidden("token", "t") == '<input type="hidden" name="token" value="t">'


def test_a_field_has_a_label_that_belongs_to_it() -> None:
    tags = dict(_parsed(field("Title", "submission[title]", "x")).tags)

    assert tags["label"]["for"] == tags["input"]["id"] == "submission_title"


def test_a_table_has_its_headings_and_rows() -> None:
    assert _parsed(listing(("A", "B"), [("1", 2)])).text == "AB12"
