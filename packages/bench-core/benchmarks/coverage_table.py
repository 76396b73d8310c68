"""Write the tables of coverage and of the gate's errors into docs/statistics.md.

    python packages/bench-core/benchmarks/coverage_table.py [--check]

`--check` writes nothing and exits with 1 when the page does not hold the table of these seeds.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.statistics.simulation import Population, simulate_coverage, simulate_gate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.statistics.simulation import SimulatedCoverage, SimulatedGate

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "statistics.md"
SIZES = ROOT / "packages/bench-core/tests/statistics/data/webarena_template_sizes.json"
BEGIN, END = "<!-- coverage table: begin -->", "<!-- coverage table: end -->"

REPLICATIONS = 1_000
SEED = 1
POPULATIONS = [Population(rate, alike) for rate, alike in product((0.2, 0.45), (0.25, 0.62))]
TEMPLATED = [Population(rate, 0.3, alike) for rate, alike in product((0.15, 0.45), (0.2, 0.5))]


def main(arguments: Sequence[str]) -> int:
    """Generate the table; return the exit code."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page = f"{before}{BEGIN}\n{''.join(table())}{END}{after}"
    if "--check" in arguments:
        return int(page != PAGE.read_text("utf-8"))
    PAGE.write_text(page, "utf-8")
    return 0


def table() -> Iterator[str]:
    """Yield the lines of the tables."""
    yield "| tasks x trials | new tasks: mean (worst) | width | same tasks: mean (worst) | width |\n"
    yield "|---|---|---|---|---|\n"
    for tasks, trials in product((7, 30, 68, 154, 812), (1, 3, 5)):
        sizes = [1] * tasks
        new = [run(each, sizes, trials) for each in POPULATIONS]
        same = [
            run(each, sizes, trials, estimand="same_tasks") for each in POPULATIONS * (trials > 1)
        ]
        yield f"| {tasks} x {trials} | {cell(new)} | {cell(same)} |\n"
    yield "\n| templates / tasks | trials | macro average: mean (worst) | width |\n|---|---|---|---|\n"
    for site, counts in json.loads(SIZES.read_text("utf-8")).items():
        if site == "about":
            continue
        sizes = [int(size) for size, count in counts.items() for _ in range(count)]
        for trials in (1, 3):
            macro = [run(each, sizes, trials, average="templates") for each in TEMPLATED]
            yield f"| {site}: {len(sizes)} / {sum(sizes)} | {trials} | {cell(macro)} |\n"
    yield "\n| tasks x trials | gate: false alarms | finds a drop of 10.6 points |\n|---|---|---|\n"
    for tasks, trials in product((7, 30, 68, 154, 812), (1, 3)):
        alarms = gate_run(tasks, trials, 0.0).regression
        power = gate_run(tasks, trials, 0.106).regression
        yield f"| {tasks} x {trials} | {alarms:.1%} | {power:.0%} |\n"


def run(
    population: Population, sizes: list[int], trials: int, **question: str
) -> SimulatedCoverage:
    """Simulate one population with the seed of the page."""
    return simulate_coverage(
        population, sizes=sizes, trials=trials, replications=REPLICATIONS, seed=SEED, **question
    )


def gate_run(tasks: int, trials: int, drop: float) -> SimulatedGate:
    """Simulate the gate on pairs of runs."""
    return simulate_gate(
        Population(0.42, 0.485),
        tasks=tasks,
        trials=trials,
        drop=drop,
        replications=REPLICATIONS,
        seed=SEED,
    )


def cell(found: Sequence[SimulatedCoverage]) -> str:
    """Render mean and worst coverage and the mean width."""
    if not found:
        return "refused | -"
    covered = [each.covered for each in found]
    width = sum(each.width for each in found) / len(found)
    return f"{100 * sum(covered) / len(covered):.1f}% ({100 * min(covered):.1f}%) | {width:.3f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
