"""Files of studies on the built-in worlds: the example, and those that are made of runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

from bench_core.cli.main import main
from bench_core.studies import load_study, plan_study

_HERE = Path(__file__).parent
_EXAMPLE = _HERE.parent / "examples" / "built-in-worlds.yaml"


def test_example_has_all_built_in_worlds_and_is_named_on_the_page(tmp_path: Path) -> None:
    plan = plan_study(load_study(_EXAMPLE), tmp_path)

    assert {each.benchmark for each in plan.runs} == {"webarena", "waa", "multireal"}
    assert plan.left == 4 * 2 * 3
    assert "examples/built-in-worlds.yaml" in (_HERE.parent / "docs" / "studies.md").read_text()


def test_file_made_of_runs_compares_what_they_are(tmp_path: Path) -> None:
    runs = [
        _HERE / "stored_runs" / benchmark / arm
        for benchmark in ("webarena", "multireal")
        for arm in ("scripted", "do-nothing")
    ]
    file = tmp_path / "again.yaml"
    words = [word for run in runs for word in ("--from-run", str(run))]
    made = CliRunner().invoke(main, ["new", "study", str(file), *words])

    assert made.exit_code == 0, made.output
    study = load_study(file)
    assert [(each.name, each.agent) for each in study.arms] == [
        ("scripted-1", "scripted"),
        ("do-nothing-2", "do-nothing"),
    ]
    assert {each.name: each.tasks.ids for each in study.benchmarks} == {
        "webarena": ("101", "157", "491"),
        "multireal": ("multi.dining-mail-2", "multi.mail-travel-1"),
    }
    assert study.comparisons[0].baseline == "scripted-1"
    planned = plan_study(study, tmp_path / "new", runs)
    assert planned.hours is not None
    assert planned.left == 2 * (3 + 2)


def test_lines_of_python_on_the_page_run_a_study(tmp_path: Path) -> None:
    page = (_HERE.parent / "docs" / "studies.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"```text\n(from pathlib .*?)```", page, re.DOTALL)
    (tmp_path / "models.yaml").write_text(
        "name: models\n"
        "benchmarks: {multireal: {world: built-in, tasks: {ids: [dining-mail-2]}}}\n"
        "arms: {idle: {agent: do-nothing}, solves: {agent: scripted}}\n"
        "comparisons: [{baseline: idle, arms: [solves]}]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "0"
    runs = sorted((tmp_path / "studies" / "models" / "runs").glob("*/*/results.jsonl"))
    assert len(runs) == 2
