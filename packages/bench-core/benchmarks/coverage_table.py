"""Write the tables of coverage and of error rates into docs/coverage-tables.md; `nox -s coverage_tables`.

    python packages/bench-core/benchmarks/coverage_table.py [TABLE...]

Without a TABLE all are made: `new-tasks`, `same-tasks`, `templates`, `alarms`, `fine`, `power`, ...
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING

from bench_core.statistics.gate_simulation import simulate_alarms, simulate_gate
from bench_core.statistics.look_simulation import simulate_looks
from bench_core.statistics.simulation import Population, simulate_coverage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench_core.statistics.simulation import SimulatedCoverage

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "coverage-tables.md"
SIZES = ROOT / "packages/bench-core/tests/statistics/data/webarena_template_sizes.json"

REPLICATIONS, ALARM_REPLICATIONS, GATE_REPLICATIONS = 1_000, 2_000, 800
SEED = 1
RATES = (0.01, 0.03, 0.1, 0.2, 0.45, 0.8, 0.97)
ALIKE = (0.25, 0.62, 0.9)
TASKS = (2, 4, 7, 12, 30, 68, 154, 258, 812)
TRIALS = ((1, 1), (3, 3), (5, 5), (5, 3), (3, 1))
AGENTS = {
    "42%, ICC .5": Population(0.42, 0.5),
    "42%, ICC .8": Population(0.42, 0.8),
    "10%, ICC .5": Population(0.1, 0.5),
    "90%, ICC .8": Population(0.9, 0.8),
    "42%, templates .3": Population(0.42, 0.5, 0.3),
}
WAA_DOMAINS = (24, 19, 19, 5, 4, 3, 3, 21, 24, 17, 13, 2)
"""Tasks of WAA's twelve domains, 154 in all."""


def main(arguments: Sequence[str]) -> int:
    """Generate tables; return the exit code."""
    for name in arguments or TABLES:
        page = PAGE.read_text("utf-8")
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        made = "".join(f"{line}\n" for line in TABLES[name]())
        PAGE.write_text(f"{before}{begin}\n{made}{end}{after}", "utf-8")
        print(f"{name}\n{made}", flush=True)
    return 0


def new_tasks() -> Iterator[str]:
    """The default interval on new tasks that stand alone."""
    yield "| tasks x trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|"
    for tasks, trials in product((7, 30, 68, 154, 812), (1, 3, 5)):
        yield f"| {tasks} x {trials} | {_covered([1] * tasks, trials, 'new_tasks', 'tasks')} |"


def same_tasks() -> Iterator[str]:
    """The interval for the same tasks, run again."""
    yield "| tasks x trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|"
    for tasks, trials in product((7, 30, 68, 154, 812), (3, 5)):
        yield f"| {tasks} x {trials} | {_covered([1] * tasks, trials, 'same_tasks', 'tasks')} |"


def templates() -> Iterator[str]:
    """Macro average and task average over the real template sizes."""
    yield "| templates / tasks, average over | trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|---|"
    for site, average, trials in product(_sites(), ("templates", "tasks"), (1, 3)):
        sizes = _template_sizes(site)
        about = f"{site}: {len(sizes)} / {sum(sizes)}, {average}"
        yield f"| {about} | {trials} | {_covered(sizes, trials, 'new_tasks', average)} |"


def alarms() -> Iterator[str]:
    """False alarms of the gate: no slices, then the slices of benchmarks and many small ones."""
    cells = [(f"{tasks}", tasks, None, ()) for tasks in TASKS]
    cells += [
        ("154, WAA's 12 domains", 154, None, _consecutive(WAA_DOMAINS)),
        ("812, WebArena's 6 sites", 812, _template_sizes("all"), _consecutive(_site_tasks())),
        ("80, 40 slices of 2", 80, None, _consecutive([2] * 40)),
        ("154, 77 slices of 2", 154, None, _consecutive([2] * 77)),
        ("153, 51 slices of 3", 153, None, _consecutive([3] * 51)),
    ]
    number = len(cells) * len(TRIALS) * len(AGENTS)
    most = _band(0.05, ALARM_REPLICATIONS, number)
    yield (
        f"{number} cells of {ALARM_REPLICATIONS:,} pairs of runs; with a true 5% in every cell, all stay below "
        f"{most:.1%} in 95 of 100 such tables."
    )
    yield ""
    yield f"| tasks | {' | '.join(f'{new} / {old} trials' for new, old in TRIALS)} |"
    yield "|---|" + "---|" * len(TRIALS)
    worst = 0.0
    for about, tasks, sizes, slices in cells:
        row = []
        for new, old in TRIALS:
            found = [
                simulate_alarms(
                    agent, tasks=tasks, trials=new, baseline_trials=old, slices=slices,
                    sizes=_homes(agent, tasks, sizes), replications=ALARM_REPLICATIONS, seed=SEED,
                )
                for agent in AGENTS.values()
            ]  # fmt: skip
            worst = max(worst, *found)
            row.append(f"{min(found):.1%} to {max(found):.1%}")
        yield f"| {about} | {' | '.join(row)} |"
    yield ""
    yield f"The highest of all is {worst:.1%}."


def fine() -> Iterator[str]:
    """False `fine`: the truth is a drop of exactly the tolerance, 5 points."""
    yield "| tasks x trials | even: these tasks | new tasks | t | concentrated: these tasks | new tasks | t |"
    yield "|---|---|---|---|---|---|---|"
    worst = 0.0
    for tasks, trials in product((20, 30, 68, 154), (1, 3, 5)):
        row = []
        for loss in ("even", "concentrated"):
            found = [_gate(agent, tasks, trials, drop=0.05, loss=loss) for agent in AGENTS.values()]
            same = max(each.fine for each in found)
            worst = max(worst, same)
            row += [
                f"{same:.1%}",
                f"{max(each.fine_new_tasks for each in found):.1%}",
                f"{max(each.fine_t for each in found):.1%}",
            ]
        yield f"| {tasks} x {trials} | {' | '.join(row)} |"
    yield ""
    yield f"Worst of the five populations in each cell; the highest `fine` for these tasks of all is {worst:.1%}."


def power() -> Iterator[str]:
    """What the gate finds beside the one-sided paired t test, and what it prints beforehand."""
    yield "| tasks x trials | drop | even: gate | t | printed | concentrated: gate | t | unchanged called fine: these | new |"
    yield "|---|---|---|---|---|---|---|---|---|"
    agent = AGENTS["42%, ICC .5"]
    for tasks, trials in product((12, 30, 68, 154, 258, 812), (1, 3)):
        for drop in (0.05, 0.1):
            even = _gate(agent, tasks, trials, drop=drop)
            alone = _gate(agent, tasks, trials, drop=drop, loss="concentrated")
            same = _gate(agent, tasks, trials, tolerance=drop)
            yield (
                f"| {tasks} x {trials} | {100 * drop:.0f} | {even.alarms:.1%} | {even.alarms_t:.1%} | "
                f"{same.power:.1%} | {alone.alarms:.1%} | {alone.alarms_t:.1%} | {same.fine:.0%} | "
                f"{same.fine_new_tasks:.0%} |"
            )


def _gate(agent: Population, tasks: int, trials: int, **how: object) -> object:
    homes = _homes(agent, tasks, None)
    return simulate_gate(
        agent,
        tasks=tasks,
        trials=trials,
        sizes=homes,
        replications=GATE_REPLICATIONS,
        seed=SEED,
        **how,
    )


def _homes(agent: Population, tasks: int, sizes: Sequence[int] | None) -> Sequence[int] | None:
    """Give a population with templates some: those of the benchmark, else of four tasks each."""
    if sizes is not None or not agent.templates_alike:
        return sizes
    return [4] * (tasks // 4) + ([tasks % 4] if tasks % 4 else []) if tasks > 4 else None


def _band(rate: float, replications: int, cells: int) -> float:
    """Return what the highest of so many shares stays below, with 95% confidence for all together."""
    quantile = NormalDist().inv_cdf(1.0 - 0.05 / cells)
    return rate + quantile * (rate * (1.0 - rate) / replications) ** 0.5


def _consecutive(sizes: Sequence[int]) -> list[range]:
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _site_tasks() -> list[int]:
    """Tasks of WebArena's sites in proportion, 812 in all: a task of two sites counts for one here."""
    return [187, 177, 169, 119, 118, 42]


def _sites() -> list[str]:
    return [name for name in json.loads(SIZES.read_text("utf-8")) if name != "about"]


def _template_sizes(site: str) -> list[int]:
    counts = json.loads(SIZES.read_text("utf-8"))[site]
    return [int(size) for size, count in counts.items() for _ in range(count)]


def _covered(sizes: list[int], trials: int, estimand: str, average: str) -> str:
    """Simulate all rates and correlations; render mean, worst and where, and two widths."""
    grouped = (0.2, 0.5) if max(sizes) > 1 else (0.0,)
    found: dict[tuple[float, float, float], SimulatedCoverage] = {
        (rate, alike, together): simulate_coverage(
            Population(rate, alike, together), sizes=sizes, trials=trials, estimand=estimand,
            average=average, replications=REPLICATIONS, seed=SEED,
        )
        for rate, alike, together in product(RATES, ALIKE, grouped)
    }  # fmt: skip
    covered = {key: each.covered for key, each in found.items()}
    worst = min(covered, key=lambda key: covered[key])
    widths = [
        sum(each.width for (rate, *_), each in found.items() if rate == wanted)
        / sum(rate == wanted for rate, *_ in found)
        for wanted in (RATES[0], 0.45)
    ]
    where = f"{worst[0]:.0%}, ICC {worst[1]:g}" + (f", {worst[2]:g}" if worst[2] else "")
    return (
        f"{sum(covered.values()) / len(covered):.1%} | {covered[worst]:.1%} | {where} | "
        f"{widths[0]:.3f} | {widths[1]:.3f}"
    )


def looks() -> Iterator[str]:
    """Looking early: two-sided at 5%, clusters in random order, by several methods."""
    yield "| design | method | level | power, share at 1 x detectable | at 1.5 x | at 2 x | intervals cover | overshoot at 1 x |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, sizes, trials in LOOK_DESIGNS:
        found = {
            times: simulate_looks(
                Population(0.42, 0.5, 0.3 if max(sizes) > 1 else 0.0), sizes=sizes, trials=trials,
                times=times, replications=LOOK_REPLICATIONS, seed=SEED,
            )
            for times in (0.0, 1.0, 1.5, 2.0)
        }  # fmt: skip
        for method in found[0.0]:
            row = [f"{found[0.0][method].found:.1%}"]
            row += [
                f"{found[t][method].found:.0%}, {found[t][method].share:.2f}"
                for t in (1.0, 1.5, 2.0)
            ]
            covered = [found[t][method].covered for t in found]
            row += ["-" if covered[0] is None else f"{min(covered):.1%}"]
            row += [f"{100 * found[1.0][method].overshoot:+.1f}"]
            yield f"| {name} | {method} | {' | '.join(row)} |"


def futility() -> Iterator[str]:
    """The one-sided look with futility: an unchanged agent, and the planned drop."""
    yield "| design | unchanged: alarms | share of trials | power at the planned drop | share |"
    yield "|---|---|---|---|---|"
    for name, sizes, trials in LOOK_DESIGNS:
        same, drop = (
            simulate_looks(
                Population(0.42, 0.5, 0.3 if max(sizes) > 1 else 0.0), sizes=sizes, trials=trials,
                times=times, one_sided=True, replications=LOOK_REPLICATIONS, seed=SEED,
            )["O'Brien-Fleming, 5 looks"]
            for times in (0.0, 1.0)
        )  # fmt: skip
        yield f"| {name} | {same.found:.1%} | {same.share:.2f} | {drop.found:.0%} | {drop.share:.2f} |"


LOOK_REPLICATIONS = 2_000
LOOK_DESIGNS = (
    ("Multi-REAL, 68 x 3", [1] * 68, 3),
    ("WAA, 154 x 3", [1] * 154, 3),
    ("WebArena hard, 258 x 1", [1] * 54 + [2] * 18 + [3] * 12 + [4] * 18 + [5] * 12, 1),
    ("WebArena, 812 x 1", _template_sizes("all"), 1),
)

TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "alarms": alarms,
    "fine": fine,
    "power": power,
    "looks": looks,
    "futility": futility,
    "templates": templates,
    "new-tasks": new_tasks,
    "same-tasks": same_tasks,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
