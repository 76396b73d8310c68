"""docs/integrity.md has every exploit of the three worlds, as the audits reported it."""

from __future__ import annotations

from typing import Any

from nox_support.audit_table import PAGE, audited_ids, with_table

from multireal_harness.exploits import EXPLOITS as OF_APPS
from waa_client.audit import exploits
from webarena_runner.exploits import EXPLOITS as OF_SITES

EMPTY = "before\n<!-- table: exploits -->\n<!-- end -->\nafter\n"


def row(**changes: Any) -> dict[str, Any]:
    return {
        "world": "waa", "kind": "read_answers", "id": "one", "summary": "a | b", "verdict": "blocked",
        "codes": [], **changes,
    }  # fmt: skip


def test_a_page_gets_a_row_for_each_exploit_and_the_numbers() -> None:
    reports = [
        {"rows": [row()], "honest": [{"codes": []}]},
        {"rows": [row(id="two", verdict="flagged", codes=["answer_game"])], "honest": []},
    ]
    page = with_table(EMPTY, reports)
    assert "| waa | read_answers | `two` | a \\| b | flagged | `answer_game` |" in page
    assert "2 exploits: 1 blocked, 1 flagged, 0 UNDETECTED, 0 not run. 1 honest runs" in page
    assert page.startswith("before\n")
    assert page.endswith("<!-- end -->\nafter\n")
    assert audited_ids(page) == {("waa", "one"), ("waa", "two")}
    assert with_table(page, reports) == page


def test_the_page_shows_every_exploit_of_the_three_worlds() -> None:
    known = {(each.world, each.id) for each in (*OF_SITES, *OF_APPS, *exploits())}
    assert len(known) >= 60
    assert audited_ids(PAGE.read_text("utf-8")) == known


def test_nothing_on_the_page_went_undetected() -> None:
    page = PAGE.read_text("utf-8")
    assert "0 UNDETECTED, 0 not run" in page
    assert "| UNDETECTED |" not in page
