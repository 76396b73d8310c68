"""`kill -9` at any moment loses the trials in flight and nothing else."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from bench_core.run_folder import RunFolder, describe_run, read_run
from bench_core.testing import make_tasks

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("WRITER_KILLS", "15"))
TASKS = 60
TRIALS = 50

# Appends results of a few bytes to a quarter of a megabyte, which the system writes in several pieces, and
# tells each trial it was told to have stored.
WRITER = """
import sys
from pathlib import Path
from bench_core.records import TrialResult
from bench_core.run_folder.folder import RunFolder

with RunFolder.resume(Path(sys.argv[1])) as run:
    for number, key in enumerate(run.remaining()):
        bulk = "x" * (250_000 if number % 7 == 3 else number % 50)
        run.append(TrialResult(benchmark="demo", task_id=key.task_id, trial=key.trial, agent="a",
                               status="completed", score=1.0, details={"bulk": bulk}))
        sys.stdout.write(f"{key.task_id} {key.trial}\\n")
        sys.stdout.flush()
"""


def killed_writer(path: Path, lines: int, pause_s: float) -> set[tuple[str, int]]:
    """Run a writer, kill it a moment after its `lines`-th trial; return what it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    told = [process.stdout.readline() for _ in range(lines)]
    deadline = time.perf_counter() + pause_s
    while time.perf_counter() < deadline:
        pass
    os.kill(process.pid, signal.SIGKILL)
    rest, _ = process.communicate()
    assert process.returncode == -signal.SIGKILL
    whole = [*told, *rest.splitlines(keepends=True)]
    pairs = (line.split() for line in whole if line.endswith("\n"))
    return {(task_id, int(trial)) for task_id, trial in pairs}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killing_the_writer_loses_only_trials_in_flight(tmp_path: Path) -> None:
    moments = random.Random(20261121)  # noqa: S311  # the same moments every time
    tasks = make_tasks(TASKS)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks, trials=TRIALS)
    RunFolder.create(tmp_path, info, tasks).close()
    acknowledged: set[tuple[str, int]] = set()
    for _ in range(KILLS):
        now = killed_writer(tmp_path, moments.randint(1, 12), moments.uniform(0, 0.003))
        assert not acknowledged & now, "a done trial ran again"
        acknowledged |= now
        stored = {(key.task_id, key.trial) for key in read_run(tmp_path).results}
        assert acknowledged <= stored
        # at most one trial per kill was stored and not yet told
        assert len(stored - acknowledged) <= 1
        acknowledged = stored
    view = read_run(tmp_path)
    assert len(view.results) + len(view.remaining()) == TASKS * TRIALS
    assert len(acknowledged) >= KILLS
    lines = (tmp_path / "results.jsonl").read_bytes().count(b"\n")
    assert lines in {len(acknowledged), len(acknowledged) - 1}  # the last may lack its line feed
    assert [each.outcome for each in view.info.sessions[:-1]] == ["aborted"] * KILLS


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_killed_writer_frees_the_folder(tmp_path: Path) -> None:
    tasks = make_tasks(3)
    info = describe_run(benchmark="demo", agent="a", tasks=tasks, trials=1000)
    RunFolder.create(tmp_path, info, tasks).close()
    told = killed_writer(tmp_path, 2, 0)
    with RunFolder.resume(tmp_path) as run:
        assert told <= {(key.task_id, key.trial) for key in run.results()}
