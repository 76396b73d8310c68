"""Runs that are stopped, killed or started twice stay in order."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.browser, pytest.mark.slow]

BIN = Path(sys.executable).parent
TASKS = ("44", "45", "156", "157", "260", "399")
PATIENCE_S = 600


class Run:
    """A `webarena-runner run` on the built-in world, in a temporary folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "run"
        self.agent = "scripted"
        self.tasks = TASKS
        self.options: tuple[str | Path, ...] = ()
        # short, because Chromium puts a socket there
        self.temporary = Path(tempfile.mkdtemp(prefix="w"))

    @property
    def command(self) -> list[str | Path]:
        return [
            BIN / "webarena-runner", "run", "--world", "built-in", "--agent", self.agent,
            "--task", ",".join(self.tasks), "--out", self.out, *self.options,
        ]  # fmt: skip

    def start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        environment["PYTHONPATH"] = str(self.out.parent)
        return subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def finish(self) -> int:
        process = self.start()
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert "Traceback" not in output
        return process.returncode

    def results(self) -> list[tuple[str, str]]:
        path = self.out / "results.jsonl"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        return [(record["task_id"], record["status"]) for record in map(json.loads, lines)]

    def wait_for_results(self, count: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(self.results()) < count:
            assert time.monotonic() < deadline, "no results"
            time.sleep(0.1)

    def processes(self) -> list[str]:
        """Return the command lines of processes that work in our temporary folder."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.temporary) in line:
                found.append(line)
        return found

    def wait_until_quiet(self, patience_s: float = 120.0) -> None:
        deadline = time.monotonic() + patience_s
        while self.processes():
            assert time.monotonic() < deadline, self.processes()
            time.sleep(0.2)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    yield run
    shutil.rmtree(run.temporary)


def test_ctrl_c_leaves_a_folder_that_the_same_command_completes_once(run: Run) -> None:
    process = run.start()
    run.wait_for_results(2)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    run.wait_until_quiet()
    assert {status for _, status in run.results()} <= {"completed", "cancelled"}
    assert run.finish() == 0
    done = Counter(task for task, status in run.results() if status == "completed")
    assert done == dict.fromkeys(TASKS, 1)
    assert list(run.temporary.iterdir()) == []
    before = run.results()
    assert run.finish() == 0  # nothing is left to run
    assert run.results() == before


def test_killed_run_leaves_no_browser_and_is_completed_by_the_same_command(run: Run) -> None:
    process = run.start()
    run.wait_for_results(1)
    process.kill()
    process.communicate()
    run.wait_until_quiet()
    (left,) = run.temporary.iterdir()  # all that Chromium, Playwright and we had there
    assert run.finish() == 0
    assert not left.exists()
    assert list(run.temporary.iterdir()) == []
    done = Counter(task for task, status in run.results() if status == "completed")
    assert done == dict.fromkeys(TASKS, 1)


def test_second_process_on_the_same_folder_is_refused(run: Run) -> None:
    first = run.start()
    run.wait_for_results(1)
    first.send_signal(signal.SIGSTOP)  # it would have ended before a slow second one begins
    second = run.start()
    output, _ = second.communicate(timeout=PATIENCE_S)
    first.send_signal(signal.SIGCONT)
    assert second.returncode == 2
    assert "Traceback" not in output
    assert str(run.out) in output
    first.communicate(timeout=PATIENCE_S)
    assert first.returncode == 0


KNOWN = """
import random

from bench_core.discovery import load_agent


class Known:
    name = "known"

    async def run(self, task, environment, context):
        succeeds = random.Random(context.seed).random() < RATES[task.task_id]
        agent = load_agent("scripted" if succeeds else "do-nothing")
        return await agent.run(task, environment, context)


RATES = {rates!r}
"""
ALONE = ("0", "44", "45", "94", "101", "132", "156", "157", "191", "234", "258", "260")
"""Tasks of the built-in world that change nothing, each of a template of its own."""


def report(*arguments: str | Path) -> tuple[int, str]:
    done = subprocess.run(
        [BIN / "bench-report", *arguments], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_killed_run_with_looks_goes_on_to_the_decision_that_every_format_tells(run: Run) -> None:
    folder = run.out.parent
    run.tasks = ALONE
    before = run.out = folder / "before"
    assert run.finish() == 0

    (folder / "known.py").write_text(KNOWN.replace("{rates!r}", repr(dict.fromkeys(ALONE, 0.05))))
    run.agent = "known:Known"
    run.options = ("--looks", "5", "--against", before)
    whole = run.out = folder / "whole"
    assert run.finish() == 0
    stopped = len(run.results())
    assert stopped < len(ALONE)

    killed = run.out = folder / "killed"
    process = run.start()
    run.wait_for_results(stopped - 2)
    process.kill()
    process.communicate()
    run.wait_until_quiet()
    assert run.finish() == 0
    assert dict(run.results()) == dict.fromkeys(dict(run.results()), "completed")

    found = []
    for each in (whole, killed):
        code, out = report("gate", each, "--against", before, "--looks", "--json")
        assert code == 1
        found.append(json.loads(out))
    assert found[0]["looks"] == found[1]["looks"]
    last = found[1]["looks"][-1]
    assert (last["reason"], last["tasks"], last["of"]) == ("regression", stopped, 5)

    code, _ = report("build", killed, "--format", "json,md,latex", "--out", folder / "report")
    assert code == 0
    (told,) = json.loads((folder / "report" / "report.json").read_text())["runs"]
    assert told["looks"] == found[1]["looks"]
    difference = f"{100 * abs(last['difference']):.1f}"
    pages = [*folder.glob("report/**/*.md"), *folder.glob("report/**/*.tex")]
    for suffix in (".md", ".tex"):
        text = "".join(page.read_text("utf-8") for page in pages if page.suffix == suffix)
        assert f"{last['number']} of 5" in text
        assert difference in text
