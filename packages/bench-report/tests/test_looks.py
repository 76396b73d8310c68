"""Runs that may stop early, in every format and at the gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.records import Event
from bench_core.run_folder import read_run
from bench_core.statistics import looks_of, plan_looks
from bench_core.testing import reseal
from bench_report import build_report
from bench_report.cli import main
from bench_report.live.progress import ProgressReader
from bench_report.live.terminal_view import headline

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runs


def invoke(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    return result.exit_code, result.output


@pytest.fixture
def pair(scored_run: Runs) -> tuple[Path, Path]:
    """A run that is clearly worse than its baseline and stopped at the look that showed it."""
    scores = {f"t{n:02d}": [float(n % 6 > 0), 1.0] for n in range(60)}
    before = scored_run(scores, "before")
    view = read_run(before)
    rule = plan_looks(view.tasks, scores, looks=5, trials=2, baseline=view.info.run_id)
    worse = {key: [0.0, float(int(key[1:]) % 3 == 0)] for key in scores}
    new = scored_run(worse, "new")
    info = json.loads((new / "run.json").read_text())
    info["stopping_rule"] = rule.model_dump(mode="json")
    (new / "run.json").write_text(json.dumps(info))
    looks = looks_of(info["stopping_rule"], read_run(new).results.values(), 2)
    run = {key for batch in rule.batches[: looks[-1].number] for key in batch}
    lines = (new / "results.jsonl").read_text().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line)["task_id"] in run]
    (new / "results.jsonl").write_text("".join(kept))
    assert len(kept) < len(lines)
    (new / "events.jsonl").unlink()
    reseal(new)
    return new, before


def test_the_gate_decides_as_the_looks_did(pair: tuple[Path, Path]) -> None:
    code, out = invoke("gate", pair[0], "--against", pair[1], "--looks")
    assert code == 1, out
    assert out.startswith("REGRESSION: a drop beyond the boundary of look 2 of 5")

    code, out = invoke("gate", pair[0], "--against", pair[1], "--looks", "--json")
    found = json.loads(out)
    assert (found["verdict"], found["looks"][-1]["reason"]) == ("regression", "regression")


def test_a_run_with_looks_is_not_judged_as_if_it_had_none(pair: tuple[Path, Path]) -> None:
    assert invoke("gate", pair[0], "--against", pair[1])[0] == 2
    assert invoke("gate", pair[1], "--against", pair[0], "--looks")[0] == 2


def test_every_format_shows_the_looks_alike(pair: tuple[Path, Path], tmp_path: Path) -> None:
    report, files = build_report(
        [pair[0]], tmp_path / "out", formats=("html", "md", "json", "latex")
    )
    look = report.runs[0].stopped
    assert look is not None
    assert report.runs[0].state == "finished"
    text = {file.name: file.read_text("utf-8") for file in files if file.is_file()}
    stored = json.loads(text["report.json"])["runs"][0]["looks"][-1]
    assert (stored["difference"], stored["reason"]) == (look.difference, "regression")
    points = f"{100 * abs(look.difference or 0):.1f} pp"
    for name in ("report.md", "index.html", next(each for each in text if each.endswith(".tex"))):
        assert "2 of 5" in text[name], name
        assert points in text[name], name
    assert "stopped at look 2 of 5 by the rule stored before" in text["report.md"]


def test_watching_shows_the_last_look(pair: tuple[Path, Path]) -> None:
    results = read_run(pair[0]).results.values()
    look = looks_of(read_run(pair[0]).info.stopping_rule or {}, results, 2)[-1]
    event = Event(time="2026-03-01T10:00:00Z", kind="look", data=look.model_dump(mode="json"))
    (pair[0] / "events.jsonl").write_text(event.model_dump_json() + "\n")
    line = headline(ProgressReader(pair[0]).read())
    assert "look 2 of 5: regression" in line
