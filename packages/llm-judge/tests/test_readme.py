from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_first_example_runs_without_a_key() -> None:
    if not README.is_file():
        pytest.skip("the README is not beside the tests")
    first = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert first is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(first[1], str(README), "exec"), {})  # noqa: S102  # what users paste
    assert printed.getvalue().splitlines()[:2] == [
        "pass",
        "table pass /tablely/finalstate/bookings/0/time 8:30 PM",
    ]
