"""Whether a run that is stopped for a while ever has a zero that the same run has not when it is left alone.

The scripted agent solves tasks of each built-in world once at a stretch and then again and again, with all
processes of the run's group stopped (SIGSTOP, as by Ctrl-Z) at a moment that is drawn and continued 5, 30 or
150 seconds later. A trial may take five times what the slowest agent took alone. Only runs that had a trial under way while they were
stopped are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count, product
from pathlib import Path

from bench_core.records import TrialResult
from bench_core.run_folder import read_run

COMMANDS = ("multireal-harness", "webarena-runner", "waa-client")
PAUSES_S = (5.0, 30.0, 150.0)
TASKS = 3
LONGEST_S = 900.0


def main() -> int:
    """Run the campaign and return the exit code: 1 where a stop cost an agent its score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=10, help="moments for each pause")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="commands whose name has this in it")
    parser.add_argument(
        "--pause", type=float, action="append", help="seconds, instead of 5, 30, 150"
    )
    options = parser.parse_args()
    done = again = wrong = 0
    for command in (each for each in COMMANDS if options.only in each):
        began = time.monotonic()
        alone = run(command, LONGEST_S, None)
        lasted_s = time.monotonic() - began
        limit_s = 5 * max(result.timings_s["agent"] for result in alone.results.values())
        print(f"{command:18} left alone: {lasted_s:.1f} s, zeros: {alone.zeros()}", flush=True)
        for pause_s, draw in product(options.pause or PAUSES_S, range(options.times)):
            for redrawn in count():
                drawn = random.Random(f"{options.seed} {command} {pause_s} {draw} {redrawn}")
                moment_s = drawn.uniform(0, lasted_s)
                found = run(command, limit_s, (moment_s, pause_s))
                if found.stopped:
                    break
            lost = {n: why for n, why in found.zeros().items() if n not in alone.zeros()}
            done, wrong, again = done + 1, wrong + bool(lost), again + bool(found.again())
            print(
                f"{command:18} stopped {pause_s:3g} s after {moment_s:5.1f} s in {', '.join(found.stopped)}: "
                f"{len(found.zeros())} zeros, {found.again()} trials done again  {f'LOST: {lost}' if lost else 'ok'}",
                flush=True,
            )
    print(
        f"{done} runs were stopped in a trial, {again} did a trial again: "
        f"{wrong} have a zero that the run left alone has not"
    )
    return 1 if wrong or not done else 0


@dataclass(frozen=True)
class Run:
    """The results of a run by task, and the tasks that it was at while it was stopped."""

    results: dict[str, TrialResult]
    stopped: set[str]

    def zeros(self) -> dict[str, str]:
        """Return what is said of each trial that failed."""
        return {
            name: f"{each.status.value} {each.timings_s}, {each.flags}"
            for name, each in self.results.items()
            if each.score is not None and each.score < 1.0
        }

    def again(self) -> int:
        """Return how many trials were done more than once."""
        return sum(
            len(each.attempts) > 1 or "suspended" in each.flags for each in self.results.values()
        )


def run(command: str, limit_s: float, stop: tuple[float, float] | None) -> Run:
    """Run the built-in world, stopped once where `stop` says after how many seconds and for how many."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        process = subprocess.Popen(
            [
                str(Path(sys.executable).with_name(command)), "run", "--world", "built-in", "--agent", "scripted",
                "--time-limit", f"{limit_s:g}", "--workers", "2", "--limit", f"{TASKS}", "--out", str(out),
            ],
            start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            stopped = set() if stop is None else _pause(process, out, *stop)
            process.wait(LONGEST_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        results = read_run(out).results
        return Run({key.task_id: result for key, result in results.items()}, stopped)


def _pause(
    process: subprocess.Popen[bytes], out: Path, moment_s: float, pause_s: float
) -> set[str]:
    """Stop a run as soon as it is at a trial, and return the tasks that it was at; none where it was over before."""
    wait_s = moment_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(wait_s)
            return set()
        os.killpg(process.pid, signal.SIGSTOP)
        under_way = _under_way(out / "events.jsonl")
        if under_way:
            time.sleep(pause_s)
        os.killpg(process.pid, signal.SIGCONT)
        if under_way:
            return under_way
        wait_s = 0.5


def _under_way(path: Path) -> set[str]:
    """Return the tasks whose attempts have begun and not ended."""
    found = set()
    for line in path.read_text().splitlines() if path.exists() else []:
        event = json.loads(line)
        if event["kind"] == "attempt_started":
            found.add(event["task_id"])
        elif event["kind"] == "attempt_finished":
            found.discard(event["task_id"])
    return found


if __name__ == "__main__":
    sys.exit(main())
