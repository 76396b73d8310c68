"""The page "Computer use" says what the dialects say."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from nox_support.dialects_page import main

PAGE = Path(__file__).parents[2] / "docs" / "computer-use.md"


def test_the_page_is_up_to_date() -> None:
    done = CliRunner().invoke(main, [str(PAGE)])
    assert done.exit_code == 0, done.output


def test_a_table_is_written_and_all_else_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n<!-- table: which -->\n| old |\n<!-- end -->\n\nText.\n")
    assert CliRunner().invoke(main, [str(page)]).exit_code == 1
    assert CliRunner().invoke(main, [str(page), "--write"]).exit_code == 0
    assert CliRunner().invoke(main, [str(page)]).exit_code == 0
    text = page.read_text()
    assert "| `computer_toolset_20260801` | `anthropic` |" in text
    assert text.endswith("<!-- end -->\n\nText.\n")
