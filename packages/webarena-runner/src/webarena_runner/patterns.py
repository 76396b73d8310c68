"""Texts of task definitions and answers that the evaluator treats as regular expressions."""

from __future__ import annotations

import re
from typing import Any


def is_pattern(value: Any) -> bool:
    """Return whether the evaluator treats `value` as a regular expression.

    >>> is_pattern("^.*$"), is_pattern("$5"), is_pattern("^")
    (True, False, False)
    """
    return isinstance(value, str) and len(value) > 1 and value[0] == "^" and value[-1] == "$"


def same_text(wanted: str, value: str) -> bool:
    """Return whether `value` matches a definition's text or pattern, without regard to case.

    >>> same_text("^usb.*$", "USB hub"), same_text("usb", " USB"), same_text("usb", "usb hub")
    (True, True, False)
    """
    if is_pattern(wanted):
        return re.fullmatch(wanted, value, re.IGNORECASE) is not None
    return wanted.strip().lower() == value.strip().lower()
