"""Agents over models, through their provider's real wire format."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from drawn import SAVE, DrawnDesktop
from hypothesis import given
from hypothesis import strategies as st
from test_support.model_server import Answer, ModelServer

from bench_core.agents import (
    Click,
    Drag,
    ElementRef,
    Point,
    PressKeys,
    ReadPage,
    Scroll,
    ScrollTo,
    SetValue,
    SwitchTab,
    TypeText,
    Zoom,
    computer_use_agent,
    tool_calling_agent,
)
from bench_core.agents.dialects import Screen, dialect_named
from bench_core.agents.environment import CLASSIC
from bench_core.agents.tools import TOOLS, InvalidCallError, action_of, tools_for
from bench_core.browser import launch_chromium
from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.models import (
    Cassette,
    Model,
    ModelError,
    RetryPolicy,
    ScriptedAdapter,
    ToolCall,
    open_model,
)
from bench_core.protocols import BrowserHandle, DesktopHandle, TrialContext
from bench_core.records import AgentTask, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bench_core.agents import Action

TASK = AgentTask(benchmark="b", task_id="t", goal="Do it.")
PROVIDERS = ("anthropic", "openai", "openai-chat", "google")
MODULES = {"openai-chat": "openai", "google": "google.genai"}


def call(name: str, **arguments: Any) -> Answer:
    return Answer(tool_calls=((name, arguments),), stop="tool_use")


def computer(**arguments: Any) -> Answer:
    return call("computer", **arguments)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    try:
        found = importlib.util.find_spec(MODULES.get(name, name))
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {name} is not installed")
    return name


def connect(provider: str, server: ModelServer, **options: Any) -> Model:
    policy = RetryPolicy(attempts=2, first_wait_s=0.01, deadline_s=300, timeout_s=120)
    return open_model(
        f"{provider}:m",
        api_key="a key of some length",
        base_url=server.base_url(provider),
        policy=policy,
        **options,
    )


async def test_a_tool_calling_agent_saves_the_note(
    provider: str,
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(
        call("type_text", text="hello", element="note"),
        call("click", x=SAVE[0] + 5, y=SAVE[1] + 5),
        call("done", answer="saved"),
    )
    async with connect(provider, server) as model:
        outcome = await tool_calling_agent(model).run(task, handle, context)
    assert desktop.saved == "hello"
    assert (outcome.status, outcome.answer, outcome.steps) == (Status.COMPLETED, "saved", 3)
    assert (outcome.usage.requests, outcome.usage.input_tokens) == (3, 300)
    assert outcome.model_reported == "m"
    assert "Write hello and save it." in str(server.requests[0].body)


async def test_only_the_latest_screenshots_are_sent_again_where_asked_for(
    provider: str,
    server: ModelServer,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(*[call("wait", seconds=0)] * 6, call("done"))
    async with connect(provider, server) as model:
        await tool_calling_agent(model, images=2).run(task, handle, context)
    pictures = [str(seen.body).count("iVBORw0KGgo") for seen in server.requests]
    # as many at once, so that earlier messages stay as they were for some turns
    assert pictures == [1, 2, 3, 2, 3, 2, 3]


async def test_a_call_that_makes_no_sense_is_told_to_the_model(
    provider: str,
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(call("click"), Answer(text="I think"), call("click", element="save"), call("done"))
    async with connect(provider, server) as model:
        outcome = await tool_calling_agent(model).run(task, handle, context)
    assert desktop.saved == ""
    assert (outcome.status, outcome.steps, outcome.usage.requests) == (Status.COMPLETED, 4, 4)
    lines = (context.folder / "trajectory.jsonl").read_text(encoding="utf-8").splitlines()
    refused = [json.loads(line)["refused"] for line in lines]
    assert [[(each["name"], each["arguments"]) for each in step] for step in refused[:3]] == [
        [("click", {})], [("", None)], [],
    ]  # fmt: skip
    assert "needs an element" in refused[0][0]["reason"]
    assert refused[1][0]["reason"] == "no tool was called"
    assert "needs an element" in str(server.requests[1].body)


async def test_three_useless_replies_in_a_row_are_the_agents_failure(
    server: ModelServer, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    model = Model(ScriptedAdapter(["hm", "well", "so"]))
    outcome = await tool_calling_agent(model).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert "3 replies in a row" in outcome.error.message


async def test_a_refusal_is_the_agents_own_end(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    model = Model(ScriptedAdapter([{"text": "", "stop": "refusal", "refusal": "not that"}]))
    outcome = await tool_calling_agent(model).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert outcome.error.message == "the model declined: not that"


async def test_a_provider_outage_is_raised_not_scored(
    provider: str,
    server: ModelServer,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(Answer(status=500), Answer(status=500))
    async with connect(provider, server) as model:
        with pytest.raises(ModelError, match="after 2 requests"):
            await tool_calling_agent(model).run(task, handle, context)


async def test_claude_uses_the_computer_through_its_native_tool(
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    pytest.importorskip("anthropic", reason="the SDK is an extra")
    server.say(
        computer(action="screenshot"),
        computer(action="left_click", coordinate=[60, 60]),
        computer(action="type", text="hello"),
        computer(action="key", text="ctrl+s"),
        call("done", answer=None),
    )
    async with connect("anthropic", server) as model:
        agent = computer_use_agent(
            model, screen=(320, 200), browser=False, tool="computer_20251124"
        )
        outcome = await agent.run(task, handle, context)
    assert (outcome.status, outcome.steps, desktop.saved) == (Status.COMPLETED, 5, "hello")
    first = server.requests[0]
    assert first.headers["anthropic-beta"] == "computer-use-2025-11-24"
    native = next(tool for tool in first.body["tools"] if tool["name"] == "computer")
    assert native == {
        "type": "computer_20251124",
        "name": "computer",
        "display_width_px": 320,
        "display_height_px": 200,
    }
    results = server.requests[1].body["messages"][-1]["content"]
    assert [block["type"] for block in results] == ["tool_result"]


async def test_an_agents_cassette_replays_although_pixels_differ(
    server: ModelServer,
    desktop: DrawnDesktop,
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    tape = context.folder / "calls.jsonl"
    script = [
        {"tool_calls": [{"name": "type_text", "arguments": {"text": "hello", "element": "note"}}]},
        {"tool_calls": [{"name": "press_keys", "arguments": {"keys": ["ctrl", "s"]}}]},
        {"tool_calls": [{"name": "done"}]},
    ]
    recording = Model(ScriptedAdapter(script), cassette=Cassette(tape, "record", "sequence"))
    await tool_calling_agent(recording).run(task, handle, context)
    desktop.text, desktop.saved = "x" * 40, None
    again = context.model_copy(update={"folder": context.folder / "again"})
    replayed = Model(ScriptedAdapter([]), cassette=Cassette(tape, "replay", "sequence"))
    outcome = await tool_calling_agent(replayed).run(task, handle, again)
    assert outcome.status is Status.COMPLETED
    assert desktop.saved == "x" * 40 + "hello"


PAGE = b"""<!doctype html><title>Notes</title>
<form method=post action=/save><label>Note <input name=note></label><button>Save</button></form>"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._reply(PAGE)

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        self.server.saved.append(self.rfile.read(length).decode())  # type: ignore[attr-defined]
        self._reply(b"<!doctype html><title>Saved</title>saved")

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Stay silent."""


@pytest.fixture
def page() -> Iterator[Any]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    served.saved = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=served.serve_forever, args=(0.05,))
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
async def browser(page: Any) -> AsyncIterator[BrowserHandle]:
    pytest.importorskip("playwright", reason="Playwright is an extra")
    async with launch_chromium() as chromium:
        yield BrowserHandle(
            cdp_url=chromium.cdp_url,
            start_urls=(f"http://127.0.0.1:{page.server_port}/",),
            viewport=(640, 480),
        )


@pytest.mark.browser
async def test_a_tool_calling_agent_fills_a_form_in_a_real_browser(
    provider: str,
    server: ModelServer,
    page: Any,
    browser: BrowserHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    server.say(
        call("type_text", text="hello", element="1"), call("click", element="2"), call("done")
    )
    async with connect(provider, server) as model:
        outcome = await tool_calling_agent(model).run(task, browser, context)
    assert outcome.status is Status.COMPLETED
    assert page.saved == ["note=hello"]
    assert "Saved" in str(server.requests[2].body)


@pytest.mark.browser
async def test_claude_computer_use_works_tabs_and_keys_in_a_real_browser(
    server: ModelServer,
    page: Any,
    browser: BrowserHandle,
    task: AgentTask,
    context: TrialContext,
) -> None:
    pytest.importorskip("anthropic", reason="the SDK is an extra")
    url = browser.start_urls[0]
    server.say(
        call("goto", url=url, new_tab=True),
        call("switch_tab", index=0),
        computer(action="key", text="Tab"),
        computer(action="type", text="hello"),
        computer(action="key", text="Return"),
        computer(action="scroll", coordinate=[10, 10], scroll_direction="down", scroll_amount=1),
        computer(action="left_click_drag", start_coordinate=[1, 1], coordinate=[5, 5]),
        call("switch_tab", index=7),
        call("done", answer="ok"),
    )
    longer = context.model_copy(
        update={"limits": context.limits.model_copy(update={"max_steps": 20})}
    )
    async with connect("anthropic", server) as model:
        outcome = await computer_use_agent(model, tool="computer_20251124").run(
            task, browser, longer
        )
    assert (outcome.status, outcome.answer) == (Status.COMPLETED, "ok")
    assert page.saved == ["note=hello"]
    assert "there is no tab 7" in str(server.requests[-1].body)


@pytest.mark.browser
async def test_a_browser_that_dies_is_an_environment_fault(
    task: AgentTask, context: TrialContext
) -> None:
    pytest.importorskip("playwright", reason="Playwright is an extra")
    from bench_core.agents.browser import connect_browser
    from bench_core.errors import EnvironmentFaultError

    async with (
        launch_chromium() as chromium,
        connect_browser(BrowserHandle(cdp_url=chromium.cdp_url)) as live,
    ):
        await live.observe()
        await chromium.close()
        with pytest.raises(EnvironmentFaultError):
            await live.observe()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_offered_has_a_meaning(tool: Any) -> None:
    samples: dict[str, Any] = {"string": "x", "number": 1, "integer": 1, "boolean": True,
                               "array": ["x"]}  # fmt: skip
    schema = tool.parameters["properties"]
    arguments = {n: s.get("enum", [samples[s.get("type", "string")]])[0] for n, s in schema.items()}
    assert action_of(ToolCall(id="1", name=tool.name, arguments=arguments), TASK).kind


def test_a_browser_and_a_desktop_are_offered_what_they_can_do() -> None:
    desktop = {each.name for each in tools_for(CLASSIC)}
    assert desktop == {
        "click", "move", "drag", "scroll", "type_text", "press_keys", "wait", "switch_window",
    }  # fmt: skip
    kinds = CLASSIC | {"goto", "find", "read_page", "set_value", "zoom", "close_tab"}
    browser = {each.name for each in tools_for(kinds)}
    assert browser - desktop == {
        "goto", "find", "read_page", "set_value", "zoom", "close_tab", "switch_tab",
    }  # fmt: skip
    assert "switch_window" not in browser
    assert "zoom" not in {each.name for each in tools_for(kinds, pictures=False)}


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("set_value", {"element": "[7]", "value": "Open"},
         SetValue(target=ElementRef(element="7"), value="Open")),
        ("scroll", {"element": "7"}, ScrollTo(target=ElementRef(element="7"))),
        ("scroll", {"element": "7", "dy": 300}, Scroll(target=ElementRef(element="7"), dy=300)),
        ("drag", {"element": "7", "to_x": 3, "to_y": 4},
         Drag(start=ElementRef(element="7"), end=Point(x=3, y=4))),
        ("click", {"x": 1, "y": 2, "modifiers": ["ctrl"]},
         Click(target=Point(x=1, y=2), modifiers=("ctrl",))),
        ("read_page", {"element": "7", "start": 100},
         ReadPage(element="7", start=100, depth=100)),
        ("zoom", {"left": 0, "top": 1, "right": 20, "bottom": 10}, Zoom(region=(0, 1, 20, 10))),
        ("switch_window", {"index": 2}, SwitchTab(index=2)),
        ("press_keys", {"keys": ["down"], "repeat": 3}, PressKeys(keys=("down",), repeat=3)),
    ],
)  # fmt: skip
def test_a_call_is_the_action_that_its_tool_describes(
    name: str, arguments: dict[str, Any], expected: Action
) -> None:
    assert action_of(ToolCall(id="1", name=name, arguments=arguments), TASK) == expected


@given(
    name=st.sampled_from([*(tool.name for tool in TOOLS), "levitate"]),
    arguments=st.none()
    | st.dictionaries(
        st.sampled_from(
            [
                "x",
                "y",
                "element",
                "text",
                "keys",
                "url",
                "index",
                "seconds",
                "button",
                "value",
                "to_x",
                "left",
            ]
        ),
        st.none() | st.integers() | st.text() | st.lists(st.text()) | st.floats(),
    ),
)
def test_any_tool_call_is_an_action_or_a_message_for_the_model(
    name: str, arguments: dict[str, Any] | None
) -> None:
    try:
        action = action_of(ToolCall(id="1", name=name, arguments=arguments), TASK)
    except InvalidCallError as error:
        assert str(error)  # noqa: PT017  # either is right, nothing else is
    else:
        assert action.kind


@given(
    st.dictionaries(
        st.sampled_from(["action", "coordinate", "text", "scroll_direction", "duration"]),
        st.sampled_from(["left_click", "scroll", "key", "wait", "up", [1, 2], [1], 3, None, "a+b"]),
    )
)
def test_any_computer_call_is_actions_or_a_message_for_the_model(
    arguments: dict[str, Any],
) -> None:
    try:
        actions = _computer_actions(ToolCall(id="1", name="computer", arguments=arguments))
    except InvalidCallError as error:
        assert str(error)  # noqa: PT017  # either is right, nothing else is
    else:
        assert actions


def _computer_actions(call: ToolCall) -> tuple[Action, ...]:
    dialect = dialect_named("computer_20251124")
    kinds = {kind for member in dialect.members.values() for kind in member.needs}
    return dialect.read(
        call, Screen((1_000_000, 1_000_000), CLASSIC | kinds, True, TASK)
    )  # a browser


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"action": "key", "text": "ctrl+shift+t"}, PressKeys(keys=("ctrl", "shift", "t"))),
        ({"action": "key", "text": "Return"}, PressKeys(keys=("enter",))),
        ({"action": "key", "text": "ctrl++"}, PressKeys(keys=("ctrl", "+"))),
        ({"action": "type", "text": "hi"}, TypeText(text="hi")),
    ],
)
def test_claudes_keys_become_ours(arguments: dict[str, Any], expected: Any) -> None:
    assert _computer_actions(ToolCall(id="1", name="computer", arguments=arguments)) == (expected,)


def test_a_double_click_with_a_modifier_is_one_action() -> None:
    arguments = {"action": "double_click", "coordinate": [3, 4], "text": "shift"}
    (action,) = _computer_actions(ToolCall(id="1", name="computer", arguments=arguments))
    assert isinstance(action, Click)
    assert (action.count, action.modifiers) == (2, ("shift",))


@pytest.mark.parametrize("name", ["tool-calling", "computer-use"])
async def test_the_plugins_run_the_model_of_the_context(
    name: str, desktop: DrawnDesktop, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    script = context.folder / "script.json"
    lines = '[{"tool_calls": [{"name": "done", "arguments": {"answer": 7}}]}]'
    await asyncio.to_thread(script.write_text, lines)
    agent = load_plugin("agent", name)()
    with pytest.raises(InputError, match="needs a model"):
        await agent.run(task, handle, context)
    told = context.model_copy(update={"model": f"scripted:{script}"})
    assert (await agent.run(task, handle, told)).answer == 7
