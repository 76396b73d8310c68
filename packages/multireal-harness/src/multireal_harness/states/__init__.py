"""End states: capture, files, comparison, and checks whether they look like those of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from multireal_harness.states.capture import Capture, CaptureSettings, capture_states
    from multireal_harness.states.comparison import Comparison, compare_states
    from multireal_harness.states.files import (
        EndStates,
        find_states,
        load_states,
        read_states,
    )
    from multireal_harness.states.health import Symptom, check_states
    from multireal_harness.states.schemas import (
        Schemas,
        learn_schemas,
        load_schemas,
        shipped_schemas,
    )

__all__ = [
    "Capture",
    "CaptureSettings",
    "Comparison",
    "EndStates",
    "Schemas",
    "Symptom",
    "capture_states",
    "check_states",
    "compare_states",
    "find_states",
    "learn_schemas",
    "load_schemas",
    "load_states",
    "read_states",
    "shipped_schemas",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "capture": ("Capture", "CaptureSettings", "capture_states"),
        "comparison": ("Comparison", "compare_states"),
        "files": ("EndStates", "find_states", "load_states", "read_states"),
        "health": ("Symptom", "check_states"),
        "schemas": ("Schemas", "learn_schemas", "load_schemas", "shipped_schemas"),
    },
)
