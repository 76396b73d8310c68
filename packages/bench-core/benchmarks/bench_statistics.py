"""Measure the statistics beside `scipy.stats.bootstrap`, as ratios within one run.

    python packages/bench-core/benchmarks/bench_statistics.py [--check]

Prints one line per case: CPU milliseconds here, there, and the ratio. With `--check` exits with 1 when
a ratio or a time misses its bound. Each figure is the least of several alternating runs. Needs scipy.
"""

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bench_core.records import Task, TrialResult, Usage
from bench_core.statistics import (
    bootstrap_macro_average,
    compare,
    gate,
    leaderboard,
    summarise,
)
from bench_core.statistics.dirichlet import remembered_limit
from bench_core.statistics.scores import task_successes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DRAWS = 10_000
SITES = ("gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia")
TASKS, TEMPLATES = 812, 190


class Case(NamedTuple):
    """Something to measure: the peer, if any, the least ratio or the most seconds."""

    name: str
    run: Callable[[], object]
    peer: Callable[[], object] | None = None
    least_ratio: float | None = None
    most_seconds: float | None = None
    rounds: int = 9


def main(arguments: Sequence[str]) -> int:
    """Measure every case; return the exit code."""
    kept = True
    for case in cases():
        seconds, peer = measure(case)
        ratio = peer / seconds if peer else None
        good = (case.least_ratio is None or (ratio or 0.0) >= case.least_ratio) and (
            case.most_seconds is None or seconds <= case.most_seconds
        )
        kept = kept and good
        beside = f"{1000 * peer:9.1f} ms there  {ratio:5.1f}x" if peer and ratio else ""
        print(f"{'ok  ' if good else 'MISS'} {case.name:58} {1000 * seconds:8.1f} ms {beside}")
    return 0 if kept or "--check" not in arguments else 1


def measure(case: Case) -> tuple[float, float | None]:
    """Return the least CPU seconds of the case and of its peer, run in turns."""
    own, other = [], []
    for _ in range(case.rounds):
        own.append(cpu(case.run))
        if case.peer:
            other.append(cpu(case.peer))
    return min(own), min(other) if other else None


def cpu(run: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def cases() -> list[Case]:
    """Return the cases: 812 tasks of 190 templates with 3 trials, by 3 models."""
    tasks = plan()
    models = {name: results(tasks, name) for name in ("a", "b", "c")}
    templates = {task.task_id: task.template or "" for task in tasks}
    scores = task_successes(models["a"])
    values = np.array([np.mean(trials) for trials in scores.values()])
    members: dict[str, list[float]] = {}
    for task_id, trials in scores.items():
        members.setdefault(templates[task_id], []).append(float(np.mean(trials)))
    means = np.array([np.mean(each) for each in members.values()])
    many = results(tasks, "many", trials=123)
    five = {run: task_successes(results(tasks, run, trials=5)) for run in ("now", "before")}
    return [
        Case(
            f"percentile bootstrap over {len(values)} task means",
            lambda: bootstrap_macro_average(scores, {}),
            lambda: scipy_bootstrap(values, "percentile"),
            least_ratio=10.0,
        ),
        Case(
            f"BCa bootstrap over {len(values)} task means",
            lambda: bootstrap_macro_average(scores, {}, method="bca"),
            lambda: scipy_bootstrap(values, "BCa"),
            least_ratio=10.0,
        ),
        Case(
            f"percentile bootstrap over {len(means)} template means",
            lambda: bootstrap_macro_average(scores, templates),
            lambda: scipy_bootstrap(means, "percentile"),
            least_ratio=2.0,
        ),
        Case(
            "all tables of a report on 3 models, 812 x 3",
            lambda: tables(tasks, models, templates),
            most_seconds=1.0,
            rounds=3,
        ),
        Case(
            "gate on 812 x 5, beside the paired t and sign-flip tests it came from",
            lambda: gate(five["now"], five["before"], clusters=templates),
            lambda: compare(five["now"], five["before"], clusters=templates, p_same_tasks=1.0),
            least_ratio=0.4,
        ),
        Case(
            f"summary of {len(many)} results",
            lambda: summarise(tasks, many),
            most_seconds=1.0,
            rounds=3,
        ),
    ]


def tables(
    tasks: list[Task], models: dict[str, list[TrialResult]], templates: dict[str, str]
) -> None:
    """Make everything a report prints: summaries, the published bootstrap, comparisons."""
    remembered_limit.cache_clear()  # a report is made once
    for found in models.values():
        summarise(tasks, found)
        scores = task_successes(found)
        bootstrap_macro_average(scores, templates)
        for site in SITES:
            members = {task.task_id for task in tasks if site in task.groups["site"]}
            part = {task_id: scores[task_id] for task_id in scores if task_id in members}
            bootstrap_macro_average(part, templates)
    leaderboard({name: task_successes(each) for name, each in models.items()}, clusters=templates)


def plan() -> list[Task]:
    """Return 812 tasks, a little more than four to each of 190 templates."""
    return [
        Task(
            benchmark="bench",
            task_id=str(n),
            goal="goal",
            groups={"site": (SITES[n % len(SITES)],), "type": (("mutate", "retrieve")[n % 2],)},
            template=str(n * TEMPLATES // TASKS),
        )
        for n in range(TASKS)
    ]


def results(tasks: list[Task], model: str, trials: int = 3) -> list[TrialResult]:
    """Return seeded results of one model."""
    rng = random.Random(model)  # noqa: S311 - seeded data, not a secret
    usage = Usage(requests=5, input_tokens=9_000, output_tokens=700)
    chances = [rng.betavariate(0.42, 0.58) for _ in tasks]
    return [
        TrialResult(
            benchmark="bench",
            task_id=task.task_id,
            trial=trial,
            agent="agent",
            model=model,
            status="completed",
            score=float(rng.random() < chance),
            steps=12,
            usage=usage,
            cost_usd=0.05,
            timings_s={"total": 60.0},
        )
        for task, chance in zip(tasks, chances, strict=True)
        for trial in range(1, trials + 1)
    ]


def scipy_bootstrap(values: np.ndarray, method: str) -> object:
    """Run the peer the way it is fastest: vectorised, in batches."""
    from scipy import stats

    generator = np.random.default_rng(1)
    return stats.bootstrap(
        (values,), np.mean, n_resamples=DRAWS, batch=1_000, method=method, rng=generator
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
