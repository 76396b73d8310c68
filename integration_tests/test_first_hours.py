"""The pages for a first hour show what is written, and are short; `nox -t first-hours` runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from nox_support.command_lines import lines_of
from nox_support.first_hours import MOST_COMMANDS, PAGES

from bench_core.new_project import write_project

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("page", PAGES.values())
def test_a_first_hour_installs_first_and_is_short(page: str) -> None:
    first, *others = lines_of(DOCS / page)
    assert first.text.startswith("pip install ")
    assert 0 < len(others) < MOST_COMMANDS


@pytest.mark.parametrize(("name", "with_model"), [("my-agent", False), ("my-model-agent", True)])
def test_the_agent_on_the_page_is_the_one_that_is_written(
    name: str, with_model: bool, tmp_path: Path
) -> None:
    project = write_project("agent", name, tmp_path, with_model=with_model)
    module = project[1].read_text(encoding="utf-8")
    page = (DOCS / "own-agent.md").read_text(encoding="utf-8")
    assert f"```text\n{module}```" in page
