"""What doing nothing is worth, by the real evaluator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.discovery import load_agent
from bench_core.protocols import BrowserHandle, TrialContext
from webarena_runner.config import default_config
from webarena_runner.evaluation import HAR_FILE, evaluate, write_answer, write_config
from webarena_runner.tasks import load_tasks, start_urls
from webarena_runner.world import scripted_task_ids

if TYPE_CHECKING:
    from bench_core.records import Task

FREE = {"356", "757", "758", "761", "762", "763", "764", "765", "766", "767"}
"""Tasks whose start page is the page asked for."""


def _opened(url: str) -> dict[str, Any]:
    """One navigation by a browser, as a HAR entry."""
    headers = {
        "Accept": "text/html,application/xhtml+xml",
        "Sec-Fetch-Dest": "document",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-User": "?1",
    }
    named = [{"name": name, "value": value} for name, value in headers.items()]
    content = {"mimeType": "text/html", "text": "", "size": 0}
    return {
        "request": {"method": "GET", "url": url, "headers": named, "cookies": []},
        "response": {"status": 200, "headers": [], "cookies": [], "content": content},
    }


async def _score(task: Task, context: TrialContext) -> float | None:
    """Score the do-nothing agent on a trial in which only the start pages were opened."""
    config, folder = default_config(), context.folder
    browser = BrowserHandle(cdp_url="http://127.0.0.1:1")
    outcome = await load_agent("do-nothing").run(task.for_agent(), browser, context)
    urls = config.render(start_urls(task), list(task.groups["site"]))
    write_answer(folder, outcome.answer)
    write_config(folder, config)
    log = {"log": {"version": "1.2", "entries": [_opened(url) for url in urls]}}
    (folder / HAR_FILE).write_text(json.dumps(log), encoding="utf-8")
    return evaluate(task, folder).score


async def test_it_scores_nothing_on_the_built_in_world(context: TrialContext) -> None:
    scripted = set(map(str, scripted_task_ids()))
    tasks = [task for task in load_tasks() if task.task_id in scripted]

    assert {await _score(task, context) for task in tasks} == {0.0}


@pytest.mark.parametrize("task_id", sorted(FREE))
async def test_it_scores_where_the_start_page_is_the_answer(
    task_id: str, context: TrialContext
) -> None:
    task = next(each for each in load_tasks() if each.task_id == task_id)

    assert await _score(task, context) == 1.0
