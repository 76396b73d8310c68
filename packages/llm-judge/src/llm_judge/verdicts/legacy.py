"""The verdict as the four keys that the hybrid validator of Multi-REAL returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.records.judge import Verdict


def legacy_dict(verdict: Verdict) -> dict[str, Any]:
    """Return `overall_pass`, `criteria_results`, `reasoning` and `confidence`.

    `overall_pass` is `None` where the judge gave no verdict: it was never a fail. `confidence` is the
    calibrated one, or `None`.

    >>> from bench_core.records.judge import Verdict
    >>> legacy_dict(Verdict(case_id="a", judge="llm-judge", outcome="abstain"))["overall_pass"] is None
    True
    """
    return {
        "overall_pass": verdict.passed,
        "criteria_results": [
            {
                "criterion": each.criterion_id,
                "passed": {"pass": True, "fail": False}.get(each.verdict),
                "reason": each.doubt or each.reason,
            }
            for each in verdict.criteria
        ],
        "reasoning": verdict.reasoning,
        "confidence": verdict.confidence,
    }
