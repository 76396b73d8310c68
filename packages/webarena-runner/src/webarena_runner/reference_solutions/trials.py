"""Trial folders without a trial: the evaluator's input files, written from a task's definition."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.records import Task
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluation import HAR_FILE, write_answer, write_config
from webarena_runner.patterns import is_pattern
from webarena_runner.reference_solutions.examples import example
from webarena_runner.reference_solutions.traffic import traffic_for

_DURATION = re.compile(r"(?=\d)(?:(?P<hours>\d+)hr?)?\s*(?:(?P<minutes>\d+)min)?")
_DATES = ("%B %d, %Y", "%B %d %Y", "%m/%d/%Y")


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


def answer_as_asked(task: Task) -> dict[str, JsonValue]:
    """Return the answer with dates and durations in the task's form; definitions may have another.

    Raises:
        ValueError: As `answer_for`.
    """
    answer = answer_for(task)
    return {**answer, "retrieved_data": _as_asked(answer["retrieved_data"], task.goal)}


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


def _as_asked(value: Any, goal: str) -> Any:
    if isinstance(value, dict):
        return {key: _as_asked(each, goal) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_asked(each, goal) for each in value]
    if not isinstance(value, str):
        return value
    if "HH:MM:SS" in goal and (found := _DURATION.fullmatch(value)):
        hours, minutes = divmod(60 * int(found["hours"] or 0) + int(found["minutes"] or 0), 60)
        return f"{hours:02}:{minutes:02}:00"
    if "YYYY-MM-DD" in goal:
        for form in _DATES:
            with suppress(ValueError):
                return date(*time.strptime(value, form)[:3]).isoformat()
    return value
