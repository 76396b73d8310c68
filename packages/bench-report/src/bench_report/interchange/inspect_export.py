"""Runs as Inspect's EvalLog (version 2, JSON), to be opened with `inspect view` or read by its API.

What Inspect has no field for is written to `metadata.proctor`, so that our own logs are imported unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench_core.files import write_atomic
from bench_core.records import Step, Task, TrialResult, Usage
from bench_core.run_folder import TRAJECTORY, read_lines, trial_files
from bench_report.__about__ import __version__
from bench_report.run_data.sources import Source

SCORER = "proctor"
_LIMITS = {"step_limit": "turn", "time_limit": "time", "budget_exceeded": "cost"}


def export_inspect(run: Source, out: Path) -> Path:
    """Write a run as one EvalLog file."""
    results = run.results
    tasks = {task.task_id: task for task in run.tasks}
    samples = [_sample(run, tasks[result.task_id], result) for result in results]
    log = {
        "version": 2,
        "status": "success",  # the log is complete; how trials ended is in the samples
        "eval": _spec(run),
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": _results(results),
        "stats": {
            "started_at": run.info.started.isoformat(),
            "completed_at": (run.info.finished or run.info.started).isoformat(),
            "model_usage": {},
        },
        "samples": samples,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    # ASCII: the text of a page may hold unpaired surrogates, which UTF-8 cannot encode.
    write_atomic(out, json.dumps(log, ensure_ascii=True, allow_nan=False).encode())
    return out


def _spec(run: Source) -> dict[str, Any]:
    info = run.info
    ids = [task.task_id for task in run.tasks]
    spec: dict[str, Any] = {
        "eval_id": info.run_id,
        "run_id": info.run_id,
        "created": info.started.isoformat(),
        "task": info.benchmark,
        "task_id": info.benchmark,
        "task_version": info.benchmark_version or 0,
        "solver": info.agent,
        "model": _model(info.model),
        "dataset": {"name": info.benchmark, "samples": len(ids), "sample_ids": ids},
        "config": {"epochs": info.trials, "epochs_reducer": ["mean"]},
        "packages": dict(info.versions),
        "metadata": {
            "proctor": {
                "run": info.model_dump(mode="json"),
                "tasks": [task.model_dump(mode="json") for task in run.tasks],
                "exported_by": f"bench-report {__version__}",
            }
        },
    }
    if info.git:
        spec["revision"] = {
            "type": "git", "origin": "", "commit": info.git.commit, "dirty": info.git.dirty
        }  # fmt: skip
    return spec


def _model(name: str | None) -> str:
    """Write `provider:name` as Inspect does, `provider/name`; `none/none` is its word for no model."""
    return name.replace(":", "/", 1) if name else "none/none"


def _results(results: Sequence[TrialResult]) -> dict[str, Any]:
    scored = [result.success for result in results if result.score is not None]
    metrics = {}
    if scored:
        metrics["accuracy"] = {"name": "accuracy", "value": sum(map(bool, scored)) / len(scored)}
    score = {
        "name": SCORER,
        "scorer": SCORER,
        "scored_samples": len(scored),
        "unscored_samples": len(results) - len(scored),
        "metrics": metrics,
    }
    return {
        "total_samples": len(results),
        "completed_samples": len(scored),
        "scores": [score],
    }


def _sample(run: Source, task: Task, result: TrialResult) -> dict[str, Any]:
    steps = steps_of(run, result)
    model = _model(result.model_reported or result.model)
    sample: dict[str, Any] = {
        "id": task.task_id,
        "epoch": result.trial,
        "input": task.goal,
        "target": "",
        "messages": [{"role": "user", "content": task.goal}, *_messages(steps)],
        "output": {"model": model, "choices": []},
        "metadata": {
            **{name: list(values) for name, values in task.groups.items()},
            "proctor": {
                "result": result.model_dump(mode="json"),
                "steps": [step.model_dump(mode="json", exclude_none=True) for step in steps],
            },
        },
        "model_usage": {model: _usage(result.usage, result.cost_usd)},
        "total_time": result.timings_s.get("total"),
    }
    if result.score is not None:
        failed = [each.reason or each.criterion for each in result.checks if each.passed is False]
        score = {
            "value": result.score,
            "explanation": "; ".join(failed) or None,
            "metadata": {"method": result.method, "failure_mode": result.failure_mode},
        }
        sample["scores"] = {SCORER: score}
    if result.error:
        trace = result.error.traceback or ""
        sample["error"] = {
            "message": f"{result.error.kind}: {result.error.message}",
            "traceback": trace,
            "traceback_ansi": trace,
        }
    if result.status.value in _LIMITS:
        sample["limit"] = {"type": _LIMITS[result.status.value], "limit": float(result.steps)}
    return sample


def _usage(usage: Usage, cost: float | None) -> dict[str, Any]:
    """Return the usage as Inspect counts it: cached input apart from input, where ours includes it."""
    cached = usage.cached_input_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_cache_read": usage.cached_input_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_cost": cost,
    }


def steps_of(run: Source, result: TrialResult) -> list[Step]:
    """Return a trial's trajectory, as far as it can be read."""
    if result.stored is None and run.trial_folder(result) is None:
        return []
    with trial_files(run.view, result, lambda each: each.path == TRAJECTORY) as folder:
        return read_lines(folder / TRAJECTORY, Step).records


def _messages(steps: Sequence[Step]) -> Iterator[dict[str, Any]]:
    """Write each step as an assistant's turn with its calls, and their results."""
    for step in steps:
        calls = [
            {"id": f"{step.step}-{n}", "type": "function", **call_of(action)}
            for n, action in enumerate(step.actions)
        ]
        yield {"role": "assistant", "content": step.thought or "", "tool_calls": calls or None}
        for n, text in enumerate(step.results):
            called = (
                {"tool_call_id": calls[n]["id"], "function": calls[n]["function"]}
                if n < len(calls)
                else {}
            )
            yield {"role": "tool", "content": text, **called}


def call_of(action: dict[str, Any]) -> dict[str, Any]:
    """Return an action as a function with arguments: `{name: {...}}`, or `action`/`type` as its name."""
    if len(action) == 1:
        ((name, arguments),) = action.items()
        if isinstance(arguments, dict):
            return {"function": name, "arguments": arguments}
        return {"function": name, "arguments": {"value": arguments}}
    for key in ("action", "type", "name"):
        if isinstance(action.get(key), str):
            rest = {each: value for each, value in action.items() if each != key}
            return {"function": action[key], "arguments": rest}
    return {"function": "act", "arguments": dict(action)}
