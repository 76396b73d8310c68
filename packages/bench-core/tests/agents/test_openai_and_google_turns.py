"""What OpenAI and Google are answered: phases, half calls, a picture for each call, what ran, thoughts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from test_computer_use_episodes import connect, grid
from test_support.model_requests import ReadRequest
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer, Seen

from bench_core.agents import Observation, Tab
from bench_core.agents.computer_use import computer_use_agent
from bench_core.agents.dialects import Screen, dialect_named
from bench_core.agents.dialects.interface import Answered
from bench_core.agents.records import ActionResult
from bench_core.errors import InputError
from bench_core.models import ImagePart, ToolCall
from bench_core.records import AgentTask, Limits, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from drawn import DrawnDesktop

    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentOutcome

NOTE, SAVE = {"x": 160, "y": 70}, {"x": 60, "y": 155}
NOTHING = {"x": 319, "y": 199}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(rules=Rules()) as running:
        yield running


def responses(*output: dict[str, Any], **more: Any) -> Answer:
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    body = {"id": "r", "object": "response", "created_at": 1, "model": "gpt-5.6-sol", "status": "completed",
            "output": [{"id": f"i{number}", **each} for number, each in enumerate(output)],
            "usage": usage}  # fmt: skip
    return Answer(raw=json.dumps({**body, **more}))


def message(text: str, phase: str | None = None) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    turn = {
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    return turn if phase is None else {**turn, "phase": phase}


def computer(number: int, *actions: dict[str, Any], status: str = "completed") -> dict[str, Any]:
    return {"type": "computer_call", "call_id": f"c{number}", "status": status,
            "actions": list(actions), "pending_safety_checks": []}  # fmt: skip


def click(at: dict[str, int]) -> dict[str, Any]:
    return {"type": "click", "button": "left", **at}


def typed(text: str) -> dict[str, Any]:
    return {"type": "type", "text": text}


async def run(
    model: str, server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> AgentOutcome:
    async with connect(model, server) as opened:
        return await computer_use_agent(opened, browser=False).run(task, handle, context)


async def test_commentary_ends_nothing_and_is_no_answer(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    server.say(
        responses(message("I will look around.", "commentary")),
        responses(message("I found it.", "commentary"), message("42", "final_answer")),
    )
    outcome = await run("openai:gpt-5.6-sol", server, task, handle, context)
    assert (outcome.status, outcome.answer, outcome.steps) == (Status.COMPLETED, "42", 2)
    assert "ended_by_text" in outcome.flags
    again = server.requests[1].body["input"]
    assert [each.get("phase") for each in again] == [None, "commentary", None]
    assert "You called no tool" in json.dumps(again[-1])


async def test_a_half_generated_call_is_not_carried_out_and_asked_again(
    server: ModelServer,
    desktop: DrawnDesktop,
    task: AgentTask,
    handle: DesktopHandle,
    context: TrialContext,
) -> None:
    server.say(
        responses(
            computer(1, click(NOTE)),
            computer(2, typed("he"), status="incomplete"),
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        responses(message("It was cut off.", "final_answer")),
    )
    outcome = await run("openai:gpt-5.6-sol", server, task, handle, context)
    assert (outcome.status, desktop.focus, desktop.text) == (Status.COMPLETED, "note", "")
    first, second, told = server.requests[1].body["input"][-3:]
    assert [each["call_id"] for each in (first, second)] == ["c1", "c2"]
    assert "was cut off before it was complete" in json.dumps(told)


async def test_each_computer_call_is_answered_with_the_moment_after_it(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    server.say(
        responses(computer(1, click(NOTE), typed("a" * 20)), computer(2, typed("b" * 20))),
        responses(message("Done.", "final_answer")),
    )
    await run("openai:gpt-5.6-sol", server, task, handle, context)
    first, second = (seen.body["input"] for seen in server.requests)
    shown = [each["output"] for each in second if each.get("type") == "computer_call_output"]
    start = first[0]["content"][-1]
    assert len({start["image_url"], *(each["image_url"] for each in shown)}) == 3
    assert [each["detail"] for each in (start, *shown)] == ["original"] * 3


async def test_a_batch_that_fails_says_of_each_action_what_became_of_it(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    server.say(
        responses(
            computer(0, click(NOTE)),
            computer(1, click(NOTE), click(NOTHING), typed("a")),
            computer(2, typed("b")),
        ),
        responses(computer(3, click(NOTE), click({"x": 900, "y": 1})), computer(4, typed("c"))),
        responses(message("Done.", "final_answer")),
    )
    await run("openai:gpt-5.6-sol", server, task, handle, context)
    told = [seen.body["input"][-1]["content"][0]["text"] for seen in server.requests[1:]]
    left_out = "not carried out: an earlier action of this turn failed"
    assert told[0].splitlines() == [
        "What became of each action of this turn:",
        "1. click: ok",
        "2. click: ok",
        "3. click: nothing is there",
        f"4. type: {left_out}",
        f"5. type: {left_out}",
    ]
    assert told[1].splitlines() == [
        "What became of each action of this turn:",
        (
            "1-2. not carried out: click: (900, 1) is outside the screen, 320 x 200 pixels "
            "(number 2 of the 2 in this call, of which none was done)"
        ),
        f"3. {left_out}",
    ]
    texts = [json.dumps(seen.body["input"][-1]) for seen in server.requests[1:]]
    assert [each.count("What became of") for each in texts] == [1, 1]


async def test_a_turn_that_ends_in_another_call_says_what_became_of_its_actions_too(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    done = {"type": "function_call", "call_id": "f1", "name": "done", "arguments": '{"answer": 1}'}
    server.say(
        responses(computer(1, click(NOTHING)), done),
        responses(message("Done.", "final_answer")),
    )
    await run("openai:gpt-5.6-sol", server, task, handle, context)
    told = server.requests[1].body["input"][-1]["content"][0]["text"]
    assert told == "What became of each action of this turn:\n1. click: nothing is there"


async def test_pictures_that_an_answer_must_have_cannot_be_left_out(server: ModelServer) -> None:
    async with connect("openai:gpt-5.6-sol", server) as model:
        with pytest.raises(InputError, match="leave out the option images"):
            computer_use_agent(model, images=3)


async def test_google_is_shown_the_moment_after_each_call_and_says_why_it_acts(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    typing = {"text": "a" * 20, "intent": "write the note"}
    server.say(
        Answer(
            tool_calls=(("click", grid((160, 70))), ("type", typing), ("type", {"text": "b" * 20})),
            thinking="I think.",
            stop="tool_use",
        ),
        Answer(text="It is written."),
    )
    await run("google:gemini-3.8-flash", server, task, handle, context)
    first, second = (seen.body for seen in server.requests)
    assert first["generationConfig"]["thinkingConfig"] == {"includeThoughts": True}
    assert "Screen:" not in json.dumps(first["contents"])  # the grid does not depend on it
    answers = [part["functionResponse"] for part in second["contents"][-1]["parts"]]
    assert [each["response"]["url"] for each in answers] == ["", "", ""]
    # an older SDK writes the names inside of answers as Python does, which the API reads, too
    shown = [next(iter(each["parts"][0].values()))["data"] for each in answers]
    assert len(set(shown)) == 3
    step = json.loads((context.folder / "trajectory.jsonl").read_text("utf-8").splitlines()[0])
    assert step["thought"] == "I think.\nwrite the note"


async def test_google_is_shown_nothing_for_calls_that_were_not_carried_out(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    away = {"x": 2000, "y": 1}
    server.say(
        Answer(tool_calls=(("click", grid((160, 70))), ("click", away), ("type", {"text": "no"})),
               stop="tool_use"),
        Answer(tool_calls=(("click", away), ("type", {"text": "no"})), stop="tool_use"),
        Answer(text="I stop."),
    )  # fmt: skip
    await run("google:gemini-3.8-flash", server, task, handle, context)
    turns = [seen.body["contents"][-1]["parts"] for seen in server.requests[1:]]
    answers = [[part["functionResponse"] for part in turn] for turn in turns]
    assert [["parts" in each for each in turn] for turn in answers] == [
        [True, False, False], [False, False],
    ]  # fmt: skip
    assert all("outside the grid" in turn[-2]["response"]["error"] for turn in answers)


async def test_google_is_sent_no_more_than_the_latest_pictures_dropped_some_at_a_time(
    server: ModelServer, task: AgentTask, handle: DesktopHandle, context: TrialContext
) -> None:
    server.say(
        *[Answer(tool_calls=(("take_screenshot", {}),), stop="tool_use")] * 12, Answer(text="Done.")
    )
    longer = context.model_copy(update={"limits": Limits(max_steps=20, time_limit_s=300)})
    await run("google:gemini-3.8-flash", server, task, handle, longer)
    sent = [len(ReadRequest.of(seen).pictures) for seen in server.requests]
    assert sent == [1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 6, 7, 8]


def answered(name: str, dialect: str, **more: Any) -> Any:
    picture = ImagePart.from_bytes(b"\x89PNG\r\n\x1a\n between")
    tabs = (Tab(id="a", url="http://a/"), Tab(id="b", url="http://b/", title="B", active=True))
    shown = ActionResult(image=picture, tabs=tabs)
    done = Answered(
        call=ToolCall(id="1", name=name, arguments={}),
        results=(ActionResult(), shown),
        error=None,
        observation=Observation(url="http://later/", screenshot=ImagePart.from_bytes(b"\x89PNG\r\n\x1a\n later")),
        last=False,
        **more,
    )  # fmt: skip
    return dialect_named(dialect).answer(done)[0]


def test_what_loads_a_page_is_answered_with_that_page() -> None:
    text, around, picture = answered("back", "computer").content
    assert text.text == "ok"
    assert "http://b/" in around.text
    assert "http://later/" not in around.text
    assert picture.data == "iVBORw0KGgogYmV0d2Vlbg=="
    response = answered("switch_tab", "google_computer_use_2026").extra["response"]
    assert response == {
        "url": "http://b/",
        "title": "B",
        "tabs": ["0: http://a/", "1: B (active)"],
    }


def test_google_is_told_which_windows_are_open() -> None:
    seen = Observation(title="Clock", tabs=("notes.txt", "Clock"), active_tab=1)
    call = ToolCall(id="1", name="click", arguments={})
    done = Answered(call=call, results=(ActionResult(),), error=None, observation=seen, last=True)
    assert dialect_named("google_computer_use_2026").answer(done)[0].extra["response"] == {
        "url": "",
        "title": "Clock",
        "windows": ["0: notes.txt", "1: Clock (active)"],
    }


@pytest.mark.parametrize("name", ["computer", "google_computer_use_2026"])
def test_only_declared_tools_are_named(name: str) -> None:
    task = AgentTask(benchmark="b", task_id="t", goal="Do it.")
    offers = frozenset({"click", "goto", "switch_tab"})
    said = dialect_named(name).declare(Screen((1280, 720), offers, browser=True, task=task)).system
    assert said is not None
    assert "`switch_tab` brings another tab to the front" in said
    assert "goes back" not in said
    assert "No one answers questions or confirms anything." in said


def refused(path: str, body: dict[str, Any]) -> str | None:
    found = Rules().refusal(Seen(path, {}, body, 0.0))
    return found[1] if found else None


def asked(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5.6", "input": [{"role": "user", "content": "hi"}, *items], **more}


def output(**more: Any) -> dict[str, Any]:
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AAAA"}
    return {"type": "computer_call_output", "call_id": "c1", "output": {**shot, **more}}


THINKING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (asked(computer(1), output()), None),
        (asked(computer(1), output(image_url="")), "needs an image_url or a file_id"),
        (asked(computer(1), output(detail="best")), "Invalid value: 'best'"),
        (asked(output()), "No tool call found"),
        (asked(THINKING, {"role": "user", "content": "go on"}), "without its required following item"),
        (asked(THINKING, computer(1), output()), None),
        (asked({"type": "function_call", "call_id": "f1", "name": "back", "arguments": "{}"},
               {"type": "function_call_output", "call_id": "f1", "output": [{"type": "output_text", "text": "ok"}]}),
         "Invalid value: 'output_text'"),
    ],
)  # fmt: skip
def test_openais_server_refuses_what_the_api_refuses(
    body: dict[str, Any], message: str | None
) -> None:
    found = refused("/v1/responses", body)
    assert found is None if message is None else message in str(found)


def generated(place: str, off: list[str], response: dict[str, Any]) -> dict[str, Any]:
    tool = {"environment": place, "excludedPredefinedFunctions": off}
    call = {"functionCall": {"name": "click", "args": {"x": 1, "y": 1}}}
    answer = {"functionResponse": {"name": "click", "response": response}}
    return {
        "tools": [{"computerUse": tool}],
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [answer]},
        ],
    }


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (generated("ENVIRONMENT_DESKTOP", [], {"url": ""}), None),
        (generated("ENVIRONMENT_DESKTOP", [], {}), "lacks the url"),
        (generated("ENVIRONMENT_DESKTOP", ["navigate"], {"url": ""}), "has no function 'navigate'"),
        (generated("ENVIRONMENT_BROWSER", ["navigate"], {"url": ""}), None),
    ],
)
def test_googles_server_refuses_what_the_api_refuses(
    body: dict[str, Any], message: str | None
) -> None:
    found = refused("/v1beta/models/gemini-3.8-flash:generateContent", body)
    assert found is None if message is None else message in str(found)
