"""Agents played by models that read, on the built-in worlds: what a reader solves is scored."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.model_requests import WORLDS
from integration_tests.readers import Reader

from bench_core.agents import tool_calling_agent
from bench_core.models import RetryPolicy, open_model
from bench_core.records import Status
from bench_core.run_folder import read_run
from bench_core.testing.model_rules import Rules
from bench_core.testing.model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from integration_tests.model_requests import Run

    from bench_core.records import TrialResult
    from bench_core.testing.model_requests import ReadPart, ReadRequest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASKS = {
    "webarena": ("44", "94", "156", "258", "260", "274", "399", "418", "448"),
    "multireal": (
        "multi.dining-mail-2", "multi.calendar-mail-2", "multi.calendar-dining-1", "multi.dining-mail-1",
    ),
    "waa": (),
}  # fmt: skip
"""What readers solve on each world."""
STEPS = 30


class Played:
    """The agent `tool-calling` over a model server on which a reader answers."""

    name = "tool-calling"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    async def run(self, task: Any, environment: Any, context: Any) -> Any:
        with ModelServer(self.reader, rules=Rules()) as server:
            model = open_model(
                "openai-chat:any", api_key="a key of some length", base_url=server.base_url("openai-chat"),
                policy=RetryPolicy(attempts=1),
            )  # fmt: skip
            async with model:
                return await tool_calling_agent(model).run(task, environment, context)


@pytest.fixture(scope="module")
def worlds() -> Iterator[Callable[[str], Run]]:
    """Start each world when it is first asked for."""
    pytest.importorskip("browser_use")
    with ExitStack() as stack:
        started: dict[str, Run] = {}

        def run(name: str) -> Run:
            if name not in started:
                started[name] = stack.enter_context(WORLDS[name]())
            return started[name]

        yield run


def play(run: Run, task: str, reader: Reader, out: Path) -> TrialResult:
    run(Played(reader), task, out, STEPS)
    (result,) = read_run(out).results.values()
    return result


@pytest.mark.parametrize(("world", "task"), [(w, t) for w, tasks in TASKS.items() for t in tasks])
def test_what_a_reader_solves_is_scored(
    tmp_path: Path, worlds: Callable[[str], Run], world: str, task: str
) -> None:
    reader = Reader()
    result = play(worlds(world), task, reader, tmp_path / "run")
    assert (result.status, result.score) == (Status.COMPLETED, 1.0), reader.fault or result.checks


def without_goal(request: ReadRequest) -> ReadRequest:
    return without_lines(request, "Task: ")


def without_elements(request: ReadRequest) -> ReadRequest:
    return without_lines(request, "[", " [", "  [")


def without_lines(request: ReadRequest, *starts: str) -> ReadRequest:
    turns = tuple(
        (role, tuple(map(partial(cut, starts=starts), parts))) for role, parts in request.turns
    )
    return replace(request, turns=turns)


def cut(part: ReadPart, starts: tuple[str, ...]) -> ReadPart:
    kept = [line for line in part.text.splitlines() if not line.startswith(starts)]
    return replace(
        part, text="\n".join(kept), inside=tuple(cut(each, starts) for each in part.inside)
    )


def without_form(request: ReadRequest) -> ReadRequest:
    bare = {"description": "", "parameters": {"type": "object", "properties": {"answer": {}}}}
    return replace(request, tools={**request.tools, "done": bare})


def without_tool(request: ReadRequest) -> ReadRequest:
    return replace(request, tools={"done": request.tools["done"]})


LEFT_OUT = {
    ("webarena", "94"): (without_goal, without_elements, without_form, without_tool),
    ("multireal", "multi.dining-mail-2"): (without_goal, without_elements, without_tool),
}


@pytest.mark.parametrize(
    ("place", "left_out"), [(place, each) for place, them in LEFT_OUT.items() for each in them]
)
def test_without_part_of_the_request_a_reader_does_not_solve_its_task(
    tmp_path: Path,
    worlds: Callable[[str], Run],
    place: tuple[str, str],
    left_out: Callable[[ReadRequest], ReadRequest],
) -> None:
    world, task = place
    result = play(worlds(world), task, Reader(left_out), tmp_path / "run")
    assert result.score != 1.0
