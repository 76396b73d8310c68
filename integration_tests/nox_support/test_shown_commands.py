"""A line whose files cannot be made is one line that went wrong, and not the end of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nox_support import shown_commands
from nox_support.command_lines import Line

if TYPE_CHECKING:
    from pathlib import Path


class EmptyKit(shown_commands.Kit):
    """Can make nothing that a line reads."""

    def give(self, line: Line, place: Path, beside: list[Line]) -> None:
        if "runs/first" in line.text:
            raise RuntimeError("the run ended with 75")


def test_a_line_whose_files_cannot_be_made_is_wrong_and_the_next_is_run(tmp_path: Path) -> None:
    lines = [Line("page.md:1", "bench-core check runs/first"), Line("page.md:2", "echo later")]
    first, second = shown_commands.run_place(lines, tmp_path, EmptyKit(tmp_path / "kit"))
    assert (first.seconds, first.wrong) == (None, "the run ended with 75")
    assert (second.said, second.wrong) == ("exit code 0", None)


def test_only_a_line_that_does_nothing_else_moves_those_after_it(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    texts = ["cd absent && ./install", "pwd", "cd mine", "pwd"]
    lines = [Line(f"page.md:{number}", text) for number, text in enumerate(texts)]
    found = shown_commands.run_place(lines, tmp_path, EmptyKit(tmp_path / "kit"))
    assert [each.said for each in found if each.seconds is not None] == ["exit code 0"] * 2
