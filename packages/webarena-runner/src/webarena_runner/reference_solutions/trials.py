"""Trial folders without a trial: the evaluator's input files, written from a task's definition."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from webarena_runner.evaluation import HAR_FILE, write_answer, write_config
from webarena_runner.reference_solutions.answers import answer_for
from webarena_runner.reference_solutions.traffic import traffic_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.records import Task
    from webarena_runner.config import EnvironmentConfig

__all__ = ["write_trial"]


def write_trial(
    folder: Path,
    task: Task,
    config: EnvironmentConfig,
    *,
    answer: JsonValue | None = None,
    entries: Sequence[dict[str, Any]] | None = None,
) -> Path:
    """Write answer, traffic and sites into `folder` and return it; by default the right ones.

    Raises:
        ValueError: The definition contains a pattern for which no example is found.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_config(folder, config)
    write_answer(folder, answer_for(task) if answer is None else answer)
    log = {
        "version": "1.2",
        "creator": {"name": "webarena-runner reference solutions", "version": "1"},
        "entries": list(traffic_for(task, config) if entries is None else entries),
    }
    (folder / HAR_FILE).write_text(json.dumps({"log": log}), encoding="utf-8")
    return folder
