"""Export of a run in the layout `raw/TASK/MODEL.json` and `aggregated/`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import TrialResult
from bench_core.run_folder import FINISH_STATE, RunView, read_json, read_run, trial_files
from multireal_harness.tasks import BENCHMARK

_WORDS = ("high", "medium", "low")
_METHODS = ("jmespath", "llm_judge", "hybrid")


def export_plan(run_folder: Path, out: Path, *, with_states: bool = False) -> list[Path]:
    """Write a run's results in the `plan` layout and return the files.

    Args:
        run_folder: The run.
        out: Gets `raw/` and `aggregated/`.
        with_states: Write each end state into its result, megabytes each; by default a result has the
            path of the state's file.

    Raises:
        InputError: It is a run of another benchmark.
    """
    run = read_run(run_folder)
    run.tell_damage()
    if run.info.benchmark != BENCHMARK:
        raise InputError(f"{run_folder} is a run of {run.info.benchmark!r}, not {BENCHMARK!r}")
    config: Any = run.info.config.get("model_config", {})
    name = config.get("name") or run.info.model or run.info.agent
    written = []
    exported = []
    for key, result in run.results.items():
        record = _record(run, result, run.trial_folder(key))
        exported.append(record)
        full = record | _states(run, result, with_states=with_states)
        folder = out / "raw" / result.task_id.removeprefix("multi.")
        # the layout has one file per task and model, and no place for further trials
        suffix = "" if result.trial == 1 else f"_trial{result.trial}"
        written.append(_write(folder / f"{_slug(name)}{suffix}.json", full))
    stamp = f"{run.info.started:%Y%m%d_%H%M%S}"
    summary = _summary(run, str(name), list(run.results.values()), exported)
    path = out / "aggregated" / f"summary_{_slug(name)}_{stamp}.json"
    return [*written, _write(path, summary)]


def _record(run: RunView, result: TrialResult, folder: Path) -> dict[str, Any]:
    details: Any = result.details
    return {
        "task_id": result.task_id,
        "model": run.info.model,
        "agent": result.agent,
        "success": bool(result.success),
        "scored": result.score is not None,
        "score": result.score,
        "confidence": details.get("confidence", "low"),
        "eval_method": result.method,
        "status": result.status.value,
        "flags": list(result.flags),
        "jmespath_results": [
            each.model_dump(mode="json") for each in result.checks if each.decided_by != "judge"
        ],
        "llm_judge_result": details.get("judge"),
        "elapsed_time": result.timings_s.get("total"),
        "steps": result.steps,
        "input_tokens": result.usage.input_tokens,
        "output_tokens": result.usage.output_tokens,
        "total_cost": result.cost_usd,
        "error": result.error.message if result.error else None,
        "exp_dir": str(folder),
    }


def _states(run: RunView, result: TrialResult, *, with_states: bool) -> dict[str, Any]:
    """Return the field of the end state: the state itself, or where its file is."""
    stored = result.stored
    # not downloaded where its address is enough, so that a path below is never one of a temporary copy
    if stored is not None and not with_states and FINISH_STATE in result.artifact_paths:
        return {"finish_state_file": f"{stored.url}/files/{FINISH_STATE}"}
    with trial_files(run, result, lambda each: each.path == FINISH_STATE) as folder:
        path = folder / FINISH_STATE
        if not path.exists():
            return {"finish_state": None}
        if with_states:
            return {"finish_state": read_json(path)}
        return {"finish_state_file": str(path)}


def _summary(
    run: RunView, name: str, results: Sequence[TrialResult], exported: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the layout's summary; unscored trials are counted apart, not as failed."""
    scored = [result for result in results if result.score is not None]
    passed = [result for result in scored if result.success]
    costs = [result.cost_usd for result in results]
    known = [cost for cost in costs if cost is not None]
    words = [result.details.get("confidence") for result in passed]
    return {
        "model": name,
        "model_id": run.info.model,
        "timestamp": datetime.now(timezone.utc).isoformat(),
        "total_tasks": len(results),
        "passed": len(passed),
        "failed": len(scored) - len(passed),
        "not_scored": len(results) - len(scored),
        "success_rate": len(passed) / len(scored) if scored else 0,
        "total_time": sum(result.timings_s.get("total", 0.0) for result in results),
        "total_cost": sum(known) if len(known) == len(costs) else None,
        "by_confidence": {word: words.count(word) for word in _WORDS},
        "by_eval_method": {
            method: sum(result.method == method for result in results) for method in _METHODS
        },
        "tasks": exported,
    }


def _write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode())
    return path


def _slug(name: Any) -> str:
    return re.sub(r"[^a-z0-9]+", "_", str(name).lower()).strip("_")
