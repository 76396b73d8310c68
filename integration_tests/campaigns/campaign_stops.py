"""Whether a run that is stopped for a while ever has a zero that the same run has not when it is left alone.

The demonstration of each benchmark is run once at a stretch and then again and again, with all processes of its group
stopped (SIGSTOP, as by Ctrl-Z) at a moment that is drawn and continued 5, 30 or 150 seconds later.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from bench_core.run_folder import read_run

COMMANDS = ("multireal-harness", "webarena-runner", "waa-client")
PAUSES_S = (5.0, 30.0, 150.0)
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
    done = wrong = 0
    for command in (each for each in COMMANDS if options.only in each):
        began = time.monotonic()
        expected = demonstration(command, None)
        lasted_s = time.monotonic() - began
        for pause_s, draw in product(options.pause or PAUSES_S, range(options.times)):
            moment_s = random.Random(f"{options.seed} {command} {pause_s} {draw}").uniform(
                0, lasted_s
            )
            found = demonstration(command, (moment_s, pause_s))
            lost = sorted(found["zero"] - expected["zero"])
            done, wrong = done + 1, wrong + bool(lost)
            print(
                f"{command:18} stopped {pause_s:3g} s after {moment_s:5.1f} s: {len(found['zero'])} zeros, "
                f"{len(found['suspended'])} attempts again  {f'LOST: {lost}' if lost else 'ok'}",
                flush=True,
            )
    print(f"{done} runs were stopped: {wrong} have a zero that the run left alone has not")
    return 1 if wrong or not done else 0


def demonstration(command: str, stop: tuple[float, float] | None) -> dict[str, set[str]]:
    """Run a demonstration, stopped once where `stop` says after how many seconds and for how many."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "demo"
        line = [str(Path(sys.executable).with_name(command)), "demo", "--out", str(out)]
        if command != "waa-client":
            line += ["--workers", "2"]
        process = subprocess.Popen(
            line, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            if stop is not None:
                _pause(process, *stop)
            process.wait(LONGEST_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        found: dict[str, set[str]] = {"zero": set(), "suspended": set()}
        for path in sorted(out.rglob("run.json")):
            for key, result in read_run(path.parent).results.items():
                name = f"{result.agent} {key.task_id} {key.trial}"
                if result.score is not None and result.score < 1.0:
                    found["zero"].add(name)
                if len(result.attempts) > 1 or "suspended" in result.flags:
                    found["suspended"].add(name)
        return found


def _pause(process: subprocess.Popen[bytes], moment_s: float, pause_s: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(moment_s)
        return  # it was faster than before
    os.killpg(process.pid, signal.SIGSTOP)
    time.sleep(pause_s)
    os.killpg(process.pid, signal.SIGCONT)


if __name__ == "__main__":
    sys.exit(main())
