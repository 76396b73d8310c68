"""A judge of end states that must show its evidence.

Each step is usable alone, and only `Judge` needs a model: `lint`, `pack`, `prepare`, `Judge`,
`verify`, `calibrate`, `stress`. Names load lazily.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from llm_judge.__about__ import __version__

if TYPE_CHECKING:
    from bench_core.judging import Criterion, JudgeCase, Verdict
    from llm_judge.batching import judge_many
    from llm_judge.bounding import Bounds, bounds
    from llm_judge.briefing import Brief, prepare
    from llm_judge.calibrating import Calibration, CalibrationReport, calibrate, load_calibration
    from llm_judge.documents import case_state, read_case, read_json
    from llm_judge.judge import Judge
    from llm_judge.legacy import legacy_dict
    from llm_judge.linting import lint
    from llm_judge.mutations import changed_leaves, mutants
    from llm_judge.packing import EvidencePack, pack
    from llm_judge.policy import Policy
    from llm_judge.stressing import StressReport, stress, visibility
    from llm_judge.verifying import verify

__all__ = [
    "Bounds",
    "Brief",
    "Calibration",
    "CalibrationReport",
    "Criterion",
    "EvidencePack",
    "Judge",
    "JudgeCase",
    "Policy",
    "StressReport",
    "Verdict",
    "__version__",
    "bounds",
    "calibrate",
    "case_state",
    "changed_leaves",
    "judge_many",
    "legacy_dict",
    "lint",
    "load_calibration",
    "mutants",
    "pack",
    "prepare",
    "read_case",
    "read_json",
    "stress",
    "verify",
    "visibility",
]

_HOMES = {
    "bench_core.judging": ("Criterion", "JudgeCase", "Verdict"),
    "llm_judge.batching": ("judge_many",),
    "llm_judge.bounding": ("Bounds", "bounds"),
    "llm_judge.briefing": ("Brief", "prepare"),
    "llm_judge.calibrating": (
        "Calibration", "CalibrationReport", "calibrate", "load_calibration",
    ),
    "llm_judge.documents": ("case_state", "read_case", "read_json"),
    "llm_judge.judge": ("Judge",),
    "llm_judge.legacy": ("legacy_dict",),
    "llm_judge.linting": ("lint",),
    "llm_judge.mutations": ("changed_leaves", "mutants"),
    "llm_judge.packing": ("EvidencePack", "pack"),
    "llm_judge.policy": ("Policy",),
    "llm_judge.stressing": ("StressReport", "stress", "visibility"),
    "llm_judge.verifying": ("verify",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
