"""How often intervals of corrected rates and comparisons of two agents are right, over many draws by seed.

What `nox -t coverage-tables` does not simulate: it works on arrays, and these run one benchmark at a time. In CI
tests draw a few of each.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from bench_core.errors import NotEstimableError
from bench_core.statistics import compare, corrected_rate


class Law(NamedTuple):
    """A share of draws, and where it has to lie."""

    name: str
    share: float
    least: float
    most: float = 1.0


def corrections(times: int, seed: int) -> list[Law]:
    """Intervals of rates that a judge with errors decided, 20 of 68 cases known: how often they hold the truth."""
    generator = np.random.default_rng(seed)
    laws = []
    for rate, sensitivity, specificity in ((0.4, 0.85, 0.9), (0.1, 0.9, 0.95)):
        held = np.zeros(2)
        for _ in range(times):
            truth = generator.random(68) < rate
            chances = np.where(truth, sensitivity, 1.0 - specificity)
            judged = dict(enumerate((generator.random(68) < chances).tolist()))
            found = corrected_rate(judged, dict(enumerate(truth[:20].tolist())))
            held += rate in found.new_tasks, float(truth.mean()) in found.these_results
        about = f"corrected, rate {rate:.0%}, judge {sensitivity:.0%} / {specificity:.0%}"
        laws += [
            Law(f"{about}: new tasks", held[0] / times, 0.92),
            Law(f"{about}: these results", held[1] / times, 0.94),
        ]
    return laws


def comparisons(times: int, seed: int) -> list[Law]:
    """Findings of `compare` on 154 tasks: false ones without an effect, true ones at 6.4 points.

    Clipping at 0 and 1 takes a shift of 7.55 points down to the 6.4 that are meant.
    """
    generator = np.random.default_rng(seed)
    shape = 1.0 / 0.485 - 1.0
    laws = []
    for trials, effect, least, most in (
        (1, 0.0, 0.02, 0.065), (3, 0.0, 0.03, 0.065), (1, 0.0755, 0.23, 0.37), (3, 0.0755, 0.58, 0.74),
    ):  # fmt: skip
        found = 0
        for _ in range(times):
            base = generator.beta(0.42 * shape, 0.58 * shape, (1, 154))
            noise = generator.normal(0.0, 0.148 / 2**0.5, (2, 154))
            chances = (base + noise + [[effect], [0.0]]).clip(0.0, 1.0)
            outcomes = (generator.random((2, 154, trials)) < chances[:, :, None]).astype(float)
            new, old = (dict(enumerate(table.tolist())) for table in outcomes)
            found += compare(new, old).p_value < 0.05
        laws.append(Law(f"compared, 154 x {trials}, +{effect}", found / times, least, most))
    return laws


def agreements(times: int, seed: int) -> list[Law]:
    """Whether intervals leave out zero exactly if the p-values beside them are small, alone and together."""
    generator = np.random.default_rng(seed)
    agreed = compared = refused = 0
    while compared < times:
        tasks = int(generator.integers(3, 60))
        chances = generator.beta(0.7, 0.7, (1, tasks)) * [[1.0], [generator.uniform(0.3, 1.0)]]
        parts = int(generator.choice([1, 1, 4]))  # outcomes, or scores in quarters
        numbers = generator.integers(1, 4, (2, tasks))  # trials of each run and task
        if generator.random() < 0.7:
            numbers[:] = numbers[0, 0]
        new, old = (
            {
                task: (generator.binomial(parts, chance, number) / parts).tolist()
                for task, (chance, number) in enumerate(zip(*side, strict=True))
            }
            for side in zip(chances, numbers, strict=True)
        )
        homes = generator.integers(0, max(1, tasks // 2), tasks) ** int(generator.integers(0, 3))
        clusters = dict(enumerate(homes.tolist())) if generator.random() < 0.5 else None
        together = int(generator.integers(1, 20))
        try:
            found = compare(new, old, clusters=clusters, together=together)
        except NotEstimableError:
            refused += 1
            continue
        compared += 1
        agreed += (0.0 not in found.difference) == (found.p_value < 0.05) and (
            0.0 not in found.joint
        ) == (found.p_adjusted < 0.05)
    about = f"intervals that agree with their p-values, of {compared:,} ({refused:,} more refused)"
    return [Law(about, agreed / compared, 1.0)]


def main() -> int:
    """Run the campaign and return the exit code: 1 where a share lies elsewhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--times", type=int, default=2_000, help="the bounds are for 600 draws and more"
    )
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    laws = [
        *corrections(asked.times, asked.seed),
        *comparisons(asked.times, asked.seed),
        *agreements(10 * asked.times, asked.seed),
    ]
    for law in laws:
        kept = law.least <= law.share <= law.most
        print(f"{'ok  ' if kept else 'MISS'} {law.name}: {law.share:.1%}", flush=True)
    return 0 if all(law.least <= law.share <= law.most for law in laws) else 1


if __name__ == "__main__":
    raise SystemExit(main())
