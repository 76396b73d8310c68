"""Checks of the notes on tasks against reality: their hosts on the Internet, and an idle VM's scores."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import httpx

from bench_core.errors import EvaluationError
from bench_core.records import Task
from waa_client.evaluation import EvaluationClient
from waa_client.task_health import HealthNote, NoteKind, files_of

__all__ = ["check_files", "check_idle"]

_WITH_FILES: tuple[NoteKind, ...] = ("setup-host", "gold-host")
_AT_ONCE = 8
_TIMEOUT_S = 30.0
_BAD_STATUS = 400
# servers that refuse HEAD answer so, and may have the file all the same
_NO_HEAD = frozenset({403, 405, 501})


def check_files(tasks: Sequence[Task]) -> tuple[HealthNote, ...]:
    """Request every file that setup and evaluation fetch and return a note on each missing one."""
    wanted = [
        (task.task_id, kind, url)
        for task in tasks
        for kind in _WITH_FILES
        for url in files_of(task)[kind]
    ]
    faults = asyncio.run(_faults(dict.fromkeys(url for _, _, url in wanted)))
    return tuple(
        HealthNote(
            task_id=task_id,
            kind=kind,
            reason=f"{url}: {faults[url]}",
            check=f"curl -sIL {url}",
        )
        for task_id, kind, url in wanted
        if faults[url]
    )


def check_idle(tasks: Sequence[Task], url: str) -> tuple[HealthNote, ...]:
    """Evaluate tasks on an untouched VM and return a note on each score that is not zero.

    Evaluation runs the tasks' own last steps on the VM, such as pressing Ctrl+S.

    Args:
        tasks: Tasks that cannot be done are evaluated without an action, too.
        url: The evaluator's.

    Raises:
        EnvironmentFaultError: The evaluator does not answer.
    """
    return asyncio.run(_idle(tasks, url))


async def _faults(urls: Iterable[str]) -> dict[str, str]:
    turn = asyncio.Semaphore(_AT_ONCE)
    async with httpx.AsyncClient(follow_redirects=True, timeout=_TIMEOUT_S) as http:

        async def ask(url: str) -> tuple[str, str]:
            async with turn:
                return url, await _fault(http, url)

        return dict(await asyncio.gather(*map(ask, urls)))


async def _fault(http: httpx.AsyncClient, url: str) -> str:
    """Return the problem of a file on the web, or an empty text."""
    try:
        answer = await http.head(url)
        if answer.status_code in _NO_HEAD:
            async with http.stream("GET", url) as answer:
                pass
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return str(error) or type(error).__name__
    return f"answers {answer.status_code}" if answer.status_code >= _BAD_STATUS else ""


async def _idle(tasks: Sequence[Task], url: str) -> tuple[HealthNote, ...]:
    found = []
    async with EvaluationClient(url, tries=4) as evaluator:
        for task in tasks:
            kind, reason = await _idle_note(evaluator, task)
            if kind:
                check = f"waa-client evaluate {task.task_id} --evaluate {url}"
                found.append(
                    HealthNote(task_id=task.task_id, kind=kind, reason=reason, check=check)
                )
    return tuple(found)


async def _idle_note(evaluator: EvaluationClient, task: Task) -> tuple[NoteKind | None, str]:
    try:
        verdict = await evaluator.evaluate(task.config, [])
    except EvaluationError as error:
        return "no-score", str(error)
    if verdict.score is None:
        return "no-score", verdict.reason
    if verdict.score > 0:
        return "idle", f"scores {verdict.score:g} on this VM: {verdict.reason}"
    return None, ""
