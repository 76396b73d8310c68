"""Whether any of 200,000 hostile requests to each server of Proctor's does harm, drawn by seed.

The servers run in a process of their own. None of the requests may end it, raise an error that nobody expected, go
without an end of its connection, be answered with a file from outside, or let the memory grow; after each batch an
honest request is answered.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hostile_requests import CANARY, Fuzzer, Target  # needs the path above

HERE = Path(__file__).resolve().parents[1]
BATCH = 250
MOST_GROWTH_MB = 64
RELAYED_PER_S = 400
ENOUGH = 20
"""Problems of one server after which no more of it are looked for."""


def _memory_mb(pid: int) -> float:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _tree(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(each), each.stat().st_mtime_ns) for each in folder.rglob("*"))


def main() -> int:
    """Send the requests and return the exit code: 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200_000, help="requests to each server")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", metavar="NAME", help="this server alone")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="requests-") as folder:
        return _campaign(Path(folder), asked)


def _campaign(folder: Path, asked: argparse.Namespace) -> int:
    (folder / "canary.txt").write_text(CANARY, encoding="utf-8")
    (folder / "outside").mkdir()
    (folder / "outside" / "canary.txt").write_text(CANARY, encoding="utf-8")
    (folder / "cwd").mkdir()
    problems: list[str] = []
    errors = folder / "errors.txt"
    command = [sys.executable, str(HERE / "all_servers.py")]
    with (
        errors.open("wb") as said,
        subprocess.Popen(
            command, cwd=folder / "cwd", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said
        ) as servers,
    ):
        assert servers.stdout is not None
        assert servers.stdin is not None
        told = json.loads(servers.stdout.readline() or b"[]")
        targets = [Target(**each) for each in told]
        before = [_tree(folder / each) for each in ("cwd", "outside")]
        for target in targets:
            if not asked.only or target.name in asked.only:
                problems += _fuzz(target, asked, servers)
        if not targets or servers.poll() is not None:
            problems.append(f"the servers ended with {servers.poll()}")
        if before != [_tree(folder / each) for each in ("cwd", "outside")]:
            problems.append("files have changed")
        servers.stdin.close()
        servers.wait()
    written = errors.read_text(encoding="utf-8", errors="replace")
    if written.strip():
        problems.append(f"the servers said: {written[-3000:]}")
    for each in problems[:50]:
        print(each)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def _fuzz(target: Target, asked: argparse.Namespace, servers: subprocess.Popen[bytes]) -> list[str]:
    fuzzer, began, sent = Fuzzer(target, asked.seed), time.monotonic(), 0
    settled = 0.0
    while sent < asked.times and servers.poll() is None and len(fuzzer.problems) < ENOUGH:
        count = min(BATCH, asked.times - sent)
        fuzzer.batch(count)
        sent += count
        if target.relays:
            time.sleep(max(0.0, began + sent / RELAYED_PER_S - time.monotonic()))
        # the first batches fill caches, and the arenas of so many threads
        if sent <= max(BATCH, asked.times // 5) and servers.poll() is None:
            settled = _memory_mb(servers.pid)
    now = _memory_mb(servers.pid) if servers.poll() is None else 0.0
    if now - settled > MOST_GROWTH_MB:
        fuzzer.problems.append(f"{target.name}: from {settled:.0f} to {now:.0f} MB")
    print(
        f"{target.name}: {sent:,} requests, {len(fuzzer.problems)} problems, {settled:.0f} -> {now:.0f} MB, "
        f"{time.monotonic() - began:.0f} s",
        flush=True,
    )
    return fuzzer.problems


if __name__ == "__main__":
    raise SystemExit(main())
