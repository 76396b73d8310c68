"""The page on computer use lists why our requests differ from those of the providers' own loops."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "reference_loops"))

from reasons_table import HERE, PAGE, with_reasons


def test_the_table_of_reasons_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_reasons(page) == page, (
        "run integration_tests/reference_loops/reasons_table.py --write"
    )


def test_every_reason_has_been_counted() -> None:
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    counts = json.loads((HERE / "counts.json").read_text(encoding="utf-8"))
    assert {name: {each["why"] for each in listed} for name, listed in reasons.items()} == {
        name: set(each["reasons"]) for name, each in counts.items()
    }, "run `nox -s reference_loops -- --write`"
