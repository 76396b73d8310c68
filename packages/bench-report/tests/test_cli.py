from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.testing import make_tasks
from bench_report.cli import main

if TYPE_CHECKING:
    from conftest import Runs


def invoke(*arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return result.exit_code, result.stdout, result.stderr


def test_build_writes_three_files_and_prints_the_headline(run: Runs, tmp_path: Path) -> None:
    code, out, _ = invoke("build", run(), "--out", tmp_path / "report")

    assert code == 0
    assert "95% interval" in out
    assert str(tmp_path / "report" / "index.html") in out
    names = sorted(each.name for each in (tmp_path / "report").iterdir())
    assert names == ["index.html", "report.json", "report.md"]


def test_the_report_is_written_into_the_first_run_by_default(run: Runs) -> None:
    folder = run()

    assert invoke("build", folder)[0] == 0
    assert (folder / "report" / "index.html").is_file()


def test_a_stand_in_world_is_reported(run: Runs, tmp_path: Path) -> None:
    _, out, _ = invoke("build", run(world="built-in"), "--out", tmp_path / "report")

    assert "! Stand-in world" in out


def test_json_names_the_files(run: Runs, tmp_path: Path) -> None:
    _, out, _ = invoke("build", run(), "--out", tmp_path / "r", "--format", "md,json", "--json")

    files = [Path(each) for each in json.loads(out)["files"]]
    assert [each.name for each in files] == ["report.md", "report.json"]


def test_the_title_is_taken(run: Runs, tmp_path: Path) -> None:
    invoke("build", run(), "--out", tmp_path / "r", "--title", "My benchmark", "--format", "md")

    assert (tmp_path / "r" / "report.md").read_text("utf-8").startswith("# My benchmark\n")


FAULTS = {
    "a missing folder": (["build", "nowhere"], "not a run folder"),
    "an unknown format": (["build", "x", "--format", "pdf"], "one or more of html, md, json"),
    "no folder": (["build"], "Missing argument"),
}


@pytest.mark.parametrize(("arguments", "message"), FAULTS.values(), ids=FAULTS)
def test_input_errors_end_with_two_and_no_traceback(arguments: list[str], message: str) -> None:
    code, _, err = invoke(*arguments)

    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_runs_that_cannot_be_compared_end_with_two(run: Runs, tmp_path: Path) -> None:
    a, b = run("a"), run("b", tasks=make_tasks(4, per_template=1))

    code, _, err = invoke("build", a, b, "--out", tmp_path / "r")
    mixed, _, _ = invoke("build", a, b, "--out", tmp_path / "r", "--mix")

    assert (code, mixed) == (2, 0)
    assert "task set" in err
    assert "--mix" in err


def test_compare_says_how_runs_of_one_agent_are_pooled(run: Runs) -> None:
    first = run("a")
    code, out, _ = invoke("compare", first, run("b"))
    _, other, _ = invoke("compare", first, run("c", agent="other"))

    assert (code, "use -k" in " ".join(out.split()), "-k" in other) == (0, True, False)


def test_schema_prints_a_json_schema() -> None:
    assert json.loads(invoke("schema")[1])["title"] == "Report"


@pytest.mark.parametrize("arguments", [["--help"], ["build", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from bench_report.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'jinja2', 'pydantic', 'rich', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def test_export_lists_its_forms_one_a_line() -> None:
    lines = [
        line.strip() for line in CliRunner().invoke(main, ["export", "--help"]).output.splitlines()
    ]
    assert "baseline      numbers that later runs are compared with (a file)" in lines


def test_a_place_that_cannot_be_written_is_an_input_error(run: Runs, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    code, _, error = invoke("export", "inspect", run(), "--out", tmp_path / "taken" / "log.json")
    assert code == 2
    assert error.startswith(f"Error: cannot use {tmp_path / 'taken'}")
