from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for `building`

if TYPE_CHECKING:
    from collections.abc import Callable

    from waa_server_ext.evaluation.verdicts import Verdict

TOLERANCE = 1e-6
"""Resampling sound and scaling pictures round differently on other machines."""


@pytest.fixture
def disagreement() -> Callable[..., str | None]:
    """Says how a verdict differs from what vanilla made of the same case; None where it does not."""
    return _disagreement


def _disagreement(case: dict[str, Any], verdict: Verdict, suffix: str = "") -> str | None:
    score, error = case[f"vanilla_score{suffix}"], case[f"vanilla_error{suffix}"]
    fault = verdict.evaluation_error
    if (score is None) != (verdict.score is None):
        return f"{case['id']}: {score} ({error}) but {verdict.score} ({fault})"
    if score is not None and verdict.score != pytest.approx(score, abs=TOLERANCE):
        return f"{case['id']}: {score} but {verdict.score}"
    raised = (error["phase"], error["type"]) if error else None
    if raised != ((fault.phase, fault.type) if fault else None):
        return f"{case['id']}: {error} but {fault}"
    return None
