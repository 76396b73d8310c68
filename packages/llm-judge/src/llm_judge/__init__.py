"""A judge of end states that must show its evidence.

Each step is usable alone, and only `Judge` needs a model: `lint`, `pack`, `prepare`, `Judge`,
`verify`, `calibrate`, `stress`. Names load lazily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.lazy_exports import lazy_exports
from llm_judge.__about__ import __version__

if TYPE_CHECKING:
    from bench_core.records.judge import Criterion, JudgeCase, Verdict
    from llm_judge.batch import judge_many
    from llm_judge.bench.mutations import changed_leaves, mutants
    from llm_judge.bench.stress import StressReport, stress
    from llm_judge.bench.visibility import visibility
    from llm_judge.calibration.report import (
        Calibration,
        CalibrationReport,
        calibrate,
        load_calibration,
    )
    from llm_judge.case_files import case_state, read_case, read_json
    from llm_judge.case_lint import lint
    from llm_judge.judge import Judge
    from llm_judge.policy import Policy
    from llm_judge.prepared_case import PreparedCase, prepare
    from llm_judge.prompts.evidence_pack import EvidencePack, pack
    from llm_judge.verdicts.evidence_check import verify
    from llm_judge.verdicts.legacy import legacy_dict
    from llm_judge.verdicts.success_bounds import Bounds, bounds

__all__ = [
    "Bounds",
    "Calibration",
    "CalibrationReport",
    "Criterion",
    "EvidencePack",
    "Judge",
    "JudgeCase",
    "Policy",
    "PreparedCase",
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

_records = lazy_exports("bench_core", {"records.judge": ("Criterion", "JudgeCase", "Verdict")})
_own = lazy_exports(
    __name__,
    {
        "batch": ("judge_many",),
        "bench.mutations": ("changed_leaves", "mutants"),
        "bench.stress": ("StressReport", "stress"),
        "bench.visibility": ("visibility",),
        "calibration.report": (
            "Calibration",
            "CalibrationReport",
            "calibrate",
            "load_calibration",
        ),
        "case_files": ("case_state", "read_case", "read_json"),
        "case_lint": ("lint",),
        "judge": ("Judge",),
        "policy": ("Policy",),
        "prepared_case": ("PreparedCase", "prepare"),
        "prompts.evidence_pack": ("EvidencePack", "pack"),
        "verdicts.evidence_check": ("verify",),
        "verdicts.legacy": ("legacy_dict",),
        "verdicts.success_bounds": ("Bounds", "bounds"),
    },
)


def __getattr__(name: str) -> Any:
    return _records(name) if name in {"Criterion", "JudgeCase", "Verdict"} else _own(name)
