"""Trial folders without a trial: the evaluator's input files, written from a task's definition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.records import Task
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluation import HAR_FILE, write_answer, write_config
from webarena_runner.patterns import is_pattern
from webarena_runner.reference_solutions.examples import example
from webarena_runner.reference_solutions.traffic import traffic_for


def answer_for(task: Task) -> dict[str, JsonValue]:
    """Return the expected answer in the response format; of alternatives, the first.

    Raises:
        ValueError: It contains a pattern for which no example is found.
    """
    definitions: Any = task.config["eval"]
    wanted = next(each for each in definitions if each["evaluator"] == "AgentResponseEvaluator")
    expected = wanted["expected"]
    schema = wanted.get("results_schema") or {}
    items = schema.get("items", {}) if isinstance(schema, dict) else {}
    data = expected.get("retrieved_data")
    return {
        "task_type": str(expected["task_type"]).upper(),
        "status": str(expected["status"]).upper(),
        "retrieved_data": None if data is None else [_plain(each, items) for each in data],
        "error_details": None,
    }


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


def _plain(value: Any, schema: Any) -> Any:
    """Return an expected value; a list is alternatives unless the schema says that it is a list."""
    schema = schema if isinstance(schema, dict) else {}
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {key: _plain(each, fields.get(key, {})) for key, each in value.items()}
    if isinstance(value, list):
        if schema.get("type") == "array":
            return [_plain(each, schema.get("items", {})) for each in value]
        return _plain(value[0], schema)
    return example(value) if is_pattern(value) else value
