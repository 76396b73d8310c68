"""What `--help` of each command costs, beside other commands one waits for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMANDS = [
    "bench-core", "bench-report", "llm-judge", "multireal-harness",
    "waa-client", "waa-server-ext", "webarena-runner",
]  # fmt: skip
PEERS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "python -c 'import click'": [sys.executable, "-c", "import click"],
    "webarena-verified --help": ["webarena-verified", "--help"],
}
PROMISED_S = 0.2
RUNS = 5
MEGABYTE = 2**20 if sys.platform == "darwin" else 2**10  # in the unit of ru_maxrss


def main() -> int:
    """Print the table; return 1 when a command of ours breaks the promise."""
    scripts = Path(sys.executable).parent
    peer = measure([str(scripts / "webarena-verified"), "--help"])[0]
    print(f"{'':28}{'CPU s':>8}{'MB':>8}{'x peer':>8}   promised: {PROMISED_S} s of CPU, warm")
    slow = []
    for name in COMMANDS:
        seconds, megabytes = measure([str(scripts / name), "--help"])
        slow += [name] * (seconds > PROMISED_S)
        print_row(f"{name} --help", seconds, megabytes, peer)
    for name, command in PEERS.items():
        print_row(name, *measure([str(scripts / command[0]), *command[1:]]), peer)
    if slow:
        print(f"slower than promised: {', '.join(slow)}")
    return 1 if slow else 0


def print_row(name: str, seconds: float, megabytes: float, peer: float) -> None:
    """Print one line of the table."""
    print(f"{name:28}{seconds:8.3f}{megabytes:8.0f}{seconds / peer:8.2f}")


def measure(command: list[str]) -> tuple[float, float]:
    """Return the least CPU seconds and the peak memory of some runs, after one to warm up."""
    runs = [once(command) for _ in range(RUNS + 1)][1:]
    return min(seconds for seconds, _ in runs), max(megabytes for _, megabytes in runs)


def once(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory of one run."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MEGABYTE


if __name__ == "__main__":
    sys.exit(main())
