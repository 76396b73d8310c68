"""Whether any of 300 sequences of faults leaves a machine behind, or takes one from a live owner.

Drivers are killed before, during and after creates and removals, answers get lost, leases run out, two
reapers work at once, names are others', lists lag. The machines are processes; in CI tests play 20.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from test_support.machines import FaultyBackend, faulty_sequence

from bench_core.providers import ProcessBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

_SLEEP = "3600"


def main() -> int:
    """Run the campaign and return the exit code: 1 where anything is wrong at the end of a sequence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.monotonic()
    wrong = 0
    faults: Counter[str] = Counter()
    for seed in range(asked.seed, asked.seed + asked.times):
        with tempfile.TemporaryDirectory(prefix="machines-") as folder:
            found = asyncio.run(_play(seed, Path(folder), faults))
        for line in found:
            print(f"seed {seed}: {line}")
        wrong += bool(found)
    print(
        f"{asked.times} sequences from seed {asked.seed}: {wrong} wrong, "
        f"{sum(faults.values())} faults {dict(sorted(faults.items()))}, "
        f"{time.monotonic() - began:.0f} s"
    )
    return 1 if wrong else 0


async def _play(seed: int, folder: Path, faults: Counter[str]) -> list[str]:
    machines = folder / "machines"

    def partly(name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]) -> None:
        del labels, spec
        (machines / name).mkdir(parents=True)

    chance = random.Random(seed)  # not cryptography
    backend = FaultyBackend(ProcessBackend(machines), chance, create_partly=partly)
    spec: dict[str, JsonValue] = {"command": ["/bin/sleep", _SLEEP]}
    wrong = await faulty_sequence(seed, backend, spec, folder / "books")
    faults.update(backend.drawn)
    return [*wrong, *(f"folder left: {each.name}" for each in machines.glob("*"))]


if __name__ == "__main__":
    raise SystemExit(main())
