"""Runs as Every Eval Ever's records (https://github.com/evaleval/every_eval_ever, schema 0.2 of release 0.3).

One aggregate file and one line for each scored trial. Its schema has no score of null: a trial without one is left out
of the lines and counted in the aggregate's details. The interval is the one that our reports show.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Step, Task, TrialResult
from bench_core.statistics import Rate, summarise
from bench_report.__about__ import __version__
from bench_report.interchange.inspect_export import call_of, steps_of
from bench_report.run_data.sources import Source

_SCHEMA, _SAMPLE_SCHEMA = "0.3.0", "instance_level_eval_0.3.0"
_METRIC = "success_rate"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def export_every_eval_ever(run: Source, out: Path) -> list[Path]:
    """Write `data/BENCHMARK/DEVELOPER/MODEL/UUID.json` and `UUID_samples.jsonl` below `out`.

    Raises:
        InputError: No trial of the run has a score.
    """
    info = run.info
    developer, model = _model(info.model)
    # A UUID of version 4, as the layout wants it, that is the same for the same run.
    digest = hashlib.sha256(f"{info.run_id}\0{info.started}".encode()).digest()
    name = str(uuid.UUID(bytes=digest[:16], version=4))
    folder = f"data/{_safe(info.benchmark)}/{_safe(developer)}/{_safe(model)}"
    tasks = {task.task_id: task for task in run.tasks}
    found = (
        _sample(run, tasks[result.task_id], result, f"{developer}/{model}")
        for result in run.results
        if result.score is not None
    )
    rows = "".join(f"{json.dumps(each, ensure_ascii=True, allow_nan=False)}\n" for each in found)
    if not rows:
        raise InputError(f"no trial of {run.view.path} has a score, and a record needs one")
    samples = f"{folder}/{name}_samples.jsonl"
    detail = {
        "format": "jsonl",
        "file_path": samples,
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(rows.encode()).hexdigest(),
        "total_rows": rows.count("\n"),
    }
    aggregate = {**_aggregate(run, developer, model), "detailed_evaluation_results": detail}
    files = [out / f"{folder}/{name}.json", out / samples]
    files[0].parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(aggregate, indent=1, ensure_ascii=True, allow_nan=False)
    write_atomic(files[0], f"{text}\n".encode())
    write_atomic(files[1], rows.encode())
    return files


def _aggregate(run: Source, developer: str, model: str) -> dict[str, Any]:
    info = run.info
    summary = summarise(run.tasks, run.ended, trials=info.trials)
    coverage = summary.coverage
    return {
        "schema_version": _SCHEMA,
        "evaluation_id": _evaluation_id(run),
        "evaluation_timestamp": f"{info.started.timestamp():.0f}",
        "retrieved_timestamp": f"{(info.finished or info.started).timestamp():.0f}",
        "source_metadata": {
            "source_name": "Proctor",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
            "additional_details": {
                "run": info.run_id,
                "exported_by": f"bench-report {__version__}",
            },
        },
        "eval_library": {
            "name": "proctor",
            "version": str(info.versions.get("bench-core", __version__)),
            "additional_details": {key: str(value) for key, value in info.versions.items()},
        },
        "model_info": {
            "name": model,
            "id": f"{developer}/{model}",
            "developer": developer,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
                "agent": info.agent,
            },
        },
        "evaluation_results": [
            {
                "evaluation_name": info.benchmark,
                "evaluation_result_id": f"{info.benchmark}:{_METRIC}",
                "source_data": {
                    "dataset_name": info.benchmark,
                    "source_type": "other",
                    "additional_details": {
                        "world": info.world,
                        "profile": info.profile,
                        "version": str(info.benchmark_version or "unknown"),
                    },
                },
                "metric_config": {
                    "evaluation_description": "share of tasks solved by the benchmark's own rules",
                    "metric_id": _METRIC,
                    "metric_name": "success rate",
                    "metric_kind": "accuracy",
                    "metric_unit": "proportion",
                    "lower_is_better": False,
                    "score_type": "continuous",
                    "min_score": 0.0,
                    "max_score": 1.0,
                },
                "score_details": _score(
                    summary.success,
                    {
                        "planned_trials": str(coverage.trials),
                        "scored_trials": str(coverage.scored),
                        "trials_without_score": str(coverage.results - coverage.scored),
                        "trials_not_run": str(coverage.missing),
                        **({"damage": "; ".join(run.view.damage)} if run.view.damage else {}),
                    },
                ),
            }
        ],
    }


def _score(rate: Rate, details: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"score": rate.estimate, "details": details}
    interval = rate.new_tasks or rate.same_tasks
    if interval is not None:
        found["details"] = {**details, "estimand": str(interval.estimand)}
        found["uncertainty"] = {
            "confidence_interval": {
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": interval.level,
                "method": interval.method,
            },
            "num_samples": rate.trials,
        }
    return found


def _sample(run: Source, task: Task, result: TrialResult, model_id: str) -> dict[str, Any]:
    steps = steps_of(run, result)
    messages = _messages(task, steps)
    answer = result.ending.answer if result.ending is not None else None
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=True)
    usage = result.usage
    return {
        "schema_version": _SAMPLE_SCHEMA,
        "evaluation_id": _evaluation_id(run),
        "model_id": model_id,
        "evaluation_name": run.info.benchmark,
        "evaluation_result_id": f"{run.info.benchmark}:{_METRIC}",
        "sample_id": f"{task.task_id}#{result.trial}",
        "interaction_type": "agentic",
        "input": {"raw": task.goal, "reference": []},
        "output": None,
        "messages": messages,
        "answer_attribution": [
            {
                "turn_idx": messages[-1]["turn_idx"],
                "source": "messages",
                "extracted_value": text or "",
                "extraction_method": result.method or "end state",
                "is_terminal": True,
            }
        ],
        "evaluation": {
            "score": result.score,
            "is_correct": bool(result.success),
            "num_turns": len(messages),
            "tool_calls_count": sum(len(step.actions) for step in steps),
        },
        "token_usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": usage.total_tokens,
        },
        "metadata": {
            "status": result.status.value,
            "steps": str(result.steps),
            "flags": ",".join(result.flags),
        },
    }


def _messages(task: Task, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """Write the goal and each step; the schema wants a turn's calls with arguments that are texts."""
    messages: list[dict[str, Any]] = [{"turn_idx": 0, "role": "user", "content": task.goal}]
    for step in steps:
        calls = []
        for number, action in enumerate(step.actions):
            called = call_of(action)
            arguments = {
                key: value if isinstance(value, str) else json.dumps(value)
                for key, value in called["arguments"].items()
            }
            name = f"{step.step}-{number}"
            calls.append({"id": name, "name": called["function"], "arguments": arguments})
        messages.append(
            {
                "turn_idx": len(messages),
                "role": "assistant",
                "content": step.thought or "",
                "tool_calls": calls or None,
            }
        )
        text = "; ".join(each for each in step.results if each)
        if calls:
            messages.append(
                {
                    "turn_idx": len(messages),
                    "role": "tool",
                    "content": text,
                    "tool_call_id": [each["id"] for each in calls],
                }
            )
    if len(messages) == 1:
        messages.append({"turn_idx": 1, "role": "assistant", "content": ""})
    return messages


def _evaluation_id(run: Source) -> str:
    return f"{run.info.benchmark}/{run.info.run_id}/{run.info.started.timestamp():.0f}"


def _model(name: str | None) -> tuple[str, str]:
    """Return developer and model; an agent without a model is named as such."""
    if not name:
        return "none", "none"
    developer, colon, model = name.partition(":")
    return (developer, model) if colon and model else ("unknown", name)


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text).strip(".-") or "unknown"
