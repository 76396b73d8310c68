"""What is given out, and Inspect's tasks, against the real programs of others, each in an environment of its own.

An environment is named by a variable: `PROCTOR_OPENENV` and the like have the interpreter that has the package. `nox -s
interop` makes them; without one its tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from integration_tests.served_sessions import LATE_S, TOKEN, interpreter, served

HERE = Path(__file__).parent
STORED = HERE / "stored_runs"
RUNS = sorted(
    each.parent
    for tree in {STORED, Path(os.environ.get("INTEROP_RUNS", STORED))}
    for each in tree.glob("*/*/run.json")
)
"""Runs of each benchmark, right and wrong ones, and those of the folder that INTEROP_RUNS names."""
_TOKENIZER = "openaipublic.blob.core.windows.net"
_READ_ATIF = """
import pathlib, sys
from atif import Trajectory
for each in sys.argv[1:]:
    found = Trajectory.model_validate_json(pathlib.Path(each).read_text())
    assert found.schema_version == "ATIF-v1.8" and found.steps
"""
_READ_ENTRIES = """
import sys, huggingface_hub as hub, yaml
rows = yaml.safe_load(open(sys.argv[1]))
assert hub.eval_result_entries_to_yaml(hub.parse_eval_result_entries(rows)) == rows
"""
_READ_LOG = """
import sys
from inspect_ai.log import read_eval_log
log = read_eval_log(sys.argv[1])
assert log.status == "success" and log.samples
"""
READERS = {
    "atif": ("PROCTOR_ATIF", "trajectories", _READ_ATIF),
    "eval-results": ("PROCTOR_HUGGINGFACE_HUB", "entries.yaml", _READ_ENTRIES),
    "inspect": ("PROCTOR_INSPECT", "log.json", _READ_LOG),
}
"""Of each form: the interpreter that has its package, where it is written, and how the package reads it."""


def _name(run: Path) -> str:
    return f"{run.parent.name}-{run.name}"


def export(form: str, run: Path, out: Path) -> list[Path]:
    """Export a run as the command does, and return the files."""
    command = [
        Path(sys.executable).with_name("bench-report"),
        "export",
        form,
        run,
        "--out",
        out,
        "--json",
        *(["--dataset", "someone/something"] if form == "eval-results" else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=True)
    return [Path(each) for each in json.loads(done.stdout)["files"]]


@pytest.mark.parametrize("run", RUNS, ids=map(_name, RUNS))
def test_the_validator_of_every_eval_ever_takes_our_records(run: Path, tmp_path: Path) -> None:
    python = Path(interpreter("PROCTOR_EVERY_EVAL_EVER"))
    files = export("every-eval-ever", run, tmp_path)
    command = [str(python.with_name("every_eval_ever")), "validate"]
    command += [str(each.relative_to(tmp_path)) for each in files]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=LATE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("run", RUNS, ids=map(_name, RUNS))
@pytest.mark.parametrize("form", READERS)
def test_the_packages_of_others_read_what_we_give_out(form: str, run: Path, tmp_path: Path) -> None:
    variable, name, program = READERS[form]
    python = interpreter(variable)
    files = export(form, run, tmp_path / name)
    assert files
    subprocess.run([python, "-c", program, *map(str, files)], timeout=LATE_S, check=True)


def evaluated(folder: Path, task: str, *arguments: str) -> dict[str, Any]:
    """Write the module for Inspect, evaluate a task of it and return the log."""
    python = Path(interpreter("PROCTOR_INSPECT"))
    module = folder / "proctor_task.py"
    command = [sys.executable, "-m", "bench_core.cli.main", "new", "inspect-task", str(module)]
    subprocess.run(command, capture_output=True, timeout=LATE_S, check=True)
    command = [str(python.with_name("inspect")), "eval", f"{module.name}@{task}", *arguments]
    command += ["--log-format", "json", "--log-dir", "logs", "--display", "none"]
    environment = {**os.environ, "BENCH_SESSION_TOKEN": TOKEN}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=LATE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (folder / "logs").glob("*.json")
    found: dict[str, Any] = json.loads(log.read_text(encoding="utf-8"))
    if _TOKENIZER in str(found.get("error")):
        pytest.skip("Inspect downloads a tokenizer for its mock model, and there is no network")
    assert found["status"] == "success", found.get("error")
    return found


def test_inspect_keeps_the_books_of_a_run_and_leaves_unscored_trials_out(tmp_path: Path) -> None:
    run = shutil.copytree(STORED / "waa" / "scripted", tmp_path / "run")
    lines = (run / "results.jsonl").read_text(encoding="utf-8").splitlines()
    broken = {**json.loads(lines[0]), "score": None, "status": "environment_error"}
    (run / "results.jsonl").write_text("\n".join([*lines, json.dumps(broken)]), encoding="utf-8")
    log = evaluated(tmp_path, "recorded", "-T", f"run={run}", "--model", "none")
    (scores,) = log["results"]["scores"]
    assert (scores["unscored_samples"], scores["metrics"]["mean"]["value"]) == (1, 1.0)
    reasons = {each["scores"]["proctor"].get("reason") for each in log["samples"]}
    assert "environment_error" in reasons


def test_a_model_of_inspects_acts_in_a_served_session(tmp_path: Path) -> None:
    interpreter("PROCTOR_INSPECT")
    with served("waa") as url:
        where = f"url={url.replace('http', 'ws')}/ws"
        log = evaluated(tmp_path, "acting", "-T", where, "--model", "mockllm/model")
    # the mock's answers are no actions, so the episode ends as one that was given up, and is scored
    (scores,) = log["results"]["scores"]
    assert (scores["scored_samples"], scores["metrics"]["mean"]["value"]) == (1, 0.0)
