"""The benchmarks whose sizes, templates and slices are simulated; for coverage_table.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "WAA_DOMAINS",
    "consecutive",
    "sites",
    "sliced_cells",
    "template_sizes",
    "unequal_sizes",
]

ROOT = Path(__file__).resolve().parents[3]
SIZES = ROOT / "packages/bench-core/tests/statistics/data/webarena_template_sizes.json"
WAA_DOMAINS = (24, 19, 19, 5, 4, 3, 3, 21, 24, 17, 13, 2)
"""Tasks of WAA's twelve domains, 154 in all."""


def sliced_cells() -> list[tuple[str, int, list[int] | None, list[range]]]:
    """Return benchmarks with slices: their name, number of tasks, template sizes, places of the slices' tasks."""
    return [
        ("154, WAA's 12 domains", 154, None, consecutive(WAA_DOMAINS)),
        ("812, WebArena's 6 sites", 812, template_sizes("all"), consecutive(_site_tasks())),
        ("80, 40 slices of 2", 80, None, consecutive([2] * 40)),
        ("154, 77 slices of 2", 154, None, consecutive([2] * 77)),
        ("153, 51 slices of 3", 153, None, consecutive([3] * 51)),
    ]


def consecutive(sizes: Sequence[int]) -> list[range]:
    """Return the places of the tasks of slices of such sizes, one after the other."""
    ends = [sum(sizes[: n + 1]) for n in range(len(sizes))]
    return [range(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def _site_tasks() -> list[int]:
    """Tasks of WebArena's sites in proportion, 812 in all: a task of two sites counts for one here."""
    return [187, 177, 169, 119, 118, 42]


def sites() -> list[str]:
    """Return the names of WebArena's sites, `all` and the `hard` subset first."""
    return [name for name in json.loads(SIZES.read_text("utf-8")) if name != "about"]


def template_sizes(site: str) -> list[int]:
    """Return the number of tasks of each of a site's templates."""
    counts = json.loads(SIZES.read_text("utf-8"))[site]
    return [int(size) for size, count in counts.items() for _ in range(count)]


def unequal_sizes(tasks: Sequence[int]) -> dict[str, list[list[int]]]:
    """Return template sizes by kind: equal, by Zipf's law, with one or two large templates, real ones."""
    kinds: dict[str, list[list[int]]] = {
        "each task alone": [[1] * number for number in tasks],
        "4 tasks each": [_rest(number, 4) for number in tasks if number >= 12],
        "Zipf": [_zipf(number, max(3, number // 3)) for number in tasks],
    }
    for share in (0.2, 0.35, 0.5, 0.65):
        kinds[f"one of {share:.0%}"] = [_large(number, share) for number in tasks]
    for share in (0.2, 0.3):
        kinds[f"two of {share:.0%}"] = [_large(number, share, share) for number in tasks]
    kinds["WebArena's sites"] = [template_sizes(site) for site in sites()]
    kinds["WAA's domains"] = [list(WAA_DOMAINS)]
    return kinds


def _rest(tasks: int, size: int) -> list[int]:
    return [size] * (tasks // size) + ([tasks % size] if tasks % size else [])


def _zipf(tasks: int, templates: int) -> list[int]:
    whole = sum(1.0 / (n + 1) for n in range(templates))
    sizes = [max(1, round(tasks / (n + 1) / whole)) for n in range(templates)]
    return [sizes[0] + tasks - sum(sizes), *sizes[1:]]


def _large(tasks: int, *shares: float) -> list[int]:
    sizes = [max(1, round(tasks * share)) for share in shares]
    return [*sizes, *[1] * (tasks - sum(sizes))]
