"""Damage to a run folder is told by whatever makes something of the run."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.testing import make_run
from bench_report.cli import main
from bench_report.comparison.baselines import baseline_of
from bench_report.comparison.regression_gate import DamagedRunError, gate
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


def cut_off(run: Path) -> str:
    lines = (run / "results.jsonl").read_bytes().splitlines(keepends=True)
    (run / "results.jsonl").write_bytes(b"".join(lines[:-4]))
    return "results.jsonl has fewer lines than the 60 that session 1 left"


def without_a_trial(run: Path) -> str:
    shutil.rmtree(run / "trials" / "1" / "3")
    return "trials/1/3 lacks log.txt"


def with_a_changed_trial(run: Path) -> str:
    (run / "trials" / "1" / "3" / "log.txt").write_text("another")
    return "trials/1/3 has another log.txt than the trial left"


def with_another_call(run: Path) -> str:
    events = run / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b'"attempt":1', b'"attempt":2', 1))
    return "events.jsonl, line 1 is damaged"


DAMAGES = [cut_off, without_a_trial, with_a_changed_trial, with_another_call]


def run_cli(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Hold a run of sixty trials and its baseline, both whole."""
    new, old = (tmp_path / name for name in ("new", "old"))
    for seed, path in enumerate((new, old)):
        make_run(path, tasks=30, trials=2, seed=seed)
    return new, old


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("damaged", [0, 1], ids=["new", "baseline"])
def test_a_gate_refuses_a_damaged_run_unless_told_and_then_says_so(
    pair: tuple[Path, Path], damage: Callable[[Path], str], damaged: int
) -> None:
    told = damage(pair[damaged])
    refused = run_cli("gate", pair[0], "--against", pair[1])
    assert (refused.exit_code, told in refused.output) == (2, True)
    with pytest.raises(DamagedRunError):
        gate(*pair)
    accepted = run_cli("gate", pair[0], "--against", pair[1], "--even-damaged")
    assert accepted.exit_code in {0, 1, 3}
    assert "DAMAGED: " in accepted.output
    assert told in accepted.output
    found = run_cli("gate", pair[0], "--against", pair[1], "--even-damaged", "--json")
    assert told in json.loads(found.stdout)["damage"][0]


@pytest.mark.parametrize("damage", DAMAGES)
def test_comparisons_reports_and_exports_tell_damage(
    pair: tuple[Path, Path],
    damage: Callable[[Path], str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = damage(pair[0])
    assert told in run_cli("compare", *pair).output
    sentence, *_ = json.loads(run_cli("compare", *pair, "--json").stdout)["damage"]
    assert told in sentence
    out = tmp_path / "report"
    built = run_cli("build", pair[0], "--out", out, "--format", "html,md,json,latex")
    assert told in built.output
    for file in out.rglob("*"):
        if file.suffix in {".html", ".md", ".json", ".tex"}:
            assert told.partition(" ")[0] in file.read_text(), file.name
    run_cli("export", "inspect", pair[0], "--out", tmp_path / "log.json")
    assert told in caplog.text


def test_a_baseline_made_of_a_damaged_run_says_so(pair: tuple[Path, Path], tmp_path: Path) -> None:
    told = cut_off(pair[1])
    (run,) = read_runs([pair[1]])
    file = tmp_path / "baseline.json"
    file.write_text(baseline_of(run).model_dump_json())
    with pytest.raises(DamagedRunError, match=told):
        gate(pair[0], file)


def test_a_line_torn_by_a_kill_is_told_and_stops_no_gate(pair: tuple[Path, Path]) -> None:
    with (pair[0] / "events.jsonl").open("ab") as file:
        file.write(b'{"time":')
    assert gate(*pair).damage == ()
    assert "torn" in read_runs([pair[0]])[0].view.problems[0].reason
