"""Agents played by models that read, on the built-in worlds: what a reader solves is scored."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.model_requests import WORLDS
from integration_tests.readers import Reader
from test_support.model_rules import Rules
from test_support.model_server import ModelServer

from bench_core.agents import tool_calling_agent
from bench_core.models import RetryPolicy, open_model
from bench_core.records import Status
from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from integration_tests.model_requests import Run
    from test_support.model_requests import ReadPart, ReadRequest

    from bench_core.records import TrialResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASKS = {
    "webarena": ("44", "94", "156", "258", "260", "274", "399", "418", "448"),
    "multireal": (
        "multi.dining-mail-2", "multi.calendar-mail-2", "multi.calendar-dining-1", "multi.dining-mail-1",
        "multi.mail-travel-1", "multi.mail-travel-2", "multi.dining-travel-1", "multi.calendar-mail-1",
    ),
    "waa": (
        "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS",
        "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS-2",
        "file_explorer/2b0c0844-bd4f-42ba-a25e-afb4267d51e2-WOS",
        "file_explorer/34a4fee9-e52e-4a4a-96d2-68d35091504a-WOS",
        "file_explorer/5316686e-5688-4115-be24-052037df599f-WOS",
        "msedge/049d3788-c979-4ea6-934d-3a35c4630faf-WOS",
        "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS",
        "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-2-WOS",
    ),
}  # fmt: skip
"""What readers solve on each world; `nox -t computer-use` has all."""
EVERY = os.environ.get("COMPUTER_EPISODES") == "all"
STEPS = 30


MODELS = (
    "openai-chat:any",
    "anthropic:claude-opus-5-5",
    "openai:gpt-5.5",
    "google:gemini-3.7-flash",
)
"""The tasks of a world take turns with them, so that each API is read on each world."""


class Played:
    """The agent `tool-calling` over a model server on which a reader answers, in the wire format of `model`."""

    name = "tool-calling"

    def __init__(self, reader: Reader, model: str) -> None:
        self.reader = reader
        self.model = model

    async def run(self, task: Any, environment: Any, context: Any) -> Any:
        with ModelServer(self.reader, rules=Rules()) as server:
            model = open_model(
                self.model, api_key="a key of some length",
                base_url=server.base_url(self.model.partition(":")[0]),
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


def play(run: Run, task: str, reader: Reader, out: Path, model: str = MODELS[0]) -> TrialResult:
    run(Played(reader, model), task, out, STEPS)
    (result,) = read_run(out).results.values()
    return result


@pytest.mark.parametrize(
    ("world", "task", "model"),
    [
        (w, task, MODELS[n % len(MODELS)])
        for w, tasks in TASKS.items()
        for n, task in enumerate(tasks if EVERY else tasks[: len(MODELS)])
    ],
)
def test_what_a_reader_solves_is_scored(
    tmp_path: Path, worlds: Callable[[str], Run], world: str, task: str, model: str
) -> None:
    reader = Reader()
    result = play(worlds(world), task, reader, tmp_path / "run", model)
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
    ("waa", "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS"): (
        without_goal,
        without_elements,
        without_tool,
    ),
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
