from __future__ import annotations

import pytest

from webarena_runner.recording.entries import parse_cookie, parse_set_cookie


def test_a_cookie_header_is_split_into_pairs() -> None:
    assert parse_cookie("a=1; b=x=y; c=") == [
        {"name": "a", "value": "1"},
        {"name": "b", "value": "x=y"},
        {"name": "c", "value": ""},
    ]


def test_an_empty_cookie_header_holds_none() -> None:
    assert parse_cookie("") == []


def test_set_cookie_attributes_become_har_fields() -> None:
    line = (
        "mage-messages=%5B%7B%22type%22%3A%22success%22%7D%5D; expires=Wed, 09 Jun 2100 10:18:14 GMT; "
        "Max-Age=60; path=/; domain=shop.test; Secure; HttpOnly; SameSite=Strict"
    )
    assert parse_set_cookie(line) == {
        "name": "mage-messages",
        "value": "%5B%7B%22type%22%3A%22success%22%7D%5D",
        "expires": "2100-06-09T10:18:14+00:00",
        "path": "/",
        "domain": "shop.test",
        "secure": True,
        "httpOnly": True,
        "sameSite": "Strict",
    }


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("a=b", "a", "b"),
        ("a=", "a", ""),
        ("=b", "", "b"),
        ("just a value", "", "just a value"),
        (" spaced = out ; Path=/", "spaced", "out"),
        ('quoted="a b"', "quoted", '"a b"'),
        ("a=b; expires=whenever; unknown=x", "a", "b"),
    ],
)
def test_names_and_values_are_read_as_browsers_read_them(line: str, name: str, value: str) -> None:
    cookie = parse_set_cookie(line)
    assert cookie is not None
    assert (cookie["name"], cookie["value"]) == (name, value)
    assert "expires" not in cookie


@pytest.mark.parametrize("line", ["", "=", ";path=/"])
def test_lines_without_a_cookie_are_ignored(line: str) -> None:
    assert parse_set_cookie(line) is None
