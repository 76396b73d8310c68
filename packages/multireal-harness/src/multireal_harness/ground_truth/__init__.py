"""Ground truth, end states of which it is known whether the task was done: generation and validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from multireal_harness.ground_truth.generation import (
        harvest,
        known_tasks,
        without_truth,
    )
    from multireal_harness.ground_truth.mutations import negatives_of
    from multireal_harness.ground_truth.validation import (
        TruthFile,
        TruthReport,
        corrected_rate,
        find_truth,
        validate_ground_truth,
    )

__all__ = [
    "TruthFile",
    "TruthReport",
    "corrected_rate",
    "find_truth",
    "harvest",
    "known_tasks",
    "negatives_of",
    "validate_ground_truth",
    "without_truth",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "generation": ("harvest", "known_tasks", "without_truth"),
        "mutations": ("negatives_of",),
        "validation": (
            "TruthFile",
            "TruthReport",
            "corrected_rate",
            "find_truth",
            "validate_ground_truth",
        ),
    },
)
