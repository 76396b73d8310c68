"""The tasks that an evaluator cannot score because an optional part of it is not installed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench_core.discovery import load_plugin
from bench_core.errors import BenchError
from bench_core.records import Task
from waa_client.evaluation import EvaluationClient


def unscored_at(tasks: Sequence[Task], evaluators: Iterable[str]) -> str | None:
    """Say why some tasks could get no score by these evaluators; silent ones are left to the trials' errors."""

    async def asked() -> list[Mapping[str, str]]:
        return await asyncio.gather(*map(_missing, urls))

    urls = list(evaluators)
    for url, missing in zip(urls, asyncio.run(asked()), strict=True):
        if reason := unscored_by(tasks, missing):
            return f"{reason} where the evaluator {url} runs"
    return None


async def _missing(url: str) -> Mapping[str, str]:
    try:
        async with EvaluationClient(url, tries=1) as evaluator:
            found = (await evaluator.capabilities()).get("missing")
    except BenchError:
        return {}
    return found if isinstance(found, dict) else {}


def unscored_here(tasks: Sequence[Task]) -> str | None:
    """Say why some tasks could get no score by the evaluator of the installed simulated desktop."""
    world: Any = load_plugin("world", "waa")
    missing: Mapping[str, str] = getattr(world, "missing_metrics", dict)()
    return unscored_by(tasks, missing)


def unscored_by(tasks: Sequence[Task], missing: Mapping[str, str]) -> str | None:
    """Say how many tasks call a missing getter or metric, and the requirement of the first.

    >>> task = Task(benchmark="waa", task_id="a/b", goal="", config={"evaluator": {"func": "compare_docx_files"}})
    >>> unscored_by([task], {"compare_docx_files": "needs docx"})
    "1 of 1 tasks could get no score, such as 'a/b': compare_docx_files needs docx"
    """
    hurt = [(task, name) for task in tasks if (name := next(_used(task, missing), None))]
    if not hurt:
        return None
    task, name = hurt[0]
    which = f"{len(hurt)} of {len(tasks)} tasks could get no score, such as {task.task_id!r}"
    return f"{which}: {name} {missing[name]}"


def _used(task: Task, names: Mapping[str, str]) -> Iterator[str]:
    """Yield the getters and metrics among `names` that the task's evaluation calls."""
    evaluator: Any = task.config.get("evaluator") or {}
    yield from (each for each in _listed(evaluator.get("func")) if each in names)
    for side in ("result", "expected"):
        for each in _listed(evaluator.get(side)):
            if isinstance(each, dict) and each.get("type") in names:
                yield each["type"]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
