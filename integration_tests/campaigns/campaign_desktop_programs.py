"""Whether any of 100,000 programs, drawn by seed, stops the simulated desktop or fills the machine.

They go over HTTP to `waa-server-ext simulate` in a process of its own, after the killers made by hand.
Each must be answered in time, the program after it must run, and the processes together must stay small.
Those that are slow or large are named by their number, which with the seed says what they were.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

TESTS = Path(__file__).resolve().parents[2] / "packages/waa-server-ext/tests/simulate"
sys.path.insert(0, str(TESTS))

from desktop_killers import KILLERS  # noqa: E402  # beside the tests
from programs import random_program  # noqa: E402  # same

ANSWER_S = 10.0
TREE_MB = 600.0
SAME_DESKTOP = 250
LONG = 10
"""Of so many programs one may take all that it may: a hundred thousand such would take ten hours."""
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass
class Figures:
    """What was measured."""

    times: list[float] = field(default_factory=list)
    largest_mb: float = 0.0
    most_cpu_s: float = 0.0
    replaced: int = 0
    broken: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


class Server:
    """`waa-server-ext simulate` and what it started."""

    def __init__(self) -> None:
        command = [
            sys.executable, "-u", "-c", "from waa_server_ext.cli import main; main()", "simulate", "--no-token", "--port", "0",
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = cast("IO[str]", self.process.stdout).readline()
        found = re.search(r"http://\S+?:\d+", line)
        if found is None:
            raise SystemExit(f"the server said: {line!r}")
        self.url = found[0]

    def post(self, path: str, body: object) -> dict[str, object]:
        """Return the JSON that a path answers."""
        data = json.dumps(body).encode()
        asked = urllib.request.Request(  # noqa: S310  # our own server
            self.url + path, data, {"Content-Type": "application/json"}
        )
        with _OPENER.open(asked, timeout=120) as answer:
            value: dict[str, object] = json.load(answer)
            return value

    def run(self, program: str) -> dict[str, object]:
        """Return what `/execute` answers to a program."""
        return self.post("/execute", {"command": ["python", "-c", program]})

    def tree(self) -> dict[int, float]:
        """Return the server's processes with the megabytes that each has resident."""
        found = {self.process.pid: _resident_mb(self.process.pid)}
        for child in _children(self.process.pid):
            found[child] = _resident_mb(child)
        return found

    def cpu_s(self) -> float:
        """Return the processor seconds of the server and all it started, those that have ended too."""
        own = _fields(self.process.pid)[:4]
        children = [sum(_fields(each)[:2]) for each in _children(self.process.pid)]
        return (sum(own) + sum(children)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()
        cast("IO[str]", self.process.stdout).close()


def main() -> int:
    """Run the campaign; 1 where a law broke."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--first", type=int, default=0, help="The first program's number, to share them out."
    )
    parser.add_argument("--every", type=int, default=1_000, help="Print figures so often.")
    asked, _ = parser.parse_known_args()
    server = Server()
    figures = Figures()
    try:
        for name, program in KILLERS.items():
            _try(server, name, program, figures)
        _say(f"{len(KILLERS)} killers", figures)
        for number in range(asked.first, asked.first + asked.times):
            if number % SAME_DESKTOP == 0:
                server.post("/simulation/reset", {})
            source = random.Random(f"{asked.seed} {number}")
            _try(
                server,
                f"program {number}",
                random_program(source, long=number % LONG == 0),
                figures,
            )
            if (number + 1) % asked.every == 0:
                _say(f"programs to {number + 1:,}", figures)
    finally:
        server.stop()
    _say(f"{len(KILLERS)} killers and {asked.times:,} programs from {asked.first:,}", figures)
    return int(bool(figures.broken or figures.late))


def _try(server: Server, name: str, program: str, figures: Figures) -> None:
    before = set(server.tree())
    began, used = time.monotonic(), server.cpu_s()
    try:
        answer = server.run(program)
    except (OSError, ValueError) as error:
        figures.broken.append(f"{name}: {type(error).__name__}: {error}")
        return
    took = time.monotonic() - began
    figures.times.append(took)
    used = server.cpu_s() - used
    figures.most_cpu_s = max(figures.most_cpu_s, used)
    tree = server.tree()
    figures.replaced += not before <= set(tree)
    peaks = [_status_mb(pid, "VmHWM") for pid in tree]
    if sum(peaks) > max(figures.largest_mb, TREE_MB):
        # no less than what all had at once
        figures.broken.append(f"{name}: the processes had {peaks} MB")
    figures.largest_mb = max(figures.largest_mb, sum(peaks))
    if not isinstance(answer.get("returncode"), int):
        figures.broken.append(f"{name}: answered {answer}")
    # where others have the processors, what it would take with one of its own
    if min(took, used if os.getloadavg()[0] > (os.cpu_count() or 1) else took) > ANSWER_S:
        figures.late.append(f"{name}: answered after {took:.1f} s and {used:.1f} s of processor")
    if took > 1 or not before <= set(
        tree
    ):  # after what was heavy, and otherwise each is the next of one
        _check_next(server, name, figures)


def _check_next(server: Server, name: str, figures: Figures) -> None:
    try:
        answer = server.run("print(6 * 7)")
    except (OSError, ValueError) as error:
        answer = {"output": repr(error)}
    if answer["output"] != "42\n":
        figures.broken.append(f"the next after {name}: {answer}")


def _say(what: str, figures: Figures) -> None:
    for line in (*figures.broken, *figures.late):
        if line not in figures.said:
            print(line)
            figures.said.append(line)
    times = sorted(figures.times) or [0.0]
    print(
        f"{what}: median {times[len(times) // 2]:.3f} s, 99 % {times[len(times) * 99 // 100]:.2f} s, "
        f"slowest {times[-1]:.2f} s, at most {figures.most_cpu_s:.1f} s of processor and {figures.largest_mb:.0f} MB, {figures.replaced} processes "
        f"replaced, {len(figures.late)} late, {len(figures.broken)} broken; load {os.getloadavg()[0]:.0f}",
        flush=True,
    )


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += [int(each) for each in (task / "children").read_text().split()]
        except OSError:  # the thread has ended
            continue
    return [each for child in found for each in (child, *_children(child))]


def _fields(pid: int) -> list[int]:
    """Return utime, stime, cutime and cstime in clock ticks, see proc(5)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return [0, 0, 0, 0]
    return [int(each) for each in text.rpartition(") ")[2].split()[11:15]]


def _resident_mb(pid: int) -> float:
    return _status_mb(pid, "VmRSS")


def _status_mb(pid: int, name: str) -> float:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) / 1024 if found else 0.0


if __name__ == "__main__":
    sys.exit(main())
