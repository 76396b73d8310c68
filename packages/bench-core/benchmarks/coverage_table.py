"""Write the tables of coverage and of error rates into docs/coverage-tables.md; `nox -t coverage-tables`.

    python packages/bench-core/benchmarks/coverage_table.py [TABLE...]

Without a TABLE all are made: `new-tasks`, `same-tasks`, `templates`, `alarms`, `fine`, `power`, ...
"""

from __future__ import annotations

import sys
from itertools import chain, compress, product
from pathlib import Path
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, NamedTuple

from designs import WAA_DOMAINS, consecutive, sites, sliced_cells, template_sizes, unequal_sizes
from simulations.comparisons import simulate_comparisons
from simulations.costs import COST_LAWS, simulate_costs
from simulations.drift import drift_tests, simulate_drift
from simulations.gate import (
    simulate_alarms,
    simulate_changes,
    simulate_gate,
    simulate_printed_power,
)
from simulations.looks import simulate_looks
from simulations.populations import Population, simulate_coverage, simulate_uneven_trials
from simulations.quoted import quoted
from simulations.ranks import simulate_ranks
from simulations.unequal import METHODS, Design, simulate_cells
from simulations.unlike import UNLIKE, simulate_unlike
from simulations.widths import least_widths

from bench_core.statistics import wilson
from bench_core.statistics.one_trial import critical_mid_p, mid_p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from simulations.gate import SimulatedAlarms, SimulatedGate
    from simulations.populations import SimulatedCoverage
    from simulations.unequal import Cell

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "coverage-tables.md"

REPLICATIONS, TEMPLATE_REPLICATIONS = 1_000, 2_000
ALARM_REPLICATIONS, GATE_REPLICATIONS = 2_000, 400
SEED = 20261123
"""Chosen before any table was made with it."""
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


def main(arguments: Sequence[str]) -> int:
    """Generate tables; return the exit code."""
    for name in arguments or TABLES:
        made = "".join(f"{line}\n" for line in TABLES[name]())
        page = PAGE.read_text("utf-8")
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        if begin in page:  # other tables are only printed
            PAGE.write_text(f"{before}{begin}\n{made}{end}{after}", "utf-8")
        print(f"{name}\n{made}", flush=True)
    return 0


def new_tasks() -> Iterator[str]:
    """The default interval on new tasks that stand alone."""
    yield "| tasks x trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|"
    for tasks, trials in product(TASKS, (1, 3, 5)):
        yield f"| {tasks} x {trials} | {_covered([1] * tasks, trials, 'new_tasks', 'tasks')} |"


def same_tasks() -> Iterator[str]:
    """The interval for the same tasks, run again."""
    yield "| tasks x trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|"
    for tasks, trials in product(TASKS, (2, 3, 5)):
        yield f"| {tasks} x {trials} | {_covered([1] * tasks, trials, 'same_tasks', 'tasks')} |"


def uneven_trials() -> Iterator[str]:
    """The same tasks, some of which have one trial only: as many as not, drawn or the noisiest."""
    yield "| tasks | trials of the others | rate | one trial: at random | the noisiest | only they have noise |"
    yield "|---|---|---|---|---|---|"
    for tasks, trials, rate in product((5, 12, 30, 154), (2, 3, 5), (0.1, 0.5)):
        row = [
            f"{simulate_uneven_trials(Population(rate, 0.5), tasks=tasks, trials=trials, single=single, replications=UNEVEN_REPLICATIONS, seed=SEED):.1%}"
            for single in ("drawn", "noisiest", "alone")
        ]
        yield f"| {tasks} | {trials} | {rate:.0%} | {' | '.join(row)} |"


def templates() -> Iterator[str]:
    """Macro average and task average over the real template sizes."""
    yield "| templates / tasks, average over | trials | coverage: mean | worst | at | width at 1% | at 45% |"
    yield "|---|---|---|---|---|---|---|"
    for site, average, trials in product(sites(), ("templates", "tasks"), (1, 3, 5)):
        sizes = template_sizes(site)
        about = f"{site}: {len(sizes)} / {sum(sizes)}, {average}"
        yield f"| {about} | {trials} | {_covered(sizes, trials, 'new_tasks', average)} |"


def unequal() -> Iterator[str]:
    """Clusters of unequal size: every kind of sizes, statement, rate and correlation."""
    cells = 0
    yield "| template sizes | effective clusters | statement | cells | refused | below 93% | worst coverage | at | wider than 1.3 x | width: mean |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for kind, designs in unequal_sizes(UNEQUAL_TASKS).items():
        found: dict[tuple[bool, str], list[tuple[str, Cell]]] = {}
        for sizes, rate, alike in product(designs, UNEQUAL_RATES, UNEQUAL_ALIKE):
            # templates that are alike to the same degree as trials of a task
            design = Design(sizes, Population(rate, alike, alike if max(sizes) > 1 else 0.0))
            for _, cell in simulate_cells(
                design, trials=UNEQUAL_TRIALS, replications=UNEQUAL_REPLICATIONS, seed=SEED
            ):
                about = f"{len(sizes)} / {sum(sizes)} x {cell.trials}, {rate:.0%}, ICC {alike:g}"
                many = cell.effective_clusters >= MANY_CLUSTERS
                found.setdefault((many, cell.statement), []).append((about, cell))
        for (many, statement), each in sorted(found.items()):
            cells += len(each)
            number = f"{MANY_CLUSTERS} and more" if many else "fewer"
            yield f"| {kind} | {number} | {statement} | {_unequal_row(each)} |"
    yield ""
    yield f"{cells:,} cells of {UNEQUAL_REPLICATIONS:,} draws."


def _unequal_row(cells: Sequence[tuple[str, Cell]]) -> str:
    given = [(about, cell) for about, cell in cells if cell.covered is not None]
    row = [f"{len(cells)}", f"{len(cells) - len(given)}"]
    if not given:
        return " | ".join([*row, "-", "-", "-", "-", "-"])
    where, worst = min(given, key=lambda each: each[1].covered)
    ratios = [cell.width / cell.ideal for _, cell in given]
    row += [
        f"{sum(_reaches(cell.covered) < 0.93 for _, cell in given)}",
        f"{worst.covered:.1%}",
        where,
    ]
    return " | ".join([*row, f"{sum(ratio > WIDE for ratio in ratios)}", f"{fmean(ratios):.2f} x"])


def _reaches(share: float) -> float:
    """Return the upper end of a cell's own 99.9% interval."""
    return wilson(round(share * UNEQUAL_REPLICATIONS), UNEQUAL_REPLICATIONS, level=0.999).high


def methods() -> Iterator[str]:
    """What other methods give for rates and macro averages, over the designs that are not refused."""
    yield "| method | effective clusters | cells | below 93% | worst coverage | wider than 1.3 x | width: mean |"
    yield "|---|---|---|---|---|---|---|"
    found: dict[tuple[str, bool], list[Cell]] = {}
    for designs, rate, alike in product(
        unequal_sizes((12, 30)).values(), UNEQUAL_RATES, UNEQUAL_ALIKE
    ):
        for sizes in designs[:2]:
            design = Design(sizes, Population(rate, alike, alike if max(sizes) > 1 else 0.0))
            own: dict[tuple[str, int], bool] = {}
            for method, cell in simulate_cells(
                design, trials=(1, 3), replications=METHOD_REPLICATIONS, seed=SEED, methods=METHODS
            ):
                if cell.statement in ("difference", "joint"):
                    continue
                if not method:
                    own[cell.statement, cell.trials] = cell.covered is not None
                if own[cell.statement, cell.trials]:
                    key = method or "the default", cell.effective_clusters >= MANY_CLUSTERS
                    found.setdefault(key, []).append(cell)
    for (method, many), cells in found.items():
        ratios = [cell.width / cell.ideal for cell in cells]
        number = f"{MANY_CLUSTERS} and more" if many else "fewer"
        low = sum(
            wilson(round(cell.covered * METHOD_REPLICATIONS), METHOD_REPLICATIONS, level=0.999).high
            < 0.93
            for cell in cells
        )
        yield (
            f"| {method} | {number} | {len(cells)} | {low} | {min(cell.covered for cell in cells):.1%} | "
            f"{sum(ratio > WIDE for ratio in ratios)} | {fmean(ratios):.2f} x |"
        )


def comparisons() -> Iterator[str]:
    """What `compare` finds on tasks without templates."""
    yield (
        "| tasks x trials | agent | equal: `compare` | ties whole | t | 2 standard errors: `compare` | ties whole | t | "
        "2.9: `compare` | ties whole | t |"
    )
    yield "|---|" + "---|" * 10
    least, errs = 0.0, 0.0
    for (tasks, trials), (agent, population) in product(COMPARED, COMPARED_AGENTS.items()):
        found = [
            simulate_comparisons(
                population, tasks=tasks, trials=trials, effect=effect, seed=SEED,
                replications=COMPARED_REPLICATIONS if effect else NULL_REPLICATIONS,
            )
            for effect in (0.0, 2.0, 2.9)
        ]  # fmt: skip
        errs = max(errs, found[0].now)
        least = min(least, *(each.now - each.whole_ties for each in found[1:]))
        shares = " | ".join(f"{share:.1%}" for each in found for share in each)
        yield f"| {tasks} x {trials} | {agent} | {shares} |"
    yield ""
    yield (
        f"Equal agents: {NULL_REPLICATIONS:,} pairs of runs, of which `compare` finds a difference in {errs:.1%} at most. "
        f"Others: {COMPARED_REPLICATIONS:,}; beside ties that count whole it finds {_lost(least)}."
    )


def widths() -> Iterator[str]:
    """How wide intervals have to be where they are wider than 1.3 times one that knows the correlations."""
    found: dict[tuple[str, float, float], list[Wide]] = {}
    cells = refused = 0
    for sizes, rate, alike in product(
        chain.from_iterable(unequal_sizes(UNEQUAL_TASKS).values()), UNEQUAL_RATES, UNEQUAL_ALIKE
    ):
        if len(sizes) < MANY_CLUSTERS:
            continue
        design = Design(sizes, Population(rate, alike, alike if max(sizes) > 1 else 0.0))
        wide: dict[int, list[Cell]] = {}
        for _, cell in simulate_cells(
            design, trials=UNEQUAL_TRIALS, replications=WIDTH_DRAWS, seed=SEED
        ):
            if cell.effective_clusters < MANY_CLUSTERS:
                continue
            cells += 1
            refused += cell.width is None
            if cell.width is not None and cell.width > WIDE * cell.ideal:
                wide.setdefault(cell.trials, []).append(cell)
        for trials, each in wide.items():
            levels = (0.95, 0.93, 1.0 - 0.05 / 3.0, 1.0 - 0.07 / 3.0)
            kinds = [
                "difference" if cell.statement in ("difference", "joint") else "rate"
                for cell in each
            ]
            least = least_widths(
                design, trials, of=kinds, levels=levels, draws=WIDTH_DRAWS, seed=SEED
            )
            for cell, kind in zip(each, kinds, strict=True):
                ends = least[kind]
                bounds = ends[2:] if cell.statement == "joint" else ends[:2]
                found.setdefault((cell.statement, rate, alike), []).append(
                    Wide(*(each / cell.ideal for each in (cell.width, *bounds)))
                )
    yield from wide_rows(found, cells, refused)


class Wide(NamedTuple):
    """An interval's mean width, and the least there can be for coverage of 95 and 93%, beside the ideal one's."""

    width: float
    least: float
    least_for_93: float


def wide_rows(
    found: Mapping[tuple[str, float, float], Sequence[Wide]], cells: int, refused: int
) -> Iterator[str]:
    """Yield a row for each statement, rate and correlation with cells that are too wide."""
    yield "| statement | rate | ICC | cells wider than 1.3 x | width: mean | largest | at least, for 95%: mean | largest | for 93%: mean | largest | 1.3 x is out of reach |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for (statement, rate, alike), each in sorted(found.items()):
        row = [f"{how(values):.2f} x" for values in zip(*each, strict=True) for how in (fmean, max)]
        beyond = sum(one.least > WIDE for one in each)
        yield f"| {statement} | {rate:.0%} | {alike:g} | {len(each)} | {' | '.join(row)} | {beyond} |"
    every = list(chain.from_iterable(found.values()))
    yield ""
    yield (
        f"Of {cells:,} cells with {MANY_CLUSTERS} and more effective clusters {refused:,} are refused and {len(every)} "
        f"({len(every) / cells:.1%}) wider than {WIDE} x, by {WIDTH_DRAWS} draws. In {sum(one.least > WIDE for one in every)} of "
        f"these no interval that covers 95% is as narrow as {WIDE} x, in {sum(one.least_for_93 > WIDE for one in every)} none that "
        f"covers 93%; {sum(one.width <= WIDE * one.least for one in every)} are at most {WIDE} times as wide as the bound."
    )


def unlike() -> Iterator[str]:
    """Designs that are unlike those of the other tables."""
    yield "| benchmark | truth | rate: coverage | no difference: coverage | refused |"
    yield "|---|---|---|---|---|"
    for name, design in UNLIKE.items():
        found = simulate_unlike(
            design, replications=UNEQUAL_REPLICATIONS, pairs=UNLIKE_PAIRS, seed=SEED
        )
        row = ("-" if share is None else f"{share:.1%}" for share in found)
        yield f"| {name} | {design.truth:.3g} | {' | '.join(row)} |"


def quoted_estimates() -> Iterator[str]:
    """What the page on statistics says in passing."""
    yield "| what | lowest | highest |"
    yield "|---|---|---|"
    for about, found in quoted(QUOTED_REPLICATIONS, SEED):
        lowest, highest = (
            f"{each:.1f}" if "in points" in about else f"{each:.1%}"
            for each in (min(found), max(found))
        )
        yield f"| {about} | {lowest} | {highest} |"


def _lost(least: float) -> str:
    return f"at most {-100 * least:.1f} points less" if least < 0.0 else "nowhere less"


def alarms() -> Iterator[str]:
    """False alarms of the gate: no slices, then the slices of benchmarks and many small ones."""
    cells = [*((f"{tasks}", tasks, None, ()) for tasks in TASKS), *sliced_cells()]
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
                    sizes=_template_sizes_of(agent, tasks, sizes), replications=ALARM_REPLICATIONS, seed=SEED,
                ).alarms
                for agent in AGENTS.values()
            ]  # fmt: skip
            worst = max(worst, *found)
            row.append(f"{min(found):.1%} to {max(found):.1%}")
        yield f"| {about} | {' | '.join(row)} |"
    yield ""
    yield f"The highest of all is {worst:.1%}."


def fine() -> Iterator[str]:
    """False `fine`: the truth is a drop of exactly the tolerance, 5 points."""
    yield "| tasks x trials | even: these tasks | new tasks | t | concentrated: these tasks | new tasks | t | drawn: new tasks | t |"
    yield "|---|---|---|---|---|---|---|---|---|"
    worst = 0.0
    cells = [*((f"{tasks}", tasks, None, ()) for tasks in TASKS), *sliced_cells()]
    for (about, tasks, sizes, slices), (trials, old) in product(cells, TRIALS):
        row = []
        for loss in ("even", "concentrated", "drawn"):
            found = [
                _gate(
                    agent, tasks, trials, sizes, baseline_trials=old, drop=0.05, loss=loss, slices=slices
                )
                for agent in AGENTS.values()
            ]  # fmt: skip
            new = max(each.fine_new_tasks for each in found)
            shares = [new, max(each.fine_t for each in found)]
            if loss != "drawn":
                shares.insert(0, max(each.fine for each in found))
            worst = max(worst, *shares[:-1])
            row += [f"{each:.1%}" for each in shares]
        yield f"| {about} x {trials}{_baseline_suffix(trials, old)} | {' | '.join(row)} |"
    yield ""
    number = len(cells) * len(TRIALS) * 5 * len(AGENTS)
    yield (
        f"Worst of the five populations in each cell, {GATE_REPLICATIONS} pairs of runs each; the highest false `fine` of all "
        f"is {worst:.1%}. With a true 5% in every one of the {number:,} cells, all stay below "
        f"{_band(0.05, GATE_REPLICATIONS, number):.1%} in 95 of 100 such tables."
    )


def fine_concentrated() -> Iterator[str]:
    """False `fine` where an agent of 90% never solves some tasks any more; the tolerance is just that loss."""
    yield "| tasks x trials | 3% of the tasks: these tasks | new tasks | t | 6%: these tasks | new tasks | t | 10%: these tasks | new tasks | t |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    agent = AGENTS["90%, ICC .8"]
    worst = 0.0
    for tasks, (trials, old) in product(TASKS[4:], TRIALS):
        row = []
        for share in (0.03, 0.06, 0.1):
            drop = share * agent.rate
            found = _gate(
                agent, tasks, trials, None,
                baseline_trials=old, drop=drop, tolerance=drop, loss="concentrated",
            )  # fmt: skip
            worst = max(worst, found.fine, found.fine_new_tasks)
            row += [f"{each:.1%}" for each in (found.fine, found.fine_new_tasks, found.fine_t)]
        yield f"| {tasks} x {trials}{_baseline_suffix(trials, old)} | {' | '.join(row)} |"
    yield ""
    yield f"The highest false `fine` of all is {worst:.1%}."


def power() -> Iterator[str]:
    """What the gate finds beside the one-sided paired t test, and what it prints beforehand. Needs scipy."""
    from power_bounds import t_errs

    cells = len(TASKS) * len(TRIALS) * 18
    error = NormalDist().inv_cdf(1.0 - 0.05 / cells) * (0.25 / POWER_REPLICATIONS) ** 0.5
    yield (
        f"{cells} cells of {POWER_REPLICATIONS:,} pairs of runs; by chance alone the largest deviation of a power among all "
        f"stays below {100 * error:.0f} points in 95 of 100 such tables."
    )
    yield ""
    yield (
        "| tasks x trials (before) | t errs at worst | 42%, even: gate | t | concentrated: gate | t | "
        "all five, even: gate - t | concentrated | printed - realised |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    short: dict[tuple[int, int, int, str, float], float] = {}
    errs, off, by_chance = {}, 0, 0.0
    for tasks, (trials, old) in product(TASKS, TRIALS):
        found = {
            (name, drop, loss): _alarms(agent, tasks, trials, old, drop=drop, loss=loss)
            for name, agent in AGENTS.items()
            for drop, loss in product(DROPS, ("even", "concentrated"))
            if drop < agent.rate
        }
        gaps = {
            loss: {
                key: each.alarms - each.alarms_t for key, each in found.items() if key[2] == loss
            }
            for loss in ("even", "concentrated")
        }
        printed = {
            (name, drop): _printed(AGENTS[name], tasks, trials, old, drop) - each.alarms
            for (name, drop, loss), each in found.items()
            if loss == "even"
        }
        for (name, drop, _), gap in gaps["even"].items():
            if gap < -0.05:
                short[tasks, trials, old, name, drop] = gap
        off += sum(abs(gap) > 0.03 for gap in printed.values())
        by_chance += sum(
            _beyond(0.03, each.alarms) for (*_, loss), each in found.items() if loss == "even"
        )
        even, alone = (found["42%, ICC .5", 0.1, loss] for loss in ("even", "concentrated"))
        errs[tasks, trials, old] = t_errs(tasks, trials, old, SEED)
        row = [f"{tasks} x {trials}{_baseline_suffix(trials, old)}"]
        row += [f"{errs[tasks, trials, old][0]:.1%}"]
        row += [f"{share:.1%}" for each in (even, alone) for share in each]
        row += [_spread(gaps["even"]), _spread(gaps["concentrated"])]
        row += [f"{100 * min(printed.values()):+.1f} to {100 * max(printed.values()):+.1f}"]
        yield f"| {' | '.join(row)} |"
    yield ""
    yield (
        f"More than 5 points below t: {len(short)} of {cells // 2} cells with even losses. Printed more than 3 points "
        f"off: {off} of {cells // 2}; with no true difference anywhere, chance alone would put {by_chance:.1f} there."
    )
    yield from _other_tests(short, errs)


def _other_tests(
    short: dict[tuple[int, int, int, str, float], float],
    errs: dict[tuple[int, int, int], tuple[float, float]],
) -> Iterator[str]:
    """What tests other than the gate's could find in the cells where t finds more."""
    from power_bounds import power_bounds

    yield ""
    yield (
        "In each of those cells, for tasks that stand alone: *t at 5%* is t with a larger critical value, so that it errs in 5% where it errs "
        "most; *permutation* is the best exact one within tasks, which knows the agent and the loss; *with lots* is the same where it draws "
        "lots at its boundary; *any test* is what no test exceeds that errs in at most 5% for every agent."
    )
    yield ""
    yield "| tasks x trials (before) | agent, drop | gate | t | t errs at worst | t at 5% | permutation | with lots | any test |"
    yield "|---|---|---|---|---|---|---|---|---|"
    counts = dict.fromkeys(("held", "any", "lots", "permutation", "left"), 0)
    for tasks, trials, old, name, drop in short:
        if AGENTS[name].templates_alike:
            continue
        level, needed = errs[tasks, trials, old]
        found = power_bounds(AGENTS[name], tasks, trials, old, drop, needed, SEED)
        least = found.paired_t - 0.05
        short_of = [
            found.held_t <= found.gate + 0.05,
            *(most < least for most in (found.any_test, found.with_lots, found.permutation)),
            True,
        ]
        counts[next(compress(counts, short_of))] += 1
        shares = (
            found.gate, found.paired_t, level, found.held_t, found.permutation, found.with_lots, found.any_test,
        )  # fmt: skip
        yield (
            f"| {tasks} x {trials}{_baseline_suffix(trials, old)} | {name}, {100 * drop:.0f} points | "
            f"{' | '.join(f'{each:.1%}' for each in shares)} |"
        )
    yield ""
    yield (
        f"Once t keeps to 5%, it finds at most 5 points more than the gate in {counts['held']} of these {sum(counts.values())} cells. In the "
        f"others, to come within 5 points of t is beyond every test that keeps to 5% in {counts['any']}; beyond every permutation within "
        f"tasks, lots included, in {counts['lots']} more; beyond every one that draws no lots in {counts['permutation']} more. "
        f"{counts['left']} are left."
    )


def sliced_power() -> Iterator[str]:
    """All tasks and slices together, beside t tests of all of them."""
    yield "| tasks, slices | trials | unchanged: gate | t | 5 points, even: gate | t | 10 points, even: gate | t | 10, concentrated: gate | t |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    agent = AGENTS["42%, ICC .5"]
    for about, tasks, slices in SLICED:
        for trials in (1, 3, 5):
            row = []
            for drop, loss in ((0.0, "even"), (0.05, "even"), (0.1, "even"), (0.1, "concentrated")):
                found = simulate_alarms(
                    agent, tasks=tasks, trials=trials, drop=drop, loss=loss, slices=slices,
                    replications=SLICED_REPLICATIONS, seed=SEED,
                )  # fmt: skip
                row += [f"{each:.1%}" for each in found[:2]]
            yield f"| {about} | {trials} | {' | '.join(row)} |"


def one_trial() -> Iterator[str]:
    """What any exact test can find where every task has one trial before and now. Needs scipy."""
    from one_trial_tests import best_power, coin_toss, t_finds

    yield "| tasks | agent | even: t | gate | best exact | at random | concentrated: t | gate | best exact | at random | t, worst | gate, worst |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    for tasks in (4, 7, 12, 20, 30):
        limit = critical_mid_p(tasks, 0.05)
        outcomes = [(d, w) for d in range(tasks + 1) for w in range(d + 1)]
        own = [d > 0 and mid_p(w, d) <= limit for d, w in outcomes]
        paired = [t_finds(tasks, d, w) for d, w in outcomes]
        coins = [[coin_toss(m, d, w) for d, w in outcomes] for m in range(tasks + 1)]
        errs = [max(sum(compress(row, each)) for row in coins) for each in (paired, own)]
        for name, agent in AGENTS.items():
            row = []
            for loss in ("even", "concentrated"):
                found = simulate_changes(
                    agent, tasks=tasks, drop=min(0.1, agent.rate / 2.0), loss=loss,
                    replications=20_000, seed=SEED,
                )  # fmt: skip
                seen = [found[each] / 20_000 for each in outcomes]
                row += [sum(compress(seen, each)) for each in (paired, own)]
                row += [best_power(seen, coins, outcomes, whole=whole) for whole in (True, False)]
            yield f"| {tasks} | {name} | {' | '.join(f'{each:.1%}' for each in (*row, *errs))} |"


def ranks() -> Iterator[str]:
    """Rank sets and dominance."""
    yield "| models | tasks x trials | last is worse, dearer by | all ranks covered | ranks in a set | any better model wrongly claimed | dominance wrongly claimed | last found dominated by first |"
    yield "|---|---|---|---|---|---|---|---|"
    for number, (spread, dearer), (tasks, trials) in product(
        (3, 6, 10), RANKED, ((68, 1), (154, 3))
    ):
        found = simulate_ranks(
            number, spread=spread, dearer=dearer, tasks=tasks, trials=trials,
            replications=RANK_REPLICATIONS, seed=SEED,
        )  # fmt: skip
        dominated = "-" if found.dominance_found is None else f"{found.dominance_found:.0%}"
        yield (
            f"| {number} | {tasks} x {trials} | {100 * spread:.0f} points, {dearer:.0%} | {found.covered:.1%} | {found.width:.1f} | {found.wrong_pairs:.1%} | "
            f"{found.wrong_dominance:.1%} | {dominated} |"
        )


def _alarms(
    agent: Population, tasks: int, trials: int, old: int, *, drop: float, loss: str
) -> SimulatedAlarms:
    return simulate_alarms(
        agent, tasks=tasks, trials=trials, baseline_trials=old, drop=drop, loss=loss,
        sizes=_template_sizes_of(agent, tasks, None), replications=POWER_REPLICATIONS, seed=SEED,
    )  # fmt: skip


def _printed(agent: Population, tasks: int, trials: int, old: int, drop: float) -> float:
    return simulate_printed_power(
        agent, tasks=tasks, trials=trials, baseline_trials=old, drop=drop,
        sizes=_template_sizes_of(agent, tasks, None), replications=POWER_REPLICATIONS, seed=SEED,
    )  # fmt: skip


def _beyond(most: float, rate: float) -> float:
    """Return how likely two simulated shares of one rate differ by more than `most`."""
    error = (2.0 * rate * (1.0 - rate) / POWER_REPLICATIONS) ** 0.5
    return 2.0 * NormalDist(0.0, error).cdf(-most) if error else 0.0


def _baseline_suffix(trials: int, old: int) -> str:
    return f" ({old})" if old != trials else ""


def _spread(gaps: dict[tuple[str, float, str], float]) -> str:
    least = min(gaps, key=lambda key: gaps[key])
    return f"{100 * gaps[least]:+.1f} ({least[0]}) to {100 * max(gaps.values()):+.1f}"


def _gate(
    agent: Population, tasks: int, trials: int, sizes: Sequence[int] | None, **how: object
) -> SimulatedGate:
    return simulate_gate(
        agent, tasks=tasks, trials=trials, sizes=_template_sizes_of(agent, tasks, sizes),
        replications=GATE_REPLICATIONS, seed=SEED, **how,
    )  # fmt: skip


def _template_sizes_of(
    agent: Population, tasks: int, sizes: Sequence[int] | None
) -> Sequence[int] | None:
    """Give a population with templates some: those of the benchmark, else of four tasks each."""
    if sizes is not None or not agent.templates_alike:
        return sizes
    return [4] * (tasks // 4) + ([tasks % 4] if tasks % 4 else []) if tasks > 4 else None


def _band(rate: float, replications: int, cells: int) -> float:
    """Return what the highest of so many shares stays below, with 95% confidence for all together."""
    quantile = NormalDist().inv_cdf(1.0 - 0.05 / cells)
    return rate + quantile * (rate * (1.0 - rate) / replications) ** 0.5


def _covered(sizes: list[int], trials: int, estimand: str, average: str) -> str:
    """Simulate all rates and correlations; render mean, worst and where, and two widths."""
    grouped = (0.2, 0.5) if max(sizes) > 1 else (0.0,)
    found: dict[tuple[float, float, float], SimulatedCoverage] = {
        (rate, alike, together): simulate_coverage(
            Population(rate, alike, together), sizes=sizes, trials=trials, estimand=estimand,
            average=average, replications=TEMPLATE_REPLICATIONS if max(sizes) > 1 else REPLICATIONS, seed=SEED,
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


def drifts() -> Iterator[str]:
    """Alarms of the test for a drift, without one and with two kinds."""
    yield "| tasks x trials, rate | ICC | no drift, in rounds | task by task | a shock of each trial number, .5 logit | a fall by 15 points | a rise |"
    yield "|---|---|---|---|---|---|---|"
    for (tasks, trials, rate), alike in product(DRIFT_RUNS, (0.0, 0.3, 0.5)):
        found = [
            simulate_drift(
                Population(rate, alike), tasks=tasks, trials=trials, replications=DRIFT_REPLICATIONS, seed=SEED,
                shock=shock, fall=fall, in_rounds=in_rounds,
            )
            for shock, fall, in_rounds in (
                (0.0, 0.0, True), (0.0, 0.0, False), (0.5, 0.0, True), (0.0, 0.15, True), (0.0, -0.15, True),
            )
        ]  # fmt: skip
        row = " | ".join(f"{each:.1%}" for each in found)
        yield f"| {tasks} x {trials}, {rate:.0%} | {alike:g} | {row} |"


def drift_tests_beside() -> Iterator[str]:
    """What `drift_of` and other tests find, and what any test could that knows the tasks' law and the drift."""
    yield "| ICC | drift | `drift_of` | fall alone | fall or rise | trial numbers alone | the larger of the last two | at best | at best for both alike |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for alike in DRIFT_ALIKE:
        agent, how = (
            Population(0.5, alike),
            {"tasks": 154, "replications": DRIFT_REPLICATIONS, "seed": SEED},
        )
        others = drift_tests(agent, shock=0.5, fall=0.15, **how)
        for n, (name, drift) in enumerate((("shock", {"shock": 0.5}), ("fall", {"fall": 0.15}))):
            row = [simulate_drift(agent, trials=3, **drift, **how)]
            beside = ("fall", "fall or rise", "trial numbers", "largest")
            row += [
                others[each][n]
                for each in (*beside, ("shocks", "fall")[n] + " at best", "either at best")
            ]
            yield f"| {alike:g} | {name} | {' | '.join(f'{each:.1%}' for each in row)} |"


def costs() -> Iterator[str]:
    """The interval of a mean cost, and t's, for costs with and without tails."""
    yield f"| costs | {' | '.join(f'{tasks} tasks | t' for tasks in COST_TASKS)} | refused, of all | narrowest, of the mean |"
    yield "|---|" + "---|---|" * len(COST_TASKS) + "---|---|"
    for law in COST_LAWS:
        found = [
            simulate_costs(law, tasks=tasks, replications=COST_REPLICATIONS, seed=SEED)
            for tasks in COST_TASKS
        ]
        row = [f"{share:.1%}" for each in found for share in (each.covered, each.covered_by_t)]
        row.append(f"{fmean(each.refused for each in found):.1%}")
        yield f"| {law} | {' | '.join(row)} | {min(each.narrowest for each in found):.3f} |"


COST_TASKS, COST_REPLICATIONS = (5, 12, 30, 154), 1_000
DRIFT_REPLICATIONS, DRIFT_ALIKE = 2_000, (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
DRIFT_RUNS = ((12, 3, 0.5), (30, 2, 0.5), (30, 5, 0.1), (154, 1, 0.5), (154, 2, 0.5), (154, 3, 0.5))
UNEVEN_REPLICATIONS = 2_000
UNEQUAL_REPLICATIONS, METHOD_REPLICATIONS = 4_000, 200
UNEQUAL_TASKS, UNEQUAL_TRIALS, MANY_CLUSTERS = (5, 12, 30, 63, 154, 812), (1, 2, 3, 5), 12
UNEQUAL_RATES, UNEQUAL_ALIKE = (0.02, 0.1, 0.2, 0.5, 0.8, 0.95), (0.0, 0.3, 0.6, 1.0)
UNLIKE_PAIRS, QUOTED_REPLICATIONS = 1_000, 4_000
WIDTH_DRAWS, WIDE = 400, 1.3
NULL_REPLICATIONS, COMPARED_REPLICATIONS = 20_000, 4_000
COMPARED = ((12, 3), (30, 1), (30, 2), (30, 3), (30, 5), (68, 3), (154, 1), (154, 3))
COMPARED_AGENTS = {
    "42%, ICC .5": Population(0.42, 0.5),
    "10%, ICC .5": Population(0.1, 0.5),
    "90%, ICC .8": Population(0.9, 0.8),
}
LOOK_REPLICATIONS = 2_000
LOOK_DESIGNS = (
    ("Multi-REAL, 68 x 3", [1] * 68, 3),
    ("WAA, 154 x 3", [1] * 154, 3),
    ("WebArena hard, 258 x 1", [1] * 54 + [2] * 18 + [3] * 12 + [4] * 18 + [5] * 12, 1),
    ("WebArena, 812 x 1", template_sizes("all"), 1),
)

POWER_REPLICATIONS, SLICED_REPLICATIONS, RANK_REPLICATIONS = 4_000, 3_000, 1_000
DROPS = (0.05, 0.1)
SLICED = (
    ("154, WAA's 12 domains", 154, consecutive(WAA_DOMAINS)),
    ("80, 40 slices of 2", 80, consecutive([2] * 40)),
    ("154, 77 slices of 2", 154, consecutive([2] * 77)),
)
RANKED = ((0.0, 0.0), (0.2, 0.0), (0.0, 0.3), (0.08, 0.3), (0.2, 0.3))
"""By how much the last model is worse, and dearer, than the first."""

TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "comparisons": comparisons,
    "widths": widths,
    "unlike": unlike,
    "quoted": quoted_estimates,
    "alarms": alarms,
    "fine": fine,
    "fine-concentrated": fine_concentrated,
    "power": power,
    "sliced-power": sliced_power,
    "one-trial": one_trial,
    "ranks": ranks,
    "looks": looks,
    "futility": futility,
    "costs": costs,
    "drifts": drifts,
    "drift-tests": drift_tests_beside,
    "templates": templates,
    "new-tasks": new_tasks,
    "unequal": unequal,
    "methods": methods,
    "same-tasks": same_tasks,
    "uneven-trials": uneven_trials,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
