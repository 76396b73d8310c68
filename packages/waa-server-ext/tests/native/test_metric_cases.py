"""Every metric gives what vanilla's gave: cases kept by `differential/run.py --keep`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from document_builder import resolve

from waa_server_ext.native.registry import find

CASES = Path(__file__).parent / "cases" / "metrics"
TOLERANCE = {"compare_audios": 1e-6, "compare_images": 1e-6}


def cases() -> list[Any]:
    found = [
        (path.stem, number, json.loads(line))
        for path in sorted(CASES.glob("*.jsonl"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    ]
    return [pytest.param(case, id=f"{name}-{number}") for name, number, case in found]


@pytest.mark.parametrize("case", cases())
def test_a_metric_scores_as_vanillas_does(case: dict[str, Any], tmp_path: Path) -> None:
    arguments = [resolve(argument, tmp_path) for argument in case["args"]]
    metric = find("metric", case["metric"]).bind("v2")
    vanilla = case["vanilla"]
    if "raised" in vanilla:
        with pytest.raises(Exception) as raised:  # noqa: PT011  # the type is compared by name
            metric(*arguments, **case["options"])
        assert type(raised.value).__name__ == vanilla["raised"]
        return
    score = metric(*arguments, **case["options"])
    assert isinstance(score, (float, int, bool)) == vanilla["counts"]
    if vanilla["score"] is None:
        assert score is None
        return
    assert score == pytest.approx(
        vanilla["score"], abs=TOLERANCE.get(case["metric"], 1e-9), rel=0, nan_ok=True
    )


def test_every_metric_has_a_case_that_passes_and_one_that_does_not() -> None:
    scores: dict[str, set[bool]] = {}
    for parameter in cases():
        case = parameter.values[0]
        scores.setdefault(case["metric"], set()).add(case["vanilla"].get("score") == 1.0)
    assert {name for name, seen in scores.items() if seen != {True, False}} == set()
    assert len(scores) == 44  # those of the 154 tasks but `infeasible`, which is decided before
