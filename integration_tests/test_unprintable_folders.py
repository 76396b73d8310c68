"""Commands on a run folder whose every text holds what a terminal would obey."""

from __future__ import annotations

import csv
import importlib
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from bench_core.records import RunInfo
from bench_core.testing import make_results, make_run, make_tasks

OBEYED = ("\x1b", "\x07", "\r", "\x9b", "\u200f", "\u202e")
ODD = "\x1b]0;title\x07\x1b[31m\r\x9b2J\u202e\u200f"
FORMULA = "\u200f \uff1d1"
COMMANDS = {
    "check": ("bench_core.cli.main", "check", "RUN"),
    "repair": ("bench_core.cli.main", "repair", "RUN"),
    "build": ("bench_report.cli", "build", "RUN", "--out", "OUT", "--format", "csv"),
    "compare": ("bench_report.cli", "compare", "RUN", "OTHER"),
    "gate": ("bench_report.cli", "gate", "RUN", "--against", "OTHER"),
    "watch": ("bench_report.cli", "watch", "RUN", "--once"),
    "rescore": ("multireal_harness.cli", "rescore", "RUN"),
}


@pytest.fixture
def odd_run(tmp_path: Path) -> Path:
    tasks = [
        each.model_copy(
            update={
                "task_id": each.task_id + ODD, "goal": ODD, "groups": {"site": (FORMULA, ODD)}, "template": ODD,
            }
        )
        for each in make_tasks(3, benchmark="multireal")
    ]  # fmt: skip
    results = [
        each.model_copy(update={"agent": ODD, "model": ODD, "flags": (ODD,)})
        for each in make_results(tasks, seed=3)
    ]
    run = make_run(tmp_path / "run", tasks=tasks, results=results, agent=ODD, model=ODD)
    info = RunInfo.model_validate_json((run / "run.json").read_bytes())
    changed = info.model_copy(update={"run_id": f"run{ODD}", "profile": ODD, "checksum": None})
    (run / "run.json").write_text(changed.model_dump_json())
    return run


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_that_a_terminal_obeys_is_printed(
    command: str, as_json: bool, odd_run: Path, tmp_path: Path
) -> None:
    module, *words = COMMANDS[command]
    other = shutil.copytree(odd_run, tmp_path / "other")
    places = {"RUN": str(odd_run), "OTHER": str(other), "OUT": str(tmp_path / "out")}
    arguments = [*(places.get(each, each) for each in words), *(["--json"] if as_json else [])]
    told = CliRunner().invoke(importlib.import_module(module).main, arguments, color=True)
    assert told.exit_code in {0, 1, 3}, told.output
    assert not [each for each in OBEYED if each in told.output], ascii(told.output)
    if as_json:
        json.loads(told.stdout)


def test_no_cell_of_a_csv_file_is_a_formula(odd_run: Path, tmp_path: Path) -> None:
    _, *words = COMMANDS["build"]
    places = {"RUN": str(odd_run), "OUT": str(tmp_path / "out")}
    CliRunner().invoke(
        importlib.import_module("bench_report.cli").main, [places.get(each, each) for each in words]
    )
    cells = [
        cell
        for file in (tmp_path / "out").rglob("*.csv")
        for row in csv.reader(file.read_text(encoding="utf-8").splitlines())
        for cell in row
        if cell.lstrip("'").startswith(FORMULA)
    ]
    assert cells
    assert all(each.startswith("'") for each in cells), cells
