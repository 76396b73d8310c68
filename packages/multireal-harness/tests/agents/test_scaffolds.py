"""Two tasks by every agent of Proctor, through its real loop and, over a socket, its real SDK."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_server import Answer, ModelServer

from multireal_harness.agents.scripted_agent import locate
from multireal_harness.models import ModelConfig
from multireal_harness.world import load_solutions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from test_support.model_server import Seen

    from multireal_harness.world import Solution

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="session"),
]

TASKS = ["dining-mail-2", "calendar-mail-2"]
ELEMENT = re.compile(r'\[(\d+)\] (\S+) "(.*?)"')


def good(task: str) -> Solution:
    return load_solutions(task)[0]


class Talker:
    """A model for a tool-calling agent: one step per call, elements named as in the observation."""

    def __init__(self, solution: Solution, apps: list[str]) -> None:
        self._steps = iter(solution.steps)
        self._apps = apps

    def __call__(self, seen: Seen) -> Answer:
        step = next(self._steps)
        if step.do == "done":
            return Answer(tool_calls=(("done", {"answer": None}),))
        if step.do == "open":
            return Answer(tool_calls=(("switch_tab", {"index": self._apps.index(step.app)}),))
        # what has not changed is not shown again: the latest mention of each counts
        shown = list(ELEMENT.finditer(_strings(seen.body["input"])))[::-1]
        if step.do == "fill":
            label = {"to": "To", "body": "Message"}.get(step.field, step.field.title())
            field = next(
                each[1]
                for each in shown
                if each[3] == label and each[2] in {"textbox", "searchbox", "combobox"}
            )
            arguments = {"text": step.text, "element": field, "clear": True}
            return Answer(tool_calls=(("type_text", arguments),))
        exact = [each[1] for each in shown if each[3] == step.text]
        holding = [each[1] for each in shown if step.text in each[3].replace("\\n", " ")]
        return Answer(tool_calls=(("click", {"element": (exact + holding)[0]}),))


def _stated(body: dict[str, Any]) -> str:
    """Return what a model reads of the task, before the first page."""
    return _strings(body["input"]).partition("You have at most")[0]


def _strings(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(map(_strings, value))
    if isinstance(value, dict):
        return "\n".join(_strings(each) for key, each in value.items() if key != "image_url")
    return ""


@pytest.mark.parametrize("task", TASKS)
async def test_tool_calling_agent_does_a_task(task: str, runner: Any) -> None:
    apps = [site["id"] for site in runner.tasks[task].config["definition"]["websites"]]
    with ModelServer(Talker(good(task), apps)) as server:
        config = ModelConfig(
            name="GPT", model="openai:gpt-5.2", api_key="k-0123456789", base_url=server.base_url("openai"),
            accepts=("gpt-5.2",),
        )  # fmt: skip
        result = await runner.run(task, "tool-calling", config=config)
    assert (result.status.value, result.score) == ("completed", 1.0), result.error
    assert "time zone America/Denver" in _stated(server.requests[0].body)
    assert [
        _stated(server.requests[0].body).count(f"{runner.world.urls[app]}\n") for app in apps
    ] == [1, 1]
    assert result.integrity.findings == ()
    assert result.model_reported == "gpt-5.2"
    assert result.usage.requests == result.steps == len(good(task).steps)
    assert result.cost_usd is not None


async def test_another_model_than_the_one_asked_for_stops_the_trial(runner: Any) -> None:
    with ModelServer(lambda _: Answer(text="hi", model="gpt-4o-mini")) as server:
        config = ModelConfig(
            name="GPT",
            model="openai:gpt-5.2",
            api_key="k-0123456789",
            base_url=server.base_url("openai"),
        )
        result = await runner.run(TASKS[0], "tool-calling", config=config)
    assert (result.status.value, result.score) == ("environment_error", None)
    assert {"model_mismatch", "not_retried"} <= set(result.flags)
    assert "gpt-4o-mini" in str(result.error)


async def where(runner: Any, solution: Solution) -> list[tuple[str, tuple[int, int] | None]]:
    """Carry out the steps beforehand and return where each click is on the screen."""
    places: list[tuple[str, tuple[int, int] | None]] = []
    async with runner.browsers.open_context() as lease:
        pages = {}
        for app, url in runner.world.urls.items():
            if app in solution.task.split("-"):
                pages[app] = await lease.context.new_page()
                await pages[app].goto(f"{url}/config?latency=0&removePopup=true")
                await pages[app].goto(url)
        page = None
        for step in solution.steps:
            if step.do == "open":
                page = pages[step.app]
                places.append(("switch", (list(pages).index(step.app), 0)))
            elif step.do in {"click", "fill"}:
                target = (
                    locate(page, step.text)
                    if step.do == "click"
                    else page.locator(f'[name="{step.field}"]')  # type: ignore[union-attr]
                )
                box = await target.bounding_box()
                spot = (round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2))
                places.append((step.do, spot))
                await (target.click() if step.do == "click" else target.fill(step.text))
    return places


@pytest.mark.parametrize("task", TASKS)
async def test_claude_computer_use_does_a_task(task: str, runner: Any) -> None:
    solution = good(task)
    places = iter(await where(runner, solution))
    steps = iter(solution.steps)

    def answer(_: Seen) -> Answer:
        step = next(steps)
        if step.do == "done":
            return Answer(tool_calls=(("done", {"answer": None}),))
        _, spot = next(places)
        assert spot is not None
        if step.do == "open":
            return Answer(tool_calls=(("switch_tab", {"index": spot[0]}),))
        click = ("computer", {"action": "left_click", "coordinate": list(spot)})
        if step.do == "click":
            return Answer(tool_calls=(click,))
        return Answer(tool_calls=(click, ("computer", {"action": "type", "text": step.text})))

    with ModelServer(answer) as server:
        config = ModelConfig(
            name="Claude", model="anthropic:claude-opus-4-5-20251101", api_key="k-0123456789",
            base_url=server.base_url("anthropic"), dialect="computer_20251124",
        )  # fmt: skip
        result = await runner.run(task, "computer-use", config=config)
        first = server.requests[0]
    assert (result.status.value, result.score) == ("completed", 1.0), result.error
    assert result.integrity.findings == ()
    assert first.headers["anthropic-beta"] == "computer-use-2025-11-24"
    native = [tool for tool in first.body["tools"] if tool.get("type") == "computer_20251124"]
    assert (native[0]["display_width_px"], native[0]["display_height_px"]) == (1280, 720)


def browser_use_script(solution: Solution, urls: dict[str, str]) -> Iterator[Any]:
    from bench_core.browser_use.scripted_chat import act, fill  # needs the extra

    page = yield act("wait", seconds=1)
    for step in solution.steps:
        if step.do == "open":
            page = yield act("switch", tab_id=page.tab(urls[step.app]))
        elif step.do == "fill":
            page = yield fill(step.text, name=step.field)
        elif step.do == "click":
            exact = [each for each in page.elements if each.text == step.text]
            holding = [
                each for each in page.elements if step.text in each.text and each.tag == "button"
            ]
            page = yield act("click", index=(exact + holding)[0].index)
        else:
            page = yield act("done", text="done", success=True)


@pytest.mark.parametrize("task", TASKS)
async def test_browser_use_agent_does_a_task(task: str, runner: Any) -> None:
    from bench_core.browser_use import BrowserUseAgent, ScriptedChat  # needs the extra

    def agent_for(*_: object) -> Any:
        return BrowserUseAgent(chat=ScriptedChat(browser_use_script(good(task), runner.world.urls)))

    result = await runner.run(task, "browser-use", agent_for=agent_for)
    assert (result.status.value, result.score) == ("completed", 1.0), result.error
    assert result.integrity.findings == ()
    assert result.flags == ()
    assert result.steps == len(good(task).steps) + 1
