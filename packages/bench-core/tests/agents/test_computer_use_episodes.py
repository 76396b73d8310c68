"""Episodes through the real SDKs against a server that refuses what the providers refuse."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer

from bench_core.agents import (
    ActionResult,
    Click,
    NewTab,
    Observation,
    PointerPosition,
    ReadPage,
    Tab,
)
from bench_core.agents.computer_use import computer_use_agent
from bench_core.agents.dialects import dialect_named
from bench_core.errors import InputError
from bench_core.models import Cassette, ImagePart, Model, RetryPolicy, ScriptedAdapter, open_model
from bench_core.records import Limits, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from drawn import DrawnDesktop

    from bench_core.agents import Action
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentTask

NOTE, SAVE = (160, 70), (60, 155)


def grid(at: tuple[int, int]) -> dict[str, int]:
    return {"x": round(at[0] * 1000 / 320), "y": round(at[1] * 1000 / 200)}


def text(said: str) -> Answer:
    return Answer(text=said, thinking="I think.")


def calls(toolset: str | None, *made: tuple[str, dict[str, Any]], **more: Any) -> Answer:
    return Answer(tool_calls=made, toolset=toolset, stop="tool_use", thinking="I think.", **more)


def old(action: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "computer", {"action": action, **arguments}


def qwen(action: str, **arguments: Any) -> str:
    call = {"name": "computer_use", "arguments": {"action": action, **arguments}}
    return f"<tool_call>{json.dumps(call)}</tool_call>"


OLD = [
    calls(None, old("screenshot")),
    calls(None, old("left_click", coordinate=[*NOTE]), old("type", text="hello")),
    calls(None, old("left_click", coordinate=[*SAVE])),
    calls(None, ("done", {"answer": "saved"})),
]
TOOLSET = [
    calls("computer", ("screenshot", {})),
    calls(
        "computer",
        ("left_click", {"coordinate": [*NOTE]}),
        ("screenshot", {}),
        ("type", {"text": "hello"}),
    ),
    calls("computer", ("left_click", {"coordinate": [*SAVE]}), ("screenshot", {})),
    text("It is saved."),
]
OPENAI = [
    calls("computer", ("screenshot", {})),
    calls(
        "computer",
        ("click", {"x": NOTE[0], "y": NOTE[1], "button": "left"}),
        ("type", {"text": "hello"}),
        safety_checks=("malicious_instructions",),
    ),
    calls("computer", ("click", {"x": SAVE[0], "y": SAVE[1], "button": "left"})),
    text("It is saved."),
]
PREVIEW = [
    calls("computer_use_preview", ("click", {"x": NOTE[0], "y": NOTE[1], "button": "left"})),
    calls("computer_use_preview", ("type", {"text": "hello"})),
    calls("computer_use_preview", ("click", {"x": SAVE[0], "y": SAVE[1], "button": "left"})),
    text("It is saved."),
]
GOOGLE = [
    calls(None, ("take_screenshot", {})),
    calls(None, ("click", grid(NOTE)), ("type", {"text": "hello"})),
    calls(None, ("click", {**grid(SAVE), "safety_decision": {"decision": "require_confirmation"}})),
    text("It is saved."),
]
QWEN_TEXT = [
    Answer(text=f"I click. {qwen('left_click', coordinate=[500, 350])}"),
    Answer(text=qwen("type", text="hello")),
    Answer(text=qwen("left_click", coordinate=[188, 775])),
    Answer(text=qwen("terminate", status="success")),
]
QWEN_CALLS = [
    calls(None, ("computer_use", {"action": "left_click", "coordinate": [500, 350]})),
    calls(None, ("computer_use", {"action": "type", "text": "hello"})),
    calls(None, ("computer_use", {"action": "left_click", "coordinate": [188, 775]})),
    calls(None, ("computer_use", {"action": "terminate", "status": "success"})),
]
TARS = [
    Answer(text="Thought: t\nAction: click(start_box='(182,78)')"),
    Answer(text="Thought: t\nAction: type(content='hello')"),
    Answer(text="Thought: t\nAction: click(start_box='(68,174)')"),
    Answer(text="Thought: t\nAction: finished(content='saved')"),
]
EPISODES: dict[str, tuple[str, list[Answer]]] = {
    "claude 2025-01": ("anthropic:claude-haiku-4-5", OLD),
    "claude 2025-11": ("anthropic:claude-opus-4-6", OLD),
    "claude toolset": ("anthropic:claude-opus-5-5", TOOLSET),
    "claude fable": ("anthropic:claude-fable-5-2", TOOLSET),
    "openai": ("openai:gpt-5.5", OPENAI),
    "openai preview": ("openai:computer-use-preview", PREVIEW),
    "google": ("google:gemini-3.7-flash", GOOGLE),
    "qwen in text": ("openai-chat:Qwen/Qwen3-VL-8B-Instruct", QWEN_TEXT),
    "qwen by the api": ("openai-chat:Qwen/Qwen3-VL-8B-Instruct", QWEN_CALLS),
    "ui-tars": ("openai-chat:ByteDance-Seed/UI-TARS-1.5-7B", TARS),
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(rules=Rules()) as running:
        yield running


def connect(name: str, server: ModelServer, **options: Any) -> Model:
    provider = name.partition(":")[0]
    module = {"openai-chat": "openai", "google": "google.genai"}.get(provider, provider)
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {provider} is not installed")
    policy = RetryPolicy(attempts=1, deadline_s=600, timeout_s=600)
    return open_model(
        name,
        api_key="a key of some length",
        base_url=server.base_url(provider),
        policy=policy,
        **options,
    )


@pytest.mark.parametrize("episode", EPISODES)
async def test_an_episode_is_done_and_replays(
    episode: str,
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    name, script = EPISODES[episode]
    server.say(*script)
    tape = context.folder / "tape.jsonl"
    async with connect(name, server, cassette=Cassette(tape, "record", "sequence")) as model:
        outcome = await computer_use_agent(model, browser=False).run(task, handle, context)
    assert (outcome.status, outcome.error) == (Status.COMPLETED, None)
    assert (desktop.saved, outcome.steps) == ("hello", 4)
    assert server.rules is not None
    assert (server.rules.changed_prefixes, server.rules.follow_ups) == (0, 3)
    assert "dialect" in outcome.details
    assert ("safety_check_acknowledged" in outcome.flags) == (episode in {"openai", "google"})
    desktop.saved, desktop.text = None, ""
    again = context.model_copy(update={"folder": context.folder / "again"})
    provider, _, model_name = name.partition(":")
    silent = ScriptedAdapter([], model=model_name, provider=provider)
    async with Model(silent, cassette=Cassette(tape, "replay", "sequence")) as model:
        replayed = await computer_use_agent(model, browser=False).run(task, handle, again)
    assert (desktop.saved, replayed.answer) == ("hello", outcome.answer)


LOOKING: dict[str, tuple[str, Answer, Answer]] = {
    "anthropic": (
        "anthropic:claude-opus-5-5",
        calls("computer", ("mouse_move", {"coordinate": [1, 2]}), ("screenshot", {})),
        text("Done."),
    ),
    "openai": (
        "openai:gpt-5.5",
        calls("computer", ("move", {"x": 1, "y": 2}), ("screenshot", {})),
        text("Done."),
    ),
    "google": (
        "google:gemini-3.7-flash",
        calls(None, ("move", {"x": 1, "y": 2}), ("take_screenshot", {})),
        text("Done."),
    ),
    "open model": (
        "openai-chat:Qwen/Qwen3-VL-8B-Instruct",
        calls(None, ("computer_use", {"action": "mouse_move", "coordinate": [1, 2]})),
        calls(None, ("computer_use", {"action": "terminate", "status": "success"})),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("provider", LOOKING)
async def test_thirty_steps_change_nothing_that_was_sent(
    provider: str,
    server: ModelServer,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    name, look, end = LOOKING[provider]
    server.say(*[look] * 29, end)
    longer = context.model_copy(update={"limits": Limits(max_steps=40, time_limit_s=300)})
    async with connect(name, server) as model:
        outcome = await computer_use_agent(model, browser=False, images="all").run(
            task, handle, longer
        )
    assert (outcome.status, outcome.steps) == (Status.COMPLETED, 30)
    assert server.rules is not None
    assert (server.rules.changed_prefixes, server.rules.follow_ups) == (0, 29)
    steps = (context.folder / "trajectory.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(step)["usage"]["cached_input_tokens"] for step in steps] == [40] * 30
    if provider == "anthropic":  # the others cache by themselves
        bodies = [seen.body for seen in server.requests]
        assert {json.dumps(body["cache_control"]) for body in bodies} == {'{"type": "ephemeral"}'}


async def test_what_follows_a_failed_call_is_not_carried_out(
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(
        calls("computer", ("left_click", {"coordinate": [319, 199]}), ("left_click", {"coordinate": [*NOTE]}),
              ("type", {"text": "no"})),
        calls("computer", ("left_click", {"coordinate": [*NOTE]}), ("left_click", {"coordinate": [400, 1]}),
              ("type", {"text": "no"})),
        text("I stop."),
    )  # fmt: skip
    async with connect("anthropic:claude-opus-5-5", server) as model:
        outcome = await computer_use_agent(model, browser=False).run(task, handle, context)
    assert (outcome.status, outcome.answer, desktop.text) == (Status.COMPLETED, "I stop.", "")
    answers = [seen.body["messages"][-1]["content"] for seen in server.requests[1:]]
    said = [
        [(b["is_error"], b["content"][0]["text"]) for b in turn if b["type"] == "tool_result"]
        for turn in answers
    ]
    not_done = "Not executed: an earlier computer action in this turn failed."
    assert said[0] == [(True, "nothing is there"), (True, not_done), (True, not_done)]
    assert said[1] == [
        (False, "Clicked."), (True, "left_click: Coordinates 400, 1 are out of bounds"),
        (True, not_done),
    ]  # fmt: skip


class Large:
    """A screen larger than a model sees, which remembers where it was clicked."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.done: list[Action] = []

    @asynccontextmanager
    async def connect(self, _: object) -> AsyncIterator[Large]:
        yield self

    async def offers(self) -> frozenset[str]:
        return frozenset({"click", "zoom", "pointer_position"})

    async def observe(self) -> Observation:
        drawn = io.BytesIO()
        Image.new("RGB", self.size).save(drawn, "PNG")
        return Observation(size=self.size, screenshot=ImagePart.from_bytes(drawn.getvalue()))

    async def act(self, action: Action) -> ActionResult:
        self.done.append(action)
        return ActionResult(text="X=720,Y=450" if isinstance(action, PointerPosition) else "")


@pytest.mark.parametrize(
    ("model", "size", "seen"),
    [
        ("claude-haiku-4-5-20251001", (1440, 900), (1389, 868)),
        ("claude-opus-4-6", (1920, 1080), (1456, 819)),
        ("claude-opus-4-6", (1280, 720), (1280, 720)),
        ("claude-opus-4-7", (1440, 900), (1440, 900)),
        ("claude-opus-4-7", (3840, 2160), (2000, 1125)),
    ],
)
async def test_a_picture_is_as_large_as_the_model_sees_it_and_places_are_where_they_are_on_the_screen(
    model: str,
    size: tuple[int, int],
    seen: tuple[int, int],
    server: ModelServer,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    middle, last = [seen[0] // 2, seen[1] // 2], [*seen]
    server.say(
        calls(None, old("left_click", coordinate=middle), old("left_click", coordinate=last),
              old("cursor_position")),
        text("Done."),
    )  # fmt: skip
    live = Large(size)
    async with connect(f"anthropic:{model}", server) as client:
        agent = computer_use_agent(client, browser=False, connect=live.connect)
        outcome = await agent.run(task, handle, context)
    assert (outcome.status, outcome.error) == (Status.COMPLETED, None)
    first = server.requests[0].body
    native = first["tools"][-1]
    assert (native["display_width_px"], native["display_height_px"]) == seen
    (picture,) = [each for each in first["messages"][0]["content"] if each["type"] == "image"]
    with Image.open(io.BytesIO(base64.b64decode(picture["source"]["data"]))) as sent:
        assert sent.size == seen
    places = [each.target for each in live.done if isinstance(each, Click)]
    assert [abs(at.x - size[0] / 2) < 2 and abs(at.y - size[1] / 2) < 2 for at in places[:1]] == [
        True
    ]
    assert size[0] - 2 <= places[1].x < size[0]
    assert size[1] - 2 <= places[1].y < size[1]
    results = server.requests[1].body["messages"][-1]["content"]
    said = [b["text"] for r in results for b in r["content"] if b["type"] == "text"]
    # the pointer is told in the model's pixels, too
    assert f"X={round(720 * seen[0] / size[0])},Y={round(450 * seen[1] / size[1])}" in said


class Turning(Large):
    """One whose clicks bring up another page."""

    async def act(self, action: Action) -> ActionResult:
        if not isinstance(action, Click):
            return await super().act(action)
        return ActionResult(text="clicked button 'Save'", changed="the page is now 'Calendar'")


async def test_a_grid_is_told_the_pointer_on_it_and_what_changed_apart(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    def act(**arguments: Any) -> Answer:
        return calls(None, ("computer_use", arguments))

    server.say(
        act(action="cursor_position"),
        act(action="left_click", coordinate=[500, 500]),
        act(action="left_click", coordinate="[500, 500]"),
        act(action="terminate", status="success"),
    )
    live = Turning((1440, 900))
    async with connect("openai-chat:Qwen/Qwen3-VL-8B-Instruct", server) as client:
        agent = computer_use_agent(client, browser=False, connect=live.connect)
        await agent.run(task, handle, context)
    turns = [seen.body["messages"] for seen in server.requests]
    results = [[each for each in turn if each["role"] == "tool"] for turn in turns]
    said = [json.dumps(each["content"]) for each in results[-1]]
    assert "X=500,Y=500" in said[0]
    assert "clicked button 'Save'; the page is now 'Calendar'" in said[1]
    # nothing was done, so nothing is shown, and nothing else was promised
    assert [turn[-1]["role"] for turn in turns] == ["user", "user", "user", "tool"]
    assert "each of your turns that does something" in json.dumps(turns[0])


async def test_each_call_of_the_computer_tool_says_once_what_it_did_and_that_the_page_changed(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    live, at = Turning((1280, 720)), {"coordinate": [9, 9]}
    for model, first in (
        ("claude-opus-4-6", calls(None, old("left_click", **at), old("cursor_position"))),
        ("claude-opus-5-5", calls("computer", ("left_click", at), ("cursor_position", {}))),
    ):
        server.say(first, text("Done."))
        async with connect(f"anthropic:{model}", server) as client:
            agent = computer_use_agent(client, browser=False, connect=live.connect)
            await agent.run(task, handle, context)
        (result, *_) = server.requests[-1].body["messages"][-1]["content"]
        assert [each["text"] for each in result["content"]] == [
            "clicked button 'Save'",
            "the page is now 'Calendar'",
        ]


READ = '[12] button "Save"\n[4] combobox options: One | and 9 more: read_page 4\nsee [7] Smith'


class TwoTabs:
    """A browser of two tabs, in which clicks fail, text is typed and a dialog is told of."""

    def __init__(self) -> None:
        self.open, self.active = ["tab_1", "tab_2"], "tab_1"
        self.done: list[Action] = []

    @asynccontextmanager
    async def connect(self, _: object) -> AsyncIterator[TwoTabs]:
        yield self

    async def offers(self) -> frozenset[str]:
        members = dialect_named("browser_toolset_20260801").members.values()
        return frozenset(kind for member in members for kind in member.needs)

    def tabs(self) -> tuple[Tab, ...]:
        return tuple(
            Tab(id=each, url=f"http://{each}/", title="A\npage", active=each == self.active)
            for each in self.open
        )

    async def observe(self) -> Observation:
        notices = ('A confirm dialog "Sure?" was dismissed.',) if self.done else ()
        return Observation(size=(320, 200), open_tabs=self.tabs(), notices=notices)

    async def act(self, action: Action) -> ActionResult:
        self.done.append(action)
        if isinstance(action, Click):
            return ActionResult(ok=False, error="element 12 is below button 'OK' (id 3)")
        if isinstance(action, NewTab):
            self.open.append("tab_3")
            self.active = "tab_3"
        text = READ if isinstance(action, ReadPage) else ""
        return ActionResult(text=text, tabs=self.tabs())


async def test_each_result_of_the_browser_toolset_says_which_tabs_are_open(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    at = {"target": {"type": "coordinate", "x": 1, "y": 2}}
    server.say(
        calls("browser", ("type", {"text": "a"}), ("read_page", {"tab_id": "tab_2"}), ("new_tab", {}),
              ("navigate", {"url": "http://b/", "tab_id": "tab_2"})),
        calls("browser", ("left_click", at), ("list_tabs", {}), ("done", {"answer": "early"})),
        text("I stop."),
    )  # fmt: skip
    live = TwoTabs()
    async with connect("anthropic:claude-opus-5-5", server) as model:
        agent = computer_use_agent(model, tool="browser_toolset_20260801", connect=live.connect)
        outcome = await agent.run(task, handle, context)
    assert (outcome.status, outcome.answer) == (Status.COMPLETED, "I stop.")
    assert ReadPage(tab="tab_2", visible=True) in live.done
    begin, first, second = (seen.body["messages"][-1]["content"] for seen in server.requests[:3])
    told = "\n".join(block["text"] for block in begin)
    assert told.endswith("Tabs:\ntab_1: A page http://tab_1/ (active)\ntab_2: A page http://tab_2/")
    assert "Tab 0" not in told
    assert [block.get("toolset_name") for block in first] == ["browser"] * 4 + [None]
    states = [block["content"][-1] for block in first[:4]]
    assert [
        [tab["tab_id"] for tab in state["tabs"] if tab["active"]] for state in states
    ] == [["tab_1"], ["tab_1"], ["tab_3"], ["tab_3"]]  # fmt: skip
    assert [state.get("state_changes") for state in states] == [
        None, None, [{"type": "tab_opened", "tab_id": "tab_3"}], None,
    ]  # fmt: skip
    assert [len(block["content"]) for block in first[:4]] == [2, 2, 1, 2]
    assert first[1]["content"][0]["text"] == (
        '[ref_12] button "Save"\n[ref_4] combobox options: One | and 9 more: read_page ref_4\nsee [7] Smith'
    )
    assert first[3]["content"][0]["text"] == "Navigated to http://tab_2/ — A page"
    assert first[4]["text"] == 'A confirm dialog "Sure?" was dismissed.'
    halted = "Not executed: an earlier action in this turn failed."
    assert [(b["is_error"], b["content"][0]["text"]) for b in second[:2]] == [
        (True, "element ref_12 is below button 'OK' (id ref_3)"), (True, halted),
    ]  # fmt: skip


async def test_a_tool_of_our_own_is_answered_beside_a_toolset(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    server.say(
        calls("computer", ("goto", {"url": "http://b/"}), ("type", {"text": "a"})), text("I stop.")
    )
    live = TwoTabs()
    async with connect("anthropic:claude-opus-5-5", server) as model:
        outcome = await computer_use_agent(model, connect=live.connect).run(task, handle, context)
    assert (outcome.status, outcome.error) == (Status.COMPLETED, None)
    own, member = server.requests[1].body["messages"][-1]["content"][:2]
    assert ("toolset_name" in own, own["content"]) == (False, [{"type": "text", "text": "ok"}])
    assert (member["toolset_name"], member["content"][0]["text"]) == ("computer", "Typed.")


async def test_three_calls_that_make_no_sense_are_the_agents_failure(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    server.say(*[calls("computer", ("click", {"x": 999, "y": 1, "button": "left"}))] * 3)
    async with connect("openai:gpt-5.5", server) as model:
        outcome = await computer_use_agent(model, browser=False).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert "outside the screen" in str(outcome.error)
    assert "1. not carried out: click: (999, 1) is outside the screen" in json.dumps(
        server.requests[1].body["input"][-1]
    )


async def test_an_option_that_would_change_turns_is_refused(
    server: ModelServer,
) -> None:
    async with connect("anthropic:claude-opus-5-5", server) as model:
        with pytest.raises(InputError, match="leave out the option images"):
            computer_use_agent(model, images=3)


def refused(path: str, body: dict[str, Any], **headers: str) -> str | None:
    from test_support.model_server import Seen

    found = Rules().refusal(Seen(path, headers, body, 0.0))
    return found[1] if found else None


def claude(model: str = "claude-opus-5-5", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "hi"}], **more}


def answered(
    *results: dict[str, Any], toolset: str = "browser", member: str = "list_tabs"
) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "1", "name": member, "toolset_name": toolset, "input": {}}
    turns = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": list(results)},
    ]
    return {"model": "claude-opus-5-5", "messages": turns}


def result(*content: dict[str, Any], toolset: str = "browser", **more: Any) -> dict[str, Any]:
    said = {"type": "tool_result", "tool_use_id": "1", "content": list(content), **more}
    return {**said, "toolset_name": toolset} if toolset else said


STATE = {"type": "browser_state", "tabs": []}
PICTURE = {"type": "image", "source": {}}
WORDS = {"type": "text", "text": "x"}


def large(width: int, height: int) -> dict[str, Any]:
    drawn = io.BytesIO()
    Image.new("1", (width, height)).save(drawn, "PNG")
    data = base64.b64encode(drawn.getvalue()).decode("ascii")
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def tabs(active: str, **more: Any) -> dict[str, Any]:
    listed = [
        {"tab_id": f"tab_{each}", "url": "http://a/", "title": "", "active": each in active}
        for each in "12"
    ]
    return {"type": "browser_state", "tabs": listed, **more}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (claude(tools=[{"type": "computer_20251124", "name": "computer"}]), "does not support the tool type"),
        (claude("claude-sonnet-4-5", tools=[{"type": "computer_toolset_20260801"}]), "does not support"),
        (claude("claude-opus-4-5", tools=[{"type": "computer_20251124", "name": "computer"}]), "needs the header"),
        (claude(tools=[{"type": "computer_toolset_20260801", "name": "computer"}]), "extra inputs"),
        (claude(tool_choice={"type": "any"}), "tool_choice any"),
        (claude(thinking={"type": "disabled"}), "cannot be disabled"),
        (answered(result(STATE, STATE)), "at most one"),
        (answered(result(STATE, toolset="computer"), toolset="computer"), "browser toolset calls only"),
        (answered(result(PICTURE, is_error=True)), "text only"),
        (answered(result(is_error=True)), "text only"),
        (answered(result(STATE, toolset="")), "toolset_name must be"),
        (answered(result(WORDS, is_error=True, toolset="computer")), "toolset_name must be"),
        (answered(result(WORDS, STATE)), "is one browser_state block"),
        (answered(result(tabs("12"))), "one of them active"),
        (answered(result(tabs(""))), "one of them active"),
        (answered(result(tabs("1")), member="new_tab"), "new_tab opens the active tab"),
        (answered(result(tabs("1", state_changes=[]))), "must not be empty"),
        (answered(result(large(2600, 100), toolset="computer"), toolset="computer"), "too large"),
        (claude(messages=[{"role": "user", "content": [large(2100, 9)] * 21}]), "exceed 2000"),
        (answered({"type": "text", "text": "x"}), "must be answered"),
    ],
)  # fmt: skip
def test_the_server_refuses_what_the_api_refuses(body: dict[str, Any], message: str) -> None:
    assert message in str(refused("/v1/messages", body))


def test_the_server_refuses_a_changed_prefix_and_reasoning_it_has_not_kept() -> None:
    from test_support.model_server import Seen

    rules = Rules()
    first = claude()
    assert rules.refusal(Seen("/v1/messages", {}, first, 0.0)) is None
    more = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    changed = {**first, "messages": [*first["messages"], *more], "system": "other"}
    found = rules.refusal(Seen("/v1/messages", {}, changed, 0.0))
    assert found == (400, "thinking blocks are bound to a different conversation")
    body = {"model": "gpt-5.5", "input": [{"type": "reasoning", "id": "rs_1", "summary": []}]}
    assert "not persisted" in str(refused("/v1/responses", body))
