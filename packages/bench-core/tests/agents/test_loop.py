from __future__ import annotations

import asyncio
import json
import pickle
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.agents import (
    Action,
    ActionResult,
    Click,
    Decision,
    Done,
    ElementRef,
    Fail,
    LoopAgent,
    Observation,
    Point,
    PressKeys,
    TypeText,
    Wait,
    replay_agent,
    scripted_agent,
    serve_environment,
)
from bench_core.agents.observation_text import observation_parts
from bench_core.errors import (
    AgentError,
    BudgetExceededError,
    EnvironmentFaultError,
    InputError,
    RecordError,
)
from bench_core.models import ImagePart
from bench_core.protocols import (
    Agent,
    BrowserHandle,
    DesktopHandle,
    EnvironmentHandle,
    TrialContext,
)
from bench_core.records import AgentTask, Limits, Status, StepView, Usage

if TYPE_CHECKING:
    from pathlib import Path

    from drawn import DrawnDesktop

NOTE = ElementRef(element="note")
STEPS = [
    [Click(target=Point(x=0.5, y=0.3, unit="relative"))],
    [TypeText(text="hello"), PressKeys(keys=("ctrl", "s"))],
    [Done(answer="saved")],
]


async def test_a_scripted_agent_completes_the_drawn_desktop(
    desktop: DrawnDesktop, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    agent = scripted_agent(STEPS)
    assert isinstance(agent, Agent)
    outcome = await agent.run(task, handle, context)
    assert (outcome.status, outcome.answer, outcome.steps) == (Status.COMPLETED, "saved", 3)
    assert desktop.saved == "hello"


async def test_each_step_is_a_line_with_its_screenshot(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    await scripted_agent(STEPS).run(task, handle, context)
    text = await asyncio.to_thread((context.folder / "trajectory.jsonl").read_text, "utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert lines[1]["actions"][0]["text"] == "hello"
    pictures = [(context.folder / line["screenshot"]).read_bytes() for line in lines]
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    assert pictures[1] != pictures[2]


async def test_what_the_agent_was_given_to_see_is_kept(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    await scripted_agent(STEPS).run(task, handle, context)
    text = await asyncio.to_thread((context.folder / "observations.jsonl").read_text, "utf-8")
    views = [StepView.model_validate_json(line) for line in text.splitlines()]
    assert [view.step for view in views] == [1, 2, 3]
    assert all(view.size is not None for view in views)


async def test_a_trajectory_can_be_replayed(
    desktop: DrawnDesktop, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    await scripted_agent(STEPS).run(task, handle, context)
    desktop.text, desktop.saved, desktop.focus = "", None, ""
    again = context.model_copy(update={"folder": context.folder / "again"})
    outcome = await replay_agent(context.folder / "trajectory.jsonl").run(task, handle, again)
    assert outcome.status is Status.COMPLETED
    assert desktop.saved == "hello"


def test_a_trajectory_in_another_vocabulary_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.jsonl"
    path.write_text('{"step": 1, "actions": [{"kind": "levitate"}]}\n')
    with pytest.raises(RecordError, match=r"trajectory\.jsonl, line 1: not a step"):
        replay_agent(path)


async def test_what_an_action_could_not_do_is_seen_on_the_next_step(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    seen: list[Observation] = []

    class Watcher:
        async def act(self, observation: Observation) -> Decision:
            seen.append(observation)
            done = len(seen) > 1
            return Decision(actions=(Done(),) if done else (TypeText(text="x"),))

    await LoopAgent("watcher", lambda *_: Watcher()).run(task, handle, context)
    assert seen[1].results[0].error == "nothing has the focus"


async def test_running_out_of_steps_is_the_step_limit(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    steps = [[Wait(seconds=0)]] * 20
    outcome = await scripted_agent(steps).run(task, handle, context)
    assert (outcome.status, outcome.steps) == (Status.STEP_LIMIT, 8)


async def test_running_out_of_time_is_the_time_limit(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    class Sleeper:
        async def act(self, observation: Observation) -> Decision:
            await asyncio.sleep(60)
            raise AssertionError

    hurried = context.model_copy(update={"limits": Limits(time_limit_s=0.2)})
    outcome = await LoopAgent("sleeper", lambda *_: Sleeper()).run(task, handle, hurried)
    assert (outcome.status, outcome.steps) == (Status.TIME_LIMIT, 0)


async def test_giving_up_is_flagged_and_keeps_the_reason(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    outcome = await scripted_agent([[Fail(reason="no such note")]]).run(task, handle, context)
    assert outcome.status is Status.COMPLETED
    assert outcome.flags == ("gave_up",)
    assert outcome.answer == {"gave_up": "no such note"}


@pytest.mark.parametrize(
    ("error", "kept"), [(AgentError("confused"), "message"), (ZeroDivisionError("bug"), "both")]
)
async def test_an_agent_that_fails_is_told_apart_and_not_raised(
    handle: DesktopHandle,
    task: AgentTask,
    context: TrialContext,
    error: Exception,
    kept: str,
) -> None:
    class Broken:
        async def act(self, observation: Observation) -> Decision:
            raise error

    outcome = await LoopAgent("broken", lambda *_: Broken()).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert outcome.error.message == str(error)
    assert (outcome.error.traceback is not None) is (kept == "both")


@pytest.mark.parametrize(
    "error",
    [EnvironmentFaultError("gone"), BudgetExceededError("spent"), InputError("no such cassette")],
)
async def test_faults_that_are_not_the_agents_are_raised(
    handle: DesktopHandle, task: AgentTask, context: TrialContext, error: Exception
) -> None:
    class Unlucky:
        async def act(self, observation: Observation) -> Decision:
            raise error

    with pytest.raises(type(error)):
        await LoopAgent("unlucky", lambda *_: Unlucky()).run(task, handle, context)


async def test_a_desktop_that_is_gone_is_an_environment_fault(
    task: AgentTask, context: TrialContext
) -> None:
    nobody = DesktopHandle(url="http://127.0.0.1:9")
    with pytest.raises(EnvironmentFaultError, match="does not answer"):
        await scripted_agent(STEPS).run(task, nobody, context)


async def test_what_a_desktop_says_of_its_fault_reaches_the_agents_side(
    task: AgentTask, context: TrialContext
) -> None:
    class Broken:
        async def observe(self) -> Observation:
            raise EnvironmentFaultError("the picture is torn")

        async def act(self, action: Action) -> ActionResult:
            return ActionResult()

    async with serve_environment(Broken()) as handle:
        with pytest.raises(EnvironmentFaultError, match="the picture is torn"):
            await scripted_agent(STEPS).run(task, handle, context)


async def test_a_defect_of_a_desktop_is_told_to_the_agents_side(
    task: AgentTask, context: TrialContext
) -> None:
    class Defective:
        async def observe(self) -> Observation:
            raise KeyError("screen")

        async def act(self, action: Action) -> ActionResult:
            return ActionResult()

    async with serve_environment(Defective()) as handle:
        with pytest.raises(EnvironmentFaultError, match="KeyError: 'screen'"):
            await scripted_agent(STEPS).run(task, handle, context)


async def test_a_program_that_does_not_know_the_address_acts_on_no_desktop(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    place = urlsplit(handle.url)
    other = handle.model_copy(update={"url": f"http://{place.netloc}"})
    with pytest.raises(EnvironmentFaultError, match="404"):
        await scripted_agent(STEPS).run(task, other, context)
    assert (await scripted_agent(STEPS).run(task, handle, context)).error is None


async def test_an_agent_that_goes_while_it_is_answered_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As one whose process is killed does."""
    asked, gone = asyncio.Event(), asyncio.Event()

    class Slow:
        async def observe(self) -> Observation:
            asked.set()
            await gone.wait()
            return Observation(text="." * 10_000_000)

        async def act(self, action: Action) -> ActionResult:
            return ActionResult()

    async with serve_environment(Slow()) as handle:
        place = urlsplit(handle.url)
        with socket.create_connection(("127.0.0.1", place.port)) as agent:
            agent.sendall(f"GET {place.path}/observe HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await asked.wait()
            # linger 0: the connection is reset, not closed
            agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.set()
        served = [each for each in threading.enumerate() if "process_request" in each.name]
        for each in served:
            await asyncio.to_thread(each.join, 60)
    assert served
    assert capfd.readouterr().err == ""


async def test_a_model_is_shown_the_marked_picture_and_the_plain_one_is_kept(
    task: AgentTask,
) -> None:
    plain, marked = ImagePart(data="cGxhaW4="), ImagePart(data="bWFya2Vk")
    observation = Observation(screenshot=plain, marked=marked)
    assert observation_parts(observation)[-1] == marked
    assert observation_parts(observation.model_copy(update={"marked": None}))[-1] == plain


async def test_costs_add_up_and_one_unknown_price_makes_the_sum_unknown(
    handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    def spending(*costs: float | None) -> LoopAgent:
        left = list(costs)

        class Spender:
            async def act(self, observation: Observation) -> Decision:
                cost = left.pop(0)
                action = Wait(seconds=0) if left else Done()
                usage = Usage(requests=1, input_tokens=10)
                return Decision(actions=(action,), usage=usage, cost_usd=cost)

        return LoopAgent("spender", lambda *_: Spender())

    known = await spending(0.25, 0.5).run(task, handle, context)
    unknown = await spending(0.25, None).run(task, handle, context)
    assert (known.cost_usd, known.usage.input_tokens) == (0.75, 20)
    assert unknown.cost_usd is None


@given(st.floats(0, 1), st.floats(0, 1), st.integers(1, 4000), st.integers(1, 4000))
def test_a_relative_point_lies_on_the_screen(x: float, y: float, width: int, height: int) -> None:
    px, py = Point(x=x, y=y, unit="relative").pixels((width, height))
    assert 0 <= px <= width
    assert 0 <= py <= height


@pytest.mark.parametrize(
    "handle",
    [BrowserHandle(cdp_url="http://127.0.0.1:1"), DesktopHandle(url="http://127.0.0.1:1")],
)
def test_handles_survive_pickling(handle: EnvironmentHandle) -> None:
    assert pickle.loads(pickle.dumps(handle)) == handle  # noqa: S301  # our own bytes


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "`act` of Wrong returned NoneType instead of a Decision"),
        (Done(), "`act` of Wrong returned Done instead of a Decision"),
    ],
)
async def test_what_is_no_decision_is_named(
    given: object, said: str, handle: DesktopHandle, task: AgentTask, context: TrialContext
) -> None:
    class Wrong:
        async def act(self, observation: Observation) -> Any:
            return given

    outcome = await LoopAgent("wrong", lambda task, context: Wrong()).run(task, handle, context)
    assert outcome.status is Status.AGENT_ERROR
    assert outcome.error is not None
    assert said in outcome.error.message
