from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from multireal_harness.eval_rules.decisions import CONFIDENCE, decide

PAGE = Path(__file__).parents[3] / "docs" / "multireal-confidence.md"
JUDGEMENTS = ("not asked", "pass", "fail", "abstain", "error")


def documented() -> dict[tuple[str, ...], dict[str, Any]]:
    """Read the table of the documentation."""
    if not PAGE.exists():
        pytest.skip(f"{PAGE} is not here: only the repository holds it")
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line[:2] == "| "]
    return {
        tuple(row[:3]): {
            "score": None if row[3] == "none" else float(row[3]),
            "method": row[4],
            "confidence": row[5],
            "flags": tuple(each.strip() for each in row[6].split(",") if each.strip()),
        }
        for row in rows
        if row[0] in {"pass", "fail"}
    }


def test_every_combination_is_decided_as_documented() -> None:
    table = documented()
    combinations = list(itertools.product(("pass", "fail"), JUDGEMENTS, ("no", "yes")))
    assert set(table) == set(combinations)
    for (queries, judge, defective), wanted in table.items():
        for state in ("healthy", "suspect", "incomplete"):
            found = decide(queries, judge, state, defective=defective == "yes")  # type: ignore[arg-type]
            expected = _above_the_table(wanted, state)
            shown = found.model_dump(include={"score", "method", "confidence", "flags"})
            assert shown == expected, (queries, judge, defective, state)
            assert (found.error is None) == (found.score is not None)


def _above_the_table(row: dict[str, Any], state: str) -> dict[str, Any]:
    if state == "suspect":
        return {**row, "confidence": "low", "flags": (*row["flags"], "suspect_state")}
    if state == "incomplete":
        return {
            "score": None,
            "method": "none",
            "confidence": "low",
            "flags": ("incomplete_state",),
        }
    return row


def test_confidence_words_are_in_order() -> None:
    assert CONFIDENCE["high"] > CONFIDENCE["medium"] > CONFIDENCE["low"]
