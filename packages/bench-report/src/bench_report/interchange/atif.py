"""Trajectories in ATIF (Agent Trajectory Interchange Format) v1.8: one file per trial, as Harbor reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.files import folder_name, plain_files, write_atomic
from bench_core.records import ErrorInfo, RunInfo, Status, Step, Task, TrialResult, Usage
from bench_core.records.problems import problems_of
from bench_report.interchange.imported_run import ImportedRun, ImportedTrial, read_json
from bench_report.interchange.inspect_export import call_of, steps_of
from bench_report.run_data.artifacts import IMAGE_TYPES, artifact_link
from bench_report.run_data.sources import Source

VERSION = "ATIF-v1.8"
_PREFIX = "ATIF-v1."
_Json = dict[str, Any]


def export_atif(run: Source, out: Path) -> list[Path]:
    """Write every trial of a run as `<task>.<trial>.json` in `out`.

    Screenshots are linked where they are, in the run folder.
    """
    out.mkdir(parents=True, exist_ok=True)
    tasks = {task.task_id: task for task in run.tasks}
    files = []
    for result in run.results:
        file = out / f"{folder_name(result.task_id)}.{result.trial}.json"
        document = _trajectory(run, tasks[result.task_id], result, run.relative_to(out))
        # ASCII: the text of a page may hold unpaired surrogates, which UTF-8 cannot encode.
        write_atomic(file, json.dumps(document, ensure_ascii=True, allow_nan=False).encode())
        files.append(file)
    return files


def _trajectory(run: Source, task: Task, result: TrialResult, base: str) -> _Json:
    info = run.info
    steps = steps_of(run, result)
    folder = run.trial_folder(result)
    artifacts = None if folder is None else f"{base}/{folder}"
    # Step 1 is the task: ATIF numbers the user's messages among the steps.
    turns = [_step(number, step, artifacts) for number, step in enumerate(steps, start=2)]
    first = {"step_id": 1, "source": "user", "message": task.goal}
    agent: _Json = {"name": info.agent, "version": info.versions.get("bench-core", "unknown")}
    if result.model_reported or info.model:
        agent["model_name"] = result.model_reported or info.model
    metrics: _Json = {
        "total_prompt_tokens": result.usage.input_tokens,
        "total_completion_tokens": result.usage.output_tokens,
        "total_cached_tokens": result.usage.cached_input_tokens,
        "total_steps": result.steps,
    }
    if result.cost_usd is not None:
        metrics["total_cost_usd"] = result.cost_usd
    return {
        "schema_version": VERSION,
        "session_id": info.run_id,
        "trajectory_id": f"{info.run_id}/{task.task_id}/{result.trial}",
        "agent": agent,
        "steps": [first, *turns],
        "final_metrics": metrics,
        "extra": {
            "reward": result.score,
            **({"damage": list(run.view.damage)} if run.view.damage else {}),
            "proctor": {
                "run": info.model_dump(mode="json"),
                "task": task.model_dump(mode="json"),
                "result": result.model_dump(mode="json"),
            },
        },
    }


def _step(number: int, step: Step, folder: str | None) -> _Json:
    """Write a step; `extra` holds all of it as Proctor stores it."""
    calls = [
        {
            "tool_call_id": f"{step.step}-{n}",
            "function_name": call["function"],
            "arguments": call["arguments"],
        }
        for n, call in enumerate(map(call_of, step.actions))
    ]
    results: list[_Json] = [
        {"content": text} | ({"source_call_id": calls[n]["tool_call_id"]} if n < len(calls) else {})
        for n, text in enumerate(step.results)
    ]
    picture = _picture(step, folder)
    if picture:
        results.append({"content": [picture]})
    found: _Json = {
        "step_id": number,
        "source": "agent",
        "message": step.thought or "",
        "extra": {"proctor": step.model_dump(mode="json", exclude_none=True)},
    }
    if step.started:
        found["timestamp"] = step.started.isoformat()
    if calls:
        found["tool_calls"] = calls
    if results:
        found["observation"] = {"results": results}
    if step.usage:
        found["metrics"] = {
            "prompt_tokens": step.usage.input_tokens,
            "completion_tokens": step.usage.output_tokens,
            "cached_tokens": step.usage.cached_input_tokens,
        }
    return found


def _picture(step: Step, folder: str | None) -> _Json | None:
    if step.screenshot is None or folder is None:
        return None
    kind = next(
        (k for suffix, k in IMAGE_TYPES.items() if step.screenshot.lower().endswith(suffix)), None
    )
    if kind is None:
        return None
    return {
        "type": "image",
        "source": {"media_type": kind, "path": artifact_link(folder, step.screenshot)},
    }


def import_atif(path: Path, *, benchmark: str = "atif") -> ImportedRun:
    """Read a trajectory file, or every one in a folder.

    A trajectory has no score of its own: it is taken from the `extra` of our export, from
    `extra.reward`, or from Harbor's `result.json` next to the agent's folder. Without any it is None.

    Args:
        path: A `.json` file, or a folder searched with its subfolders.
        benchmark: Name of the benchmark, if the file does not state it.

    Raises:
        InputError: No trajectory is there, or one cannot be read.
    """
    found = [(file, document) for file in _files(path) if (document := _document(file, path))]
    if not found:
        raise InputError(f"{path} contains no ATIF trajectory")
    numbers: dict[str, int] = {}
    trials = [_read(file, document, benchmark, numbers) for file, document in found]
    _, first = found[0]
    extra = first.get("extra") or {}
    info = (extra.get("proctor") or {}).get("run")
    return ImportedRun(
        benchmark=trials[0].task.benchmark,
        version=None,
        agent=str(first["agent"]["name"]),
        model=first["agent"].get("model_name"),
        source=path.name,
        trials=trials,
        info=RunInfo.model_validate_json(json.dumps(info)) if info else None,
    )


def _read(file: Path, document: _Json, benchmark: str, numbers: dict[str, int]) -> ImportedTrial:
    try:
        extra = document.get("extra") or {}
        steps = [step for step in document["steps"] if step.get("source") == "agent"]
        own = extra.get("proctor")
        if isinstance(own, dict):
            return ImportedTrial(
                Task.model_validate_json(json.dumps(own["task"])),
                TrialResult.model_validate_json(json.dumps(own["result"])),
                [Step.model_validate_json(json.dumps(each["extra"]["proctor"])) for each in steps],
            )
        record = _harbor_record(file)
        # Harbor writes `<trial>/agent/trajectory.json`: without its record, the trial's folder is the best name.
        name = str(record.get("task_name") or file.parent.parent.name or file.stem)
        # ATIF has no trial number: files of one task are counted.
        numbers[name] = numbers.get(name, 0) + 1
        goal = next(
            (_text(s.get("message")) for s in document["steps"] if s.get("source") == "user"), ""
        )
        task = Task(benchmark=benchmark, task_id=name, goal=goal)
        made = []
        for number, step in enumerate(steps, start=1):
            said = (step.get("reasoning_content"), _text(step.get("message")))
            calls = step.get("tool_calls") or ()
            results = (step.get("observation") or {}).get("results", ())
            made.append(
                Step(
                    step=number,
                    thought="\n".join(filter(None, said)) or None,
                    actions=tuple({c["function_name"]: c["arguments"]} for c in calls),
                    results=tuple(filter(None, (_text(each.get("content")) for each in results))),
                )
            )
        return ImportedTrial(task, _result(document, task, numbers[name], record, made), made)
    except (KeyError, TypeError, AttributeError, ValidationError) as error:
        what = problems_of(error) if isinstance(error, ValidationError) else error
        raise InputError(f"{file} cannot be read: {type(error).__name__}: {what}") from None


def _files(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return [path / name for name in plain_files(path) if name.endswith(".json")]
    if not path.is_file():
        raise InputError(f"{path} does not exist: give an ATIF file or a folder of them")
    return [path]


def _document(file: Path, asked: Path) -> _Json | None:
    """Return a trajectory; other JSON files in a folder are passed over."""
    try:
        found = read_json(file)
    except InputError:
        if file == asked:
            raise
        return None
    version = found.get("schema_version")
    if isinstance(version, str) and version.startswith(_PREFIX):
        return found
    if file == asked:
        raise InputError(f"{file} is not an ATIF v1 trajectory: its schema_version is {version!r}")
    return None


def _harbor_record(file: Path) -> _Json:
    """Return Harbor's record of the trial, from the trial's folder or its own."""
    for folder in (file.parent.parent, file.parent):
        record = folder / "result.json"
        if record.is_file():
            return read_json(record)
    return {}


def _result(
    document: _Json, task: Task, trial: int, record: _Json, steps: Sequence[Step]
) -> TrialResult:
    rewards = (record.get("verifier_result") or {}).get("rewards") or {}
    value = (document.get("extra") or {}).get("reward")
    if value is None:
        value = rewards.get("reward", next(iter(rewards.values()), None))
    score = float(value) if isinstance(value, int | float) else None
    failed = record.get("exception_info")
    metrics = document.get("final_metrics") or {}
    message = "the trajectory has no score"
    if failed:
        message = f"{failed.get('exception_type')}: {failed.get('exception_message')}"
    unscored = Status.ENVIRONMENT_ERROR if failed else Status.EVALUATION_ERROR
    return TrialResult(
        benchmark=task.benchmark,
        task_id=task.task_id,
        trial=trial,
        agent=str(document["agent"]["name"]),
        model=document["agent"].get("model_name"),
        status=unscored if score is None else Status.COMPLETED,
        score=score,
        method=None if score is None else "harbor verifier",
        steps=len(steps),
        usage=Usage(
            input_tokens=metrics.get("total_prompt_tokens") or 0,
            output_tokens=metrics.get("total_completion_tokens") or 0,
            cached_input_tokens=metrics.get("total_cached_tokens") or 0,
        ),
        cost_usd=metrics.get("total_cost_usd"),
        error=ErrorInfo(kind="ImportError", message=message) if score is None else None,
    )


def _text(content: Any) -> str:
    """Return the text of a message, its pictures left out."""
    if isinstance(content, list):
        return "\n".join(each["text"] for each in content if each.get("type") == "text")
    return content or ""
