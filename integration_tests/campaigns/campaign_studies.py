"""Whether studies keep what they promise: a fair order, looks that hold their error, and any kill survived.

1,000 simulated studies under a drift of 15 points in each order; 200 with a difference of 25 points and 200 without
one; and a study of four arms, on toy trials and on all three built-in worlds, each killed -9 at 40 random moments,
which must end as the undisturbed one did and spend no more than its limit and one call for each worker.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[2] / "packages" / "bench-core" / "tests" / "helpers"
sys.path.insert(0, str(TESTS))

from simulated_studies import alarms, finds, promised  # type: ignore[import-not-found]  # noqa: E402  # needs the path above

from bench_core.run_folder import check_run, read_run  # noqa: E402  # same
from bench_core.runs import spent_before  # noqa: E402  # same
from bench_core.studies import verify_study  # noqa: E402  # same

_WORKERS = 3
# so many attempts that no trial is given up: what ends their processes is this campaign
_TOYS = """\
name: toys
benchmarks:
  one: {benchmark: "toy_study:Coins", options: {attempts: 999}}
  two: {benchmark: "toy_study:Coins", options: {attempts: 999}}
arms:
  a: {agent: scripted, model: "toy:cheap", options: {rate: 0.9}}
  b: {agent: scripted, model: "toy:cheap", options: {rate: 0.6}}
  c: {agent: scripted, model: "toy:cheap", options: {rate: 0.4}}
  d: {agent: scripted, model: "toy:cheap", options: {rate: 0.1}}
trials: 2
workers: 3
seed: 7
"""

WORLDS = Path(__file__).resolve().parents[2] / "examples" / "built-in-worlds.yaml"
"""Four arms on the built-in worlds of all three benchmarks."""


def simulated(studies: int, seed: int) -> int:
    """Print how often each order raises an alarm and how often differences are found; return broken promises."""
    broken = 0
    for order, least, most in (
        ("sequential", 0.3, 1.0),
        ("study", 0.0, 0.06),
        ("parts", 0.0, 0.06),
    ):
        rate = sum(alarms(order, seed + n) for n in range(studies)) / studies
        print(f"drift of 15 points, {order}: {rate:.1%} of {studies} alarm", flush=True)
        broken += not least <= rate <= most
    fewer = max(1, studies // 5)
    power = promised(0.25)
    found = sum(finds(0.25, seed + n) for n in range(fewer)) / fewer
    false = sum(finds(0.0, seed + n) for n in range(fewer)) / fewer
    print(f"25 points: {found:.1%} of {fewer} found, {power:.1%} promised; none: {false:.1%} found")
    return broken + int(found < 0.95 * power) + int(false > 0.06)


def killed(text: str, kills: int, seed: int) -> int:
    """Kill studies at random moments until so many kills met one that ran; return how many ended otherwise."""
    draw = random.Random(seed)  # seeded on purpose
    broken = done = 0
    with tempfile.TemporaryDirectory(prefix="studies-") as scratch:
        file = Path(scratch) / "study.yaml"
        file.write_text(text, encoding="utf-8")
        whole = _run(file, Path(scratch) / "whole") or 0.0
        undisturbed = scores_of(Path(scratch) / "whole")
        while done < kills:
            out = Path(scratch) / f"killed-{done}"
            for _ in range(10):
                if _run(file, out, kill_after=draw.uniform(0.3, max(0.6, whole))) is None:
                    done += 1
                    continue
                break
            _run(file, out)
            found = scores_of(out)
            same = found == undisturbed
            problems = [*verify_study(out).problems]
            problems += [p for run in _runs(out) for p in check_run(run).problems]
            print(
                f"{done} kills, seed {seed}: {'equal' if same else 'DIFFERS'} {problems}",
                flush=True,
            )
            for key in sorted(undisturbed.keys() | found.keys()):
                if found.get(key) != undisturbed.get(key):
                    print(
                        f"  {'/'.join(map(str, key))}: {undisturbed.get(key)}, now {_told(out, key)}"
                    )
            broken += not same or bool(problems)
        if text == _TOYS:
            broken += _over_the_limit(file, Path(scratch) / "limited", draw)
    return broken


def _over_the_limit(file: Path, out: Path, draw: random.Random) -> int:
    """Kill a study that has a limit of 40 dollars some times; return 1 if it spent too much."""
    file.write_text(f"{_TOYS}limits: {{max_cost: 40}}\n", encoding="utf-8")
    for _ in range(5):
        _run(file, out, kill_after=draw.uniform(0.8, 3.0))
    _run(file, out)
    spent = sum(spent_before(read_run(run)).cost_usd for run in _runs(out))
    print(f"limit of $40, {_WORKERS} workers: ${spent:.2f} spent")
    return int(not 40 <= spent <= 40 + _WORKERS)


def scores_of(out: Path) -> dict[tuple[str, str, str, int], float | None]:
    """Return the scores of all trials of a study."""
    return {
        (run.parent.name, run.name, each.task_id, each.trial): each.score
        for run in _runs(out)
        for each in read_run(run).results.values()
    }


def _told(out: Path, key: tuple[str, str, str, int]) -> str:
    """Return what became of a trial, in words."""
    benchmark, arm, task, trial = key
    results = read_run(out / "runs" / benchmark / arm).results.values()
    found = [each for each in results if (each.task_id, each.trial) == (task, trial)]
    return "; ".join(f"{each.score}, {each.status}, {each.error}" for each in found) or "absent"


def _runs(out: Path) -> list[Path]:
    return [each.parent for each in sorted((out / "runs").glob("*/*/run.json"))]


def _run(file: Path, out: Path, *, kill_after: float | None = None) -> float | None:
    """Run a study and return how long it took, or None if it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS), "TOY_SECONDS": "0.02", "TOY_TASKS": "8"}
    program = "from bench_core.cli.main import main; main()"
    command = [sys.executable, "-c", program, "study", "run", str(file), "--out", str(out)]
    began = time.monotonic()
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(kill_after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
    return time.monotonic() - began


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument(
        "--world-kills", type=int, default=40, help="of a study on all built-in worlds"
    )
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    broken = simulated(asked.studies, asked.seed) if asked.studies else 0
    broken += killed(_TOYS, asked.kills, asked.seed) if asked.kills else 0
    broken += (
        killed(
            WORLDS.read_text("utf-8").replace("limit: 2}}", "limit: 2}, options: {attempts: 999}}"),
            asked.world_kills,
            asked.seed,
        )
        if asked.world_kills
        else 0
    )
    print(f"{broken} promises broken, seed {asked.seed}")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
