"""Sessions and exports against the real programs of others, each in an environment of its own.

An environment is named by a variable: `PROCTOR_OPENENV` and the like have the interpreter that has the package. `nox -s
interop` makes them; without one its tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.agents import Done
from waa_server_ext.built_in import SimulatedDesktopWorld

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
OLD = HERE / "old_runs" / "0.1"
RUNS = ("multireal", "waa", "webarena")
TOKEN = "sesame"
LATE_S = 900.0
_TOKENIZER = "openaipublic.blob.core.windows.net"


def interpreter(name: str) -> str:
    found = os.environ.get(name)
    if not found:
        pytest.skip(f"{name} names no interpreter: `nox -s interop` makes one")
    return found


@contextmanager
def served(benchmark: str, *options: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-m",
        "bench_core.cli.main",
        "serve",
        "--openenv",
        benchmark,
        "--port",
        "0",
        *options,
    ]
    environment = {**os.environ, "BENCH_SESSION_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split(" at ")[1].split(",")[0]
        finally:
            process.terminate()
            process.wait(60)


def play(url: str, episodes: list[object]) -> list[dict[str, object]]:
    """Play episodes through the real client."""
    command = [interpreter("PROCTOR_OPENENV"), str(HERE / "openenv_client.py"), url, TOKEN]
    given = "".join(f"{json.dumps(each)}\n" for each in episodes)
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, timeout=LATE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


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
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=True)
    return [Path(each) for each in json.loads(done.stdout)["files"]]


def test_every_solution_of_the_desktop_is_rewarded_and_doing_nothing_is_not() -> None:
    solutions = SimulatedDesktopWorld.solutions()
    ended = Done().model_dump(mode="json")
    episodes: list[object] = []
    for task, solution in solutions.items():
        actions = [each.model_dump(mode="json") for each in solution.elements]
        episodes.append([{"task": task, "view": "elements"}, [*actions, ended]])
        episodes.append([{"task": task, "view": "text"}, [ended]])
    interpreter("PROCTOR_OPENENV")
    with served("waa") as url:
        said = play(url, episodes)
    assert said[0::2] == [{"done": True, "reward": 1.0}] * len(solutions)
    assert said[1::2] == [{"done": True, "reward": 0.0}] * len(solutions)


def test_the_servers_pass_the_validator_of_openenv() -> None:
    python = Path(interpreter("PROCTOR_OPENENV"))
    with served("waa") as url:
        command = [str(python.with_name("openenv")), "validate", "--url", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=False)
    assert (done.returncode, done.stdout.count("PASS")) == (0, 7), (
        done.stdout
    )  # six, and the verdict


@pytest.mark.parametrize("benchmark", RUNS)
def test_the_validator_of_every_eval_ever_takes_our_records(benchmark: str, tmp_path: Path) -> None:
    python = Path(interpreter("PROCTOR_EVERY_EVAL_EVER"))
    files = export("every-eval-ever", OLD / benchmark / "scripted", tmp_path)
    command = [str(python.with_name("every_eval_ever")), "validate"]
    command += [str(each.relative_to(tmp_path)) for each in files]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=LATE_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("benchmark", RUNS)
def test_the_hub_reads_our_entries_and_writes_the_same(benchmark: str, tmp_path: Path) -> None:
    python = interpreter("PROCTOR_HUGGINGFACE_HUB")
    (file,) = export("eval-results", OLD / benchmark / "scripted", tmp_path / "x.yaml")
    program = (
        "import json, sys, huggingface_hub as hub\n"
        "rows = json.load(open(sys.argv[1]))\n"
        "assert hub.eval_result_entries_to_yaml(hub.parse_eval_result_entries(rows)) == rows\n"
    )
    subprocess.run([python, "-c", program, str(file)], timeout=LATE_S, check=True)


@pytest.mark.parametrize("benchmark", RUNS)
def test_inspect_reads_our_logs(benchmark: str, tmp_path: Path) -> None:
    python = interpreter("PROCTOR_INSPECT")
    (file,) = export("inspect", OLD / benchmark / "scripted", tmp_path / "log.json")
    program = (
        "import sys\nfrom inspect_ai.log import read_eval_log\n"
        "log = read_eval_log(sys.argv[1])\nassert log.status == 'success' and log.samples\n"
    )
    subprocess.run([python, "-c", program, str(file)], timeout=LATE_S, check=True)


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
    run = shutil.copytree(OLD / "waa" / "scripted", tmp_path / "run")
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
