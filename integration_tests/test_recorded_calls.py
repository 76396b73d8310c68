"""Every runner records a run's model calls on request and answers another run from them."""

from __future__ import annotations

import importlib.metadata
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASKS = {
    "multireal-harness": "multi.dining-mail-2",
    "waa-client": "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
    "webarena-runner": "418",
}


@pytest.mark.parametrize("program", TASKS)
def test_a_run_answers_from_the_calls_that_another_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (script,) = importlib.metadata.entry_points(group="console_scripts", name=program)
    for name, seconds in (("first", 1), ("second", 2)):
        wait = {"tool_calls": [{"name": "wait", "arguments": {"seconds": seconds}}]}
        (tmp_path / f"{name}.json").write_text(json.dumps([wait] * 2))
    kept = {"first": ["--record-calls"], "second": ["--replay-calls", str(tmp_path / "first")]}
    waited = {}
    for name, options in kept.items():
        out = tmp_path / name
        given = [
            "run", "--world", "built-in", "--agent", "tool-calling", "--model", f"scripted:{name}.json",
            "-t", TASKS[program], "--max-steps", "2", "-j", "1", "--attempts", "1", "--out", str(out), *options,
        ]  # fmt: skip
        ran = CliRunner().invoke(script.load(), given)
        assert ran.exit_code in {0, 1}, ran.output
        (result,) = read_run(out).results.values()
        (trajectory,) = out.rglob("trajectory.jsonl")
        waited[name] = [json.loads(line)["actions"] for line in trajectory.read_text().splitlines()]
        assert result.steps == 2, ran.output
    assert waited["second"] == waited["first"]
    assert [len(list((tmp_path / name).rglob("model_calls.jsonl"))) for name in kept] == [1, 0]
