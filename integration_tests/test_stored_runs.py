"""Stored run folders are read, checked, rescored to the same scores and continued.

    webarena-runner demo --task 157,101,491 --out webarena
    waa-client run --world built-in --agent scripted -t FILES -t NOTE -j 1 --out waa/scripted
    multireal-harness run --world built-in --agent scripted -t mail-travel-1 -t dining-mail-2 -j 1 --out multireal/scripted

FILES and NOTE are the tasks of the folder. The latter two also with `--agent do-nothing`, and the last one into `step-limit` with `--max-steps 2`.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.run_folder import read_run
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED = Path(__file__).parent / "stored_runs"
RUNS = sorted(path.parent.relative_to(STORED).as_posix() for path in STORED.glob("*/*/run.json"))
RESCORE = {"multireal": "multireal-harness", "waa": "waa-client", "webarena": "webarena-runner"}


@pytest.fixture(params=RUNS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(name: str, tmp_path: Path) -> Path:
    """A copy of the run folder: rescores are written into it."""
    return Path(shutil.copytree(STORED / name, tmp_path / "run"))


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


def test_there_are_runs_of_every_benchmark() -> None:
    assert {name.split("/")[0] for name in RUNS} == set(RESCORE)


def test_a_stored_run_is_read_whole_and_passes_the_check(run: Path) -> None:
    read = read_run(run)
    assert read.problems == ()
    found = {f"{key.trial}/{key.task_id}": each.score for key, each in read.results.items()}
    assert found == scores(run)
    command("bench-core", "check", run)


def test_a_stored_run_is_rescored_to_the_same_scores(
    name: str, run: Path, request: pytest.FixtureRequest
) -> None:
    benchmark = name.split("/", maxsplit=1)[0]
    at = ["--evaluate", request.getfixturevalue("evaluator")] if benchmark == "waa" else []
    printed = command(RESCORE[benchmark], "rescore", run, "--name", "again", "--json", *at)
    assert json.loads(printed)["changes"] == []
    assert scores(run / "rescores" / "again") == scores(run)


def test_a_stored_run_on_the_desktop_goes_on_where_it_ended(tmp_path: Path) -> None:
    run = Path(shutil.copytree(STORED / "waa" / "scripted", tmp_path / "run"))
    results = run / "results.jsonl"
    kept, lost = results.read_text().splitlines()
    results.write_text(kept + "\n")
    asked = [word for each in (kept, lost) for word in ("-t", json.loads(each)["task_id"])]
    # the agents of today are other programs than those that wrote it
    goes_on = ["--agent", "scripted", *asked, "-j", "1", "--accept-changes", "--out", run]
    command("waa-client", "run", "--world", "built-in", *goes_on)
    assert results.read_text().splitlines()[0] == kept
    found = read_run(run).results.values()
    assert [(each.timing, each.score) for each in found] == [("fast", 1.0)] * 2
