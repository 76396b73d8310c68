"""Ids of parametrized tests are words: short, and the same in every process that collects them."""

from __future__ import annotations

import re

import pytest

_WORDS = re.compile(r"[\w .,:+@=#/%'-]{1,100}", re.ASCII)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case by the first words of a text; what has no words is numbered by pytest."""
    text = val.pattern if isinstance(val, re.Pattern) else val
    if isinstance(text, str):
        return "-".join(re.findall(r"[A-Za-z0-9_.]+", text))[:30] or argname
    nameless = isinstance(text, bytes) or getattr(text, "__name__", "") == "<lambda>"
    return argname if nameless else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Refuse an id that is a value instead of words."""
    call = getattr(item, "callspec", None)  # a parametrized test has one
    if call and not _WORDS.fullmatch(call.id):
        raise pytest.UsageError(f"{item.nodeid}: name this case in words (pytest.param(..., id=…))")
