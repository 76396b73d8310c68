"""Served sessions through the real OpenEnv client: every benchmark, many at once, and what is lost on the way.

`PROCTOR_OPENENV` names the interpreter that has the client; `nox -t interop` makes one. Without it all are skipped.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.served_sessions import (
    ENDED,
    LATE_S,
    below,
    clone_player,
    connected,
    interpreter,
    served,
    served_process,
    site_player,
)

from multireal_harness.tasks import load_tasks
from multireal_harness.world import load_solutions
from waa_server_ext.built_in import SimulatedDesktopWorld
from webarena_runner.world.scripts import script_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_LOG = logging.getLogger("interop")
SITES = (44, 45, 101, 156, 157, 258, *range(260, 265), *range(274, 279), 399, 400, 401, 402)
RIGHT = {"done": True, "reward": 1.0}
NOTHING = {"done": True, "reward": 0.0}
DESKTOP = {
    task: [*(each.model_dump(mode="json") for each in solution.elements), ENDED]
    for task, solution in SimulatedDesktopWorld.solutions().items()
}
CLIENT_S = 60.0
"""What the client waits for an answer where nobody says otherwise."""


def last(said: dict[str, object]) -> dict[str, object]:
    return {name: said.get(name) for name in ("done", "reward")}


@pytest.fixture(scope="module", autouse=True)
def client() -> None:
    interpreter("PROCTOR_OPENENV")


def test_every_solution_of_the_desktop_is_rewarded_and_doing_nothing_is_not() -> None:
    with served("waa") as url, connected(url) as env:
        for task, actions in DESKTOP.items():
            assert env.play(task, actions) == RIGHT, task
            assert env.play(task, [ENDED]) == NOTHING, task


def test_every_solution_of_the_clones_is_rewarded_and_doing_nothing_is_not() -> None:
    tasks = {each.task_id: each for each in load_tasks("built-in")}
    solved = []
    with served("multireal", "--max-steps", "300") as url, connected(url) as env:
        for solution in load_solutions():
            if not solution.passes or solution.task in solved:
                continue
            task = f"multi.{solution.task}"
            order = [each["id"] for each in tasks[task].config["definition"]["websites"]]  # type: ignore[index,call-overload,union-attr]
            env.reset(task=task, view="elements")
            assert last(clone_player(env, solution.steps, order)) == RIGHT, task
            assert env.play(task, [ENDED]) == NOTHING, task
            solved.append(solution.task)
    assert len(solved) == 12


def test_twenty_tasks_of_the_stand_ins_are_rewarded_and_doing_nothing_is_not() -> None:
    with served("webarena", "--max-steps", "100") as url, connected(url) as env:
        for task in map(str, SITES):
            env.reset(task=task, view="elements")
            assert last(site_player(env, script_for(task))) == RIGHT, task
            assert env.play(task, [ENDED]) == NOTHING, task
    assert len(SITES) == 20


def test_sixteen_sessions_at_once_give_the_results_of_one() -> None:
    episodes = [(task, right) for task in sorted(DESKTOP)[:8] for right in (True, False)]

    def play(url: str, task: str, right: bool) -> dict[str, object]:  # which of the two
        with connected(url) as env:
            return env.play(task, DESKTOP[task] if right else [ENDED])

    with served("waa", "--max-sessions", "16") as url, ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda each: play(url, *each), episodes))
    assert said == [RIGHT if right else NOTHING for _, right in episodes]


def test_the_servers_pass_the_validator_of_openenv() -> None:
    python = Path(interpreter("PROCTOR_OPENENV"))
    with served("waa") as url:
        command = [str(python.with_name("openenv")), "validate", "--url", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LATE_S, check=False)
    # six, and the verdict
    assert (done.returncode, done.stdout.count("PASS")) == (0, 7), done.stdout


def test_the_openenv_task_set_of_verifiers_records_scores_and_no_reward_without_one() -> None:
    python = interpreter("PROCTOR_VERIFIERS")
    task = min(DESKTOP)
    episodes = [
        [{"task": task, "view": "text"}, DESKTOP[task]],
        [{"task": task, "view": "text"}, [ENDED]],
        [{"task": "nowhere", "view": "text"}, [ENDED]],
    ]
    given = "".join(f"{json.dumps(each)}\n" for each in episodes)
    script = str(Path(__file__).with_name("verifiers_client.py"))
    with served("waa", "--no-token") as url:
        done = subprocess.run(
            [python, script, url],
            input=given,
            capture_output=True,
            text=True,
            timeout=LATE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    right, nothing, failed = map(json.loads, done.stdout.splitlines())
    assert right == {"openenv_reward": 1.0, "text": True}
    assert nothing == {"openenv_reward": 0.0, "text": True}
    assert set(failed) == {"error"}


@contextmanager
def nemo_gym(benchmark: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run NeMo Gym's agent on a resources server of `benchmark`; yields it and the server's process id."""
    python = interpreter("PROCTOR_NEMO_GYM")
    script = str(Path(__file__).with_name("nemo_gym_client.py"))
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with served_process(benchmark, "--no-token", protocol="nemo-gym") as (url, server):
        command = [python, script, url.rpartition(":")[2]]
        with subprocess.Popen(command, text=True, **pipes) as process:
            try:
                yield process, server.pid
            finally:
                process.kill()


def asked(process: subprocess.Popen[str], value: object) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{json.dumps(value)}\n")
    process.stdin.flush()
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def rows(benchmark: str, folder: Path) -> dict[str, Any]:
    """Write the data set of a benchmark and return its rows by their tasks."""
    path = folder / "rows.jsonl"
    command = [sys.executable, "-m", "bench_core.cli.main", "serve", "--nemo-gym", benchmark]
    subprocess.run([*command, "--dataset", str(path)], timeout=LATE_S, check=True)
    lines = path.read_text(encoding="utf-8").splitlines()
    return {each["task_id"]: each for each in map(json.loads, lines)}


def test_the_agent_of_nemo_gym_is_rewarded_by_the_score_and_an_unknown_task_by_nothing(
    tmp_path: Path,
) -> None:
    row = rows("waa", tmp_path)
    with nemo_gym("waa") as (process, _):
        for task in sorted(DESKTOP)[:3]:
            found = asked(process, [row[task], DESKTOP[task]])
            assert (found["status"], found["reward"], found["mask_sample"]) == (200, 1.0, False)
            assert len(found["outputs"]) == len(DESKTOP[task])
            # what is no action is the model's to read, and its session goes on
            found = asked(process, [row[task], ["nonsense", [], ENDED]])
            assert (found["status"], found["reward"]) == (200, 0.0)
        found = asked(process, [{**row[task], "task_id": "nowhere"}, [ENDED]])
        assert (found["status"], "reward" in found) == (500, False)


@pytest.mark.parametrize(
    ("benchmark", "task"), [("multireal", "multi.calendar-travel-1"), ("webarena", "44")]
)
def test_a_rollout_of_nemo_gym_whose_world_breaks_has_no_reward(
    benchmark: str, task: str, tmp_path: Path
) -> None:
    row = rows(benchmark, tmp_path)[task]
    with nemo_gym(benchmark) as (process, pid):
        before = below(pid)
        assert asked(process, [row, ["pause", ENDED]]) == {"paused": True}
        end(below(pid) - before)
        found = asked(process, "go on")
        assert (found["status"], "reward" in found) == (500, False), found
        # the world of the next one is another
        found = asked(process, [row, [ENDED]])
        assert (found["status"], found["reward"]) == (200, 0.0), found


@pytest.mark.parametrize(
    ("benchmark", "task", "ends"),
    [
        # a simulated desktop is threads of the server: nothing of it can be killed alone
        ("waa", min(DESKTOP), "dropped"),
        ("multireal", "multi.calendar-travel-1", "dropped"),
        ("multireal", "multi.calendar-travel-1", "killed"),
        ("webarena", "44", "dropped"),
        ("webarena", "44", "killed"),
    ],
)
def test_a_world_that_is_killed_is_an_error_and_a_dropped_socket_leaves_nothing(
    benchmark: str, task: str, ends: str
) -> None:
    with served_process(benchmark) as (url, server):
        before = below(server.pid)
        with connected(url, CLIENT_S if ends == "killed" else LATE_S) as env:
            assert "error" not in env.reset(task=task, view="elements")
            if ends == "killed":
                end(below(server.pid) - before)
                asked = time.monotonic()
                said = env.step(ENDED)
                _LOG.info(
                    "%s: answered after %.1f s: %s", benchmark, time.monotonic() - asked, said
                )
                assert said.get("error", "").startswith("RuntimeError"), said
                assert "TimeoutError" not in said["error"]
        began = time.monotonic()
        while (left := below(server.pid) - before) and time.monotonic() - began < LATE_S:
            time.sleep(0.1)
        _LOG.info(
            "%s, %s: %.1f s until nothing was left", benchmark, ends, time.monotonic() - began
        )
        assert not left


def end(processes: Iterable[int]) -> None:
    for each in processes:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue
