"""The first two requests of every agent that calls a model hold what a reader needs, in every dialect.

What is missing is found by reading the request alone; leaving any of it out of what is sent is noticed.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
from drawn import NOTE, SIZE, DrawnDesktop
from test_support.model_requests import ReadRequest, Seen
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer

from bench_core.agents import (
    Declaration,
    ModelStepper,
    Observation,
    ToolCalling,
    computer_use_agent,
    serve_environment,
    tool_calling_agent,
)
from bench_core.agents.dialects import all_dialects
from bench_core.errors import EnvironmentFaultError
from bench_core.models import RetryPolicy, open_model
from bench_core.protocols import TrialContext
from bench_core.records import AgentTask, Limits

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import AgentOutcome

SDKS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-chat": "openai",
    "google": "google.genai",
}
TASK = AgentTask(
    benchmark="drawn",
    task_id="save-hello",
    goal="Write hello and save it.",
    instructions="The note belongs to Maria.",
    answer_schema={
        "type": "object",
        "properties": {
            "verdict": {
                "type": "string",
                "enum": ["SAVED", "LOST"],
                "description": "what became of it",
            }
        },
        "required": ["verdict"],
    },
    can_fail=False,
)
END = '{"verdict": "SAVED"}'
X, Y = NOTE[0] + 20, NOTE[1] + 20
GRID = [round(X * 1000 / SIZE[0]), round(Y * 1000 / SIZE[1])]
MODELS = {
    "computer_20250124": "anthropic:claude-sonnet-4-5",
    "computer_20251124": "anthropic:claude-opus-4-6",
    "computer_toolset_20260801": "anthropic:claude-opus-5-5",
    "browser_toolset_20260801": "anthropic:claude-opus-5-5",
    "computer": "openai:gpt-5.5",
    "computer_use_preview": "openai:computer-use-preview",
    "google_computer_use_2025": "google:gemini-2.5-computer-use-preview-10-2025",
    "google_computer_use_2026": "google:gemini-3.7-flash",
    "qwen3_vl": "openai-chat:Qwen/Qwen3-VL-8B-Instruct",
    "qwen3_5": "openai-chat:Qwen/Qwen3.5-9B",
    "ui_tars_1_5": "openai-chat:bytedance/UI-TARS-1.5-7B",
}
TOOL_CALLING = {
    f"tool-calling over {name.partition(':')[0]}": name
    for name in (
        "anthropic:claude-opus-5-5",
        "openai:gpt-5.5",
        "openai-chat:any",
        "google:gemini-3.7-flash",
    )
}
PICTURES_ONLY = {
    "computer_20250124",
    "computer_20251124",
    "computer",
    "computer_use_preview",
    "qwen3_vl",
    "qwen3_5",
    "ui_tars_1_5",
    "google_computer_use_2025",
    "google_computer_use_2026",
}
LOOKS_FIRST = {"computer_toolset_20260801", "browser_toolset_20260801"}
"""Tools by which a model asks for what it wants to see."""


class DrawnPage(DrawnDesktop):
    """The same as a page of a browser."""

    async def observe(self) -> Observation:
        seen = await super().observe()
        return seen.model_copy(
            update={"url": "http://notes.test/", "tabs": ("http://notes.test/",)}
        )


def click(dialect: str) -> Answer:
    """Return a click on the note, as a model of the dialect asks for it."""
    call: tuple[str, dict[str, Any]]
    toolset = None
    if dialect == "ui_tars_1_5":
        return Answer(text=f"Thought: the note.\nAction: click(start_box='({X},{Y})')")
    if dialect in {"computer_20250124", "computer_20251124"}:
        call = ("computer", {"action": "left_click", "coordinate": [X, Y]})
    elif dialect == "computer_toolset_20260801":
        call, toolset = ("left_click", {"coordinate": [X, Y]}), "computer"
    elif dialect == "browser_toolset_20260801":
        call, toolset = (
            ("left_click", {"target": {"type": "coordinate", "x": X, "y": Y}}),
            "browser",
        )
    elif dialect in {"computer", "computer_use_preview"}:
        call, toolset = ("click", {"x": X, "y": Y, "button": "left"}), dialect
    elif dialect == "google_computer_use_2025":
        call = ("click_at", {"x": GRID[0], "y": GRID[1]})
    elif dialect == "google_computer_use_2026":
        call = ("click", {"x": GRID[0], "y": GRID[1], "intent": "the note"})
    elif dialect.startswith("qwen"):
        call = ("computer_use", {"action": "left_click", "coordinate": GRID})
    else:
        call = ("click", {"x": X, "y": Y})
    return Answer(tool_calls=(call,), toolset=toolset, stop="tool_use")


def end(dialect: str) -> Answer:
    if dialect == "ui_tars_1_5":
        return Answer(text=f"Thought: done.\nAction: finished(content='{END}')")
    if dialect.startswith("qwen"):
        return Answer(
            tool_calls=(("computer_use", {"action": "answer", "text": END}),), stop="tool_use"
        )
    return Answer(tool_calls=(("done", {"verdict": "SAVED"}),), stop="tool_use")


def missing(requests: list[ReadRequest], dialect: str) -> list[str]:
    """Return what a reader of the requests would not know."""
    first, second = requests[0], requests[1]
    everything = f"{first.system}\n{first.text}\n{first.tools}\n{first.native}"
    ways = "finished(" in everything or any(
        name in str(first.tools) for name in ("'done'", "'answer'", "terminate")
    )
    found = {
        "the goal": TASK.goal in first.text,
        "the instructions": TASK.instructions in first.text,
        "the form of the answer": all(word in everything for word in ("verdict", "SAVED", "LOST")),
        "a way to end": ways,
        "a way to act": bool(first.native) or "click" in f"{first.tools}{first.system}",
        "the picture": len(first.pictures) == 1,
        "the elements": dialect in PICTURES_ONLY or dialect in LOOKS_FIRST or "Save" in first.text,
        "its own call": any(part.kind == "call" or "click(" in part.text for part in own(second)),
        "the result of its call": answered(second),
    }  # fmt: skip
    return [name for name, there in found.items() if not there]


def own(request: ReadRequest) -> list[Any]:
    return [part for role, parts in request.turns if role == "assistant" for part in parts]


def answered(request: ReadRequest) -> bool:
    """Whether a call is answered: by a result, or by the user's next turn where calls are text."""
    if any(part.kind == "call" for part in own(request)):
        return any(part.kind == "result" and part.inside for part in request.parts())
    return [role for role, _ in request.turns] == ["user", "assistant", "user"]


async def sent(folder: Path, kind: str, task: AgentTask) -> tuple[list[ReadRequest], AgentOutcome]:
    """Return what a model is sent that clicks on the note and ends, and how the trial ended."""
    name = MODELS.get(kind) or TOOL_CALLING[kind]
    provider = name.partition(":")[0]
    try:
        found = importlib.util.find_spec(SDKS[provider])
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {provider} is not installed")
    browser = all_dialects()[kind].environments == ("browser",) if kind in MODELS else True
    place = DrawnPage() if browser else DrawnDesktop()
    seen: list[Seen] = []

    def answer(request: Seen) -> Answer:
        seen.append(request)
        return click(kind) if len(seen) == 1 else end(kind)

    with ModelServer(answer, rules=Rules()) as server:
        model = open_model(
            name, api_key="a key of some length", base_url=server.base_url(provider),
            policy=RetryPolicy(attempts=1),
        )  # fmt: skip
        async with model, serve_environment(place) as handle:
            agent = (
                computer_use_agent(model, tool=kind, browser=browser, screen=SIZE)
                if kind in MODELS
                else tool_calling_agent(model)
            )
            context = TrialContext(run_id="r", folder=folder, limits=Limits(max_steps=4))
            outcome = await agent.run(task, handle, context)
    return [ReadRequest.of(each) for each in seen], outcome


KINDS = [*MODELS, *TOOL_CALLING]


def test_every_dialect_is_read() -> None:
    assert set(MODELS) == set(all_dialects())


@pytest.mark.parametrize("kind", KINDS)
async def test_a_reader_is_told_all_it_needs(tmp_path: Path, kind: str) -> None:
    requests, outcome = await sent(tmp_path, kind, TASK)
    assert (outcome.answer, outcome.error, len(requests)) == ({"verdict": "SAVED"}, None, 2)
    assert missing(requests, kind) == []


NO_ELEMENTS = PICTURES_ONLY | LOOKS_FIRST
LEFT_OUT = {
    "the goal": KINDS,
    "the instructions": KINDS,
    "the form of the answer": KINDS,
    "the tools": KINDS,
    "the picture": KINDS,
    "the elements": [each for each in KINDS if each not in NO_ELEMENTS],
    # calls that are text are answered by the next turn, whatever makes it
    "the result of a call": [each for each in KINDS if each != "ui_tars_1_5"],
}


@pytest.mark.parametrize(
    ("left_out", "kind"), [(what, kind) for what, kinds in LEFT_OUT.items() for kind in kinds]
)
async def test_what_is_left_out_of_a_request_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_out: str, kind: str
) -> None:
    task = TASK
    if left_out == "the goal":
        task = TASK.model_copy(update={"goal": "Do it."})
    elif left_out == "the instructions":
        task = TASK.model_copy(update={"instructions": ""})
    elif left_out == "the form of the answer":
        task = TASK.model_copy(update={"answer_schema": None})
    elif left_out == "the tools":
        spoken: Any = type(all_dialects()[kind]) if kind in MODELS else ToolCalling
        monkeypatch.setattr(spoken, "declare", lambda *_: Declaration(system="Act."))
    elif left_out == "the result of a call":
        monkeypatch.setattr(ModelStepper, "_answers", lambda *_, **__: ())
    else:
        blind = {"the picture": {"screenshot": None}, "the elements": {"elements": ()}}[left_out]
        observe = DrawnDesktop.observe

        async def observed(desktop: DrawnDesktop) -> Observation:
            return (await observe(desktop)).model_copy(update=blind)

        monkeypatch.setattr(DrawnDesktop, "observe", observed)
    try:
        requests, outcome = await sent(tmp_path, kind, task)
    except EnvironmentFaultError:
        return  # the API refuses such a request
    assert outcome.error is not None or missing(requests, kind) != []
