"""Metrics that no task of the benchmark uses, on cases with vanilla's answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from document_builder import resolve

from waa_server_ext.native.registry import find

PATH = Path(__file__).parent / "cases" / "extra_metrics.jsonl"
CASES = [json.loads(line) for line in PATH.read_text(encoding="utf-8").splitlines()]

pytest.importorskip("docx", reason="needs the extra [all]")


@pytest.mark.parametrize("number", range(len(CASES)))
def test_scores_as_vanilla_does(number: int, tmp_path: Path) -> None:
    case = CASES[number]
    arguments = [resolve(argument, tmp_path) for argument in case["args"]]
    metric = find("metric", case["metric"]).bind("v2")
    assert answer(metric, arguments, case["options"]) == {
        key: pytest.approx(value) if key == "score" else value
        for key, value in case["vanilla"].items()
    }


def answer(metric: Any, arguments: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    try:
        score = metric(*arguments, **options)
    except Exception as error:  # noqa: BLE001  # what is raised is the answer
        return {"raised": type(error).__name__}
    return {"score": score, "counts": isinstance(score, (float, int, bool))}
