"""Run folders that earlier versions wrote are read, scored and reported as they were then."""

from __future__ import annotations

import asyncio
import json
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.run_folder import read_run
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator

OLD = Path(__file__).parent / "old_runs"
RUNS = sorted(path.parent.relative_to(OLD).as_posix() for path in OLD.glob("*/*/*/run.json"))
RESCORE = {"multireal": "multireal-harness", "waa": "waa-client", "webarena": "webarena-runner"}


@pytest.fixture(params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(name: str, tmp_path: Path) -> Path:
    """A copy of the run folder: rescores are written into it."""
    return Path(shutil.copytree(OLD / name, tmp_path / "run"))


@pytest.fixture
def expected(name: str) -> dict[str, Any]:
    path = OLD / name
    return dict(json.loads((path.parent / "expected.json").read_text())[path.name])


@pytest.fixture(scope="module")
def evaluator() -> Iterator[str]:
    """The URL of a WAA evaluator whose desktop never saw the trials."""
    world = built_in_world()()
    try:
        yield asyncio.run(world.start()).urls["evaluate"]
    finally:
        world.close()


def scores(folder: Path) -> dict[str, float | None]:
    """Return the last score of each trial."""
    lines = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return {f"{each['trial']}/{each['task_id']}": each["score"] for each in lines}


def command(program: str, *words: str | Path) -> str:
    """Return what the command prints, run in this process."""
    (script,) = entry_points(group="console_scripts", name=program)
    done = CliRunner().invoke(script.load(), [str(each) for each in words])
    assert done.exit_code == 0, done.output
    return done.stdout


def in_place_of(expected: Any, found: Any) -> Any:
    """Return of `found` what `expected` has, at its places."""
    if not isinstance(expected, dict):
        return found
    return {name: in_place_of(each, found[name]) for name, each in expected.items()}


def test_there_are_runs_of_every_benchmark() -> None:
    assert {name.split("/")[1] for name in RUNS} == set(RESCORE)


def test_an_old_run_is_read_whole(run: Path, expected: dict[str, Any]) -> None:
    read = read_run(run)
    assert read.problems == ()
    found = {f"{key.trial}/{key.task_id}": each.score for key, each in read.results.items()}
    assert found == expected["scores"]


def test_an_old_run_passes_the_check(run: Path) -> None:
    command("bench-core", "check", run)


def test_an_old_run_is_rescored_to_the_same_scores(
    name: str, run: Path, expected: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    benchmark = name.split("/")[1]
    at = ["--evaluate", request.getfixturevalue("evaluator")] if benchmark == "waa" else []
    printed = command(RESCORE[benchmark], "rescore", run, "--name", "again", "--json", *at)
    assert json.loads(printed)["changes"] == []
    scored = {trial: score for trial, score in expected["scores"].items() if score is not None}
    assert scores(run / "rescores" / "again") == scored


def test_an_old_run_on_the_desktop_goes_on_where_it_ended(tmp_path: Path) -> None:
    old = Path(shutil.copytree(OLD / "0.1" / "waa", tmp_path / "demo"))
    results = old / "scripted" / "results.jsonl"
    kept, lost = results.read_text().splitlines()
    results.write_text(kept + "\n")
    ids = [json.loads(line)["task_id"] for line in (kept, lost)]
    command("waa-client", "demo", "--task", ",".join(ids), "--out", old)
    assert results.read_text().splitlines()[0] == kept
    run = read_run(old / "scripted")
    assert [(each.timing, each.score) for each in run.results.values()] == [("fast", 1.0)] * 2


def test_an_old_run_is_reported_with_the_same_numbers(
    run: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    command("bench-report", "build", run, "--format", "json", "--out", tmp_path / "report")
    (reported,) = json.loads((tmp_path / "report/report.json").read_text())["runs"]
    numbers = expected["numbers"]
    assert in_place_of(numbers, reported["summary"]) == numbers
