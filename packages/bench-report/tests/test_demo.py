"""The demo needs nothing but a folder, and says that its runs are invented."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from bench_core.run_folder import read_run
from bench_report.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def test_the_demo_makes_three_runs_and_a_report(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = CliRunner().invoke(main, ["demo", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    made = json.loads(done.stdout)
    assert [read_run(out / name).info.world for name in ("before", "changed", "same")] == [
        "built-in"
    ] * 3
    assert made["files"][0] == str(out / "report" / "index.html")
    assert "Three invented runs" in (out / "report" / "index.html").read_text(encoding="utf-8")


def test_a_folder_in_use_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = CliRunner().invoke(main, ["demo", "--out", str(tmp_path)])
    assert (done.exit_code, "name another folder" in done.output) == (2, True)
    assert [each.name for each in tmp_path.iterdir()] == ["notes.txt"]
