"""The page "What a result can and cannot say" says what the vocabulary says."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from test_support.results_page import main, with_tables

from bench_core.records import Status
from bench_core.records.vocabulary import FLAGS, MEANINGS, STATUSES, FailureMode, SuspectCause

PAGE = Path(__file__).parents[3] / "docs" / "results.md"
OLD = "# Page\n\n<!-- table: flags -->\n| old |\n<!-- end -->\n\nText.\n"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of a package")
def test_the_page_is_up_to_date() -> None:
    done = CliRunner().invoke(main, [str(PAGE)])
    assert done.exit_code == 0, done.output


def test_every_word_has_a_meaning() -> None:
    assert set(STATUSES) == {status.value for status in Status}
    assert set(MEANINGS) == {*FailureMode, *SuspectCause}


def test_a_table_is_written_and_all_else_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(OLD)
    assert CliRunner().invoke(main, [str(page)]).exit_code == 1
    assert CliRunner().invoke(main, [str(page), "--write"]).exit_code == 0
    assert CliRunner().invoke(main, [str(page)]).exit_code == 0
    text = page.read_text()
    assert text.startswith("# Page\n")
    assert text.endswith("<!-- end -->\n\nText.\n")
    assert all(f"| `{name}` | {meaning} |" in text for name, meaning in FLAGS.items())


def test_a_table_nobody_knows_is_refused() -> None:
    with pytest.raises(KeyError):
        with_tables("<!-- table: wishes -->\n<!-- end -->")
