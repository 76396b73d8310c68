"""Runs as Inspect's EvalLog (version 2, JSON), to be opened with `inspect view` or read by its API.

A sample's score is whether the trial succeeded, and `accuracy` the report's rate: epochs are
reduced to the mean of each task first. The score itself is a second scorer if trials have scores
between 0 and 1. A trial without a score is a sample with an error, which Inspect counts apart; an
agent's own error is not an error of the sample. Data without a field in Inspect go to
`metadata.proctor`, so that our own logs are imported unchanged.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_core.files import write_atomic
from bench_core.records import ErrorInfo, Step, Task, TrialKey, TrialResult, Usage
from bench_core.run_folder import TRAJECTORY, read_lines, trial_files
from bench_core.statistics import Coverage, Rate, summarise
from bench_report.__about__ import __version__
from bench_report.run_data.sources import Source

SCORER, _SCORES = "proctor", "score"
_CLUSTER = "cluster"
"""The name in a sample's metadata for the template of its task, over which its standard error is."""
_LISTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d.*")
"""How the names begin that `inspect view` lists."""
_log = logging.getLogger(__name__)
_LIMITS = {"step_limit": "turn", "time_limit": "time", "budget_exceeded": "cost"}


def export_inspect(run: Source, out: Path) -> Path:
    """Write a run as one EvalLog file: `out`, or in the folder `out` under a name that `inspect view` lists."""
    if out.suffix != ".json":
        out /= _file_name(run)
    elif not _LISTED.match(out.name):
        _log.warning(
            "`inspect view` does not list %s, as its name does not begin with a time: give a folder for a name "
            "that it lists",
            out.name,
        )
    results = run.results
    tasks = {task.task_id: task for task in run.tasks}
    scorers = [SCORER]
    if any(result.score not in {None, 0.0, 1.0} for result in results):
        scorers.append(_SCORES)
    summary = summarise(run.tasks, run.ended, trials=run.info.trials)
    reductions = [_reduced(each, results) for each in scorers]
    rates = [summary.success, summary.score or summary.success]
    notes: dict[TrialKey, list[Any]] = {}
    for note in run.notes:
        notes.setdefault(note.key, []).append(note.model_dump(mode="json", exclude={"checksum"}))
    log = {
        "version": 2,
        "status": "success",  # the log is complete; how trials ended is in the samples
        "eval": _spec(run, scorers),
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": summary.coverage.trials,
            "completed_samples": summary.coverage.scored,
            "logged_samples": len(results) if summary.coverage.missing else None,
            "scores": [
                _score(name, rate, summary.coverage, reduced, tasks)
                for name, rate, reduced in zip(scorers, rates, reductions, strict=False)
            ],
        },
        "stats": {
            "started_at": run.info.started.isoformat(),
            "completed_at": (run.info.finished or run.info.started).isoformat(),
            "model_usage": {},
        },
        "samples": [
            _sample(run, tasks[each.task_id], each, scorers, notes.get(each.key))
            for each in results
        ],
        "reductions": [
            {
                "scorer": name,
                "reducer": "mean",
                "samples": [{"sample_id": task, "value": value} for task, value in reduced.items()],
            }
            for name, reduced in zip(scorers, reductions, strict=True)
        ],
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    # ASCII: the text of a page may hold unpaired surrogates, which UTF-8 cannot encode.
    write_atomic(out, json.dumps(log, ensure_ascii=True, allow_nan=False).encode())
    return out


def _file_name(run: Source) -> str:
    """Return `TIME_TASK_ID.json`; Inspect takes the name apart at `_`, and the id at `-`."""
    task = re.sub(r"[^A-Za-z0-9]+", "-", run.info.benchmark).strip("-") or "run"
    number = hashlib.sha256(run.info.run_id.encode()).hexdigest()[:22]
    return f"{run.info.started:%Y-%m-%dT%H-%M-%S}+00-00_{task}_{number}.json"


def _spec(run: Source, scorers: Sequence[str]) -> dict[str, Any]:
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
        "scorers": [
            {
                "name": name,
                "metrics": [
                    {"name": "inspect_ai/accuracy"},
                    {"name": "inspect_ai/stderr", "options": {"cluster": _CLUSTER}},
                ],
            }
            for name in scorers
        ],
        "tags": ["damaged"] if run.view.damage else [],
        "metadata": {
            "damage": list(run.view.damage),
            "proctor": {
                "run": info.model_dump(mode="json"),
                "tasks": [task.model_dump(mode="json") for task in run.tasks],
                "exported_by": f"bench-report {__version__}",
            },
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


def _reduced(scorer: str, results: Sequence[TrialResult]) -> dict[str, float]:
    """Return the mean over the scored trials of each task that has one."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for result in results:
        if result.score is not None:
            values[result.task_id].append(_value(scorer, result))
    return {task: math.fsum(found) / len(found) for task, found in values.items()}


def _value(scorer: str, result: TrialResult) -> float:
    return float(bool(result.success)) if scorer == SCORER else float(result.score or 0.0)


def _score(
    name: str,
    rate: Rate,
    coverage: Coverage,
    reduced: Mapping[str, float],
    tasks: Mapping[str, Task],
) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    if rate.estimate is not None:
        intervals = {each.estimand: each for each in (rate.new_tasks, rate.same_tasks) if each}
        metrics["accuracy"] = {
            "name": "accuracy",
            "value": rate.estimate,
            "metadata": {
                **{key: each.model_dump(mode="json") for key, each in intervals.items()},
                "scored_trials": coverage.scored,
                "trials_without_score": coverage.results - coverage.scored,
                "trials_not_run": coverage.missing,
            },
        }
        clusters: defaultdict[str, float] = defaultdict(float)
        for task, value in reduced.items():
            clusters[tasks[task].template or task] += value - rate.estimate
        # a single cluster shows no variance, but Inspect writes 0 for it
        if (count := len(clusters)) > 1:
            variance = math.fsum(each**2 for each in clusters.values()) * count / (count - 1)
            metrics["stderr"] = {
                "name": "stderr",
                "value": math.sqrt(variance) / len(reduced),
                "params": {"cluster": _CLUSTER},
            }
    # as Inspect counts after a reduction: tasks; trials are in `completed_samples`
    return {
        "name": name,
        "scorer": name,
        "reducer": "mean",
        "scored_samples": len(reduced),
        "unscored_samples": 0,
        "metrics": metrics,
    }


def _sample(
    run: Source, task: Task, result: TrialResult, scorers: Sequence[str], notes: list[Any] | None
) -> dict[str, Any]:
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
            _CLUSTER: task.template or task.task_id,
            "proctor": {
                "result": result.model_dump(mode="json"),
                "steps": [step.model_dump(mode="json", exclude_none=True) for step in steps],
                **({"notes": notes} if notes else {}),
            },
        },
        "model_usage": {model: _usage(result.usage, result.cost_usd)},
        "total_time": result.timings_s.get("total"),
    }
    if result.score is not None:
        failed = [each.reason or each.criterion for each in result.checks if each.passed is False]
        about = {
            "explanation": "; ".join(failed) or None,
            "metadata": {
                "status": result.status.value,
                "score": result.score,
                "method": result.method,
                "failure_mode": result.failure_mode,
                "error": result.error and f"{result.error.kind}: {result.error.message}",
            },
        }
        sample["scores"] = {name: {"value": _value(name, result), **about} for name in scorers}
    else:
        error = result.error or ErrorInfo(
            kind=result.status.value, message="the trial has no score"
        )
        trace = error.traceback or ""
        sample["error"] = {
            "message": f"{error.kind}: {error.message}",
            "traceback": trace,
            "traceback_ansi": trace,
        }
    if result.status.value in _LIMITS:
        sample["limit"] = {"type": _LIMITS[result.status.value], "limit": float(result.steps)}
    return sample


def _usage(usage: Usage, cost: float | None) -> dict[str, Any]:
    """Return the usage as Inspect counts it: cached input apart from input, which in ours includes it."""
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
