"""Answers what vanilla's own metrics say; runs where the checkout's packages are installed.

    python vanilla_worker.py CHECKOUT < calls.jsonl > answers.jsonl

A call is `{"metric", "args", "options"}`; an answer `{"score", "counts"}` or `{"raised"}`. `counts` says
whether vanilla's loop takes the value as a score: it wants a float, an int or a bool.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

CLIENT = Path("src") / "win-arena-container" / "client"


def main() -> None:
    """Answer call by call; the metrics' own prints go to stderr."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.disable(logging.CRITICAL)
    metrics = load(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # one of them writes temp.pdf where it stands
        for line in sys.stdin:
            print(json.dumps(answer(metrics, json.loads(line))), file=answers, flush=True)


def load(checkout: Path) -> types.ModuleType:
    """Import the checkout's metrics; easyocr, which no task needs, is an empty module."""
    sys.path.insert(0, str(checkout / CLIENT))
    sys.modules.setdefault("easyocr", types.ModuleType("easyocr"))
    return importlib.import_module("desktop_env.evaluators.metrics")


def answer(metrics: types.ModuleType, call: dict[str, Any]) -> dict[str, Any]:
    """Return what the metric gave or raised."""
    metric = getattr(metrics, call["metric"])  # the names are our own
    try:
        score = metric(*call["args"], **call["options"])
    except Exception as error:  # noqa: BLE001  # foreign code: what it raised is the answer
        return {"raised": type(error).__name__}
    return {
        "score": None if score is None else float(score),
        "counts": isinstance(score, (float, int, bool)),
    }


if __name__ == "__main__":
    main()
