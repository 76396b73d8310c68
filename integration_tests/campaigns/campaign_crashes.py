"""Whether sixty trials with every kind of killer among them come to an honest end by one command alone.

Killers end an agent's own process, or that of the run; the same command is run until it has nothing
left to do. Then every honest trial has been scored exactly once, every killer has its cause, and the
run counts as much money as a ledger that its agents kept.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crashing  # needs the path above

from bench_core import exit_codes  # same
from bench_core.run_folder import check_run, read_run  # same
from bench_core.runs import spent_before  # same

SESSIONS = 200
"""More sessions than this are a run that never ends."""


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--killers", type=int, default=40)
    parser.add_argument("--honest", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        broken = list(campaign(Path(place), asked))
    for each in broken:
        print(f"broken: {each}")
    return 1 if broken else 0


def campaign(place: Path, asked: argparse.Namespace) -> list[str]:
    """Run until nothing is left and return what is not as it should be."""
    folder, ledger = place / "run", place / "ledger"
    ledger.touch()
    command = [sys.executable, crashing.__file__, str(folder), "--killers", str(asked.killers),
               "--honest", str(asked.honest), "--seed", str(asked.seed), "--workers", str(asked.workers)]  # fmt: skip
    environment = os.environ | {crashing.LEDGER: str(ledger)}
    codes: list[int] = []
    while not codes or codes[-1] not in {exit_codes.OK, exit_codes.FELL_SHORT}:
        if len(codes) == SESSIONS:
            return [f"not at an end after {SESSIONS} sessions: {Counter(codes)}"]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        codes.append(ended.returncode)
        if ended.returncode == exit_codes.CRASHED or "Traceback" in ended.stderr:
            return [f"a fault of ours: {ended.stderr[-2000:]}"]
    found = [*_folder_faults(folder), *_trial_faults(folder), *_money_faults(folder, ledger)]
    view = read_run(folder)
    print(
        f"{len(view.results)} trials, {asked.killers} killers, seed {asked.seed}: {len(codes)} sessions that "
        f"ended with {dict(sorted(Counter(codes).items()))}; {len(found)} promises broken"
    )
    return found


def _folder_faults(folder: Path) -> list[str]:
    return [f"check: {problem}" for problem in check_run(folder).problems]


def _trial_faults(folder: Path) -> list[str]:
    view = read_run(folder)
    found = [f"{key.task_id} has no result" for key in view.remaining() if key not in view.results]
    written = Counter(each.task_id for each in view.latest if each.score is not None)
    for key, result in view.results.items():
        where, deed, *_ = key.task_id.split(".")
        if where == crashing.HONEST:
            if (result.score, written[key.task_id]) != (1.0, 1):
                found.append(f"{key.task_id}: {result.status.value}, score {result.score}")
        elif result.error is None and result.status.value != "time_limit":
            found.append(f"{key.task_id}: {result.status.value} without a cause")
        elif where == crashing.AS_AGENT and result.score != 0.0:
            found.append(f"{key.task_id}: an agent that died got {result.score}")
        elif where == crashing.AS_BENCHMARK and result.score is not None:
            found.append(f"{key.task_id}: a benchmark that {deed} gave {result.score}")
    ended = Counter(each.task_id for each in crashing.acknowledged(folder) if each.scored)
    found += [f"{task_id} was finished {n} times" for task_id, n in ended.items() if n > 1]
    return found


def _money_faults(folder: Path, ledger: Path) -> list[str]:
    paid = len(ledger.read_bytes().splitlines()) * crashing.CALL_USD
    counted = spent_before(read_run(folder)).cost_usd
    return [] if counted == paid else [f"${counted} counted, ${paid} in the ledger"]


if __name__ == "__main__":
    raise SystemExit(main())
