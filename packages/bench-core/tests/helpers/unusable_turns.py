"""Episodes of the built-in agents in which a model that follows a script now and then answers what cannot be used."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from built_in_agents import AGENTS, SIZE, Place, built_in, made
from test_support.model_server import Answer, ModelServer

from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import AgentTask, Limits, Step
from bench_core.run_folder import TRAJECTORY, read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from posting_page import Posts

    from bench_core.browser import TrialBrowser

BUTTONS: dict[str, Place] = {"red": (150, 125), "blue": (150, 225)}
"""Where they are, in pixels."""
_PLACED = "button { position: fixed; left: 100px; width: 100px; height: 50px } " + " ".join(
    f"button:nth-of-type({n}) {{ top: {y - 25}px }}" for n, (_, y) in enumerate(BUTTONS.values(), 1)
)


def unusable(agent: str, random: Random) -> Answer:
    """Return a reply with an act that there is not, or at no place, in the words of an agent."""
    if agent == "ui_tars_1_5":
        act = random.choice(["levitate(height='3')", "click(start_box='the button')"])
        return Answer(text=f"Thought: t\nAction: {act}")
    if agent.startswith("qwen"):
        nowhere = {"action": "left_click", "coordinate": "the button"}
        return made(None, ("computer_use", random.choice([{"action": "levitate"}, nowhere])))
    calls = [("levitate", {"height": 3}), ("click", {"x": "the button"})]
    return made(None, random.choice(calls))


def drawn_turns(agent: str, seed: int) -> tuple[list[Answer], list[str], int]:
    """Return the replies of an episode, which buttons they press, and how many have an unusable act.

    What follows an unusable act in one reply is not done, and the third reply without an act ends an agent.
    """
    random = Random(seed)  # noqa: S311  # reproducible, not secret
    _, click, end = AGENTS[agent]
    turns, presses, idle = [unusable(agent, random)], [], 1
    bad = 1
    for name in random.choices(list(BUTTONS), k=random.randint(1, 4)):
        press = click(BUTTONS[name])
        kinds = ["press", "press", "press first"] + ["press last"] * (idle < 2)
        # a provider's own tool takes a reply's acts as one
        several = press.tool_calls and press.toolset is None
        kind = random.choice(kinds if several else ["press"])
        calls = [*press.tool_calls, *unusable(agent, random).tool_calls]
        if kind != "press":
            press = made(None, *(calls if kind == "press first" else calls[::-1]))
        turns.append(press)
        presses += [name] * (kind != "press last")
        idle = idle + 1 if kind == "press last" else 0
        after = random.randint(0, 2 - idle)
        turns += [unusable(agent, random) for _ in range(after)]
        idle += after
        bad += after + (kind != "press")
    return [*turns, end], presses, bad


async def loop_episode(
    agent: str, browser: TrialBrowser, server: Posts, folder: Path, seed: int
) -> list[str]:
    """Play one episode of a built-in agent; return what its steps say otherwise than server and page saw."""
    turns, presses, bad = drawn_turns(agent, seed)
    server.posted.clear()
    folder.mkdir(parents=True)
    context: Any = browser.context
    page = await context.new_page()
    await page.goto(server.url)
    await page.add_style_tag(content=_PLACED)
    await page.evaluate(
        "() => { pressed = []; addEventListener('click', ({target}) => pressed.push(target.textContent)) }"
    )
    replies = iter(turns)
    with ModelServer(lambda _: next(replies)) as models:
        async with built_in(agent, models, context) as built:
            outcome = await built.run(
                AgentTask(task_id="1", benchmark="none", goal="Press the buttons"),
                BrowserHandle(cdp_url=browser.cdp_url, viewport=SIZE),
                TrialContext(run_id="test", folder=folder, limits=Limits(max_steps=30)),
            )
    seen = await page.evaluate("pressed")
    await page.close()
    steps = list(read_lines(folder / TRAJECTORY, Step).records)
    failed = [each for each in steps if each.error]
    found = [
        f"{what} {had}, not {wanted}"
        for what, had, wanted in (
            ("the server saw", server.posted, presses),
            ("the page saw", seen, presses),
            ("the steps have", recorded_presses(steps), presses),
            ("the status is", outcome.status, "completed"),
            ("steps", len(steps), len(turns)),
            ("steps with an unusable act", len(failed), bad),
        )
        if had != wanted
    ]
    found += [f"step {e.step} has {e.error!r}" for e in failed if "\n" in (e.error or "")]
    return [f"{agent}, seed {seed}: {each}" for each in found]


def recorded_presses(steps: list[Step]) -> list[str]:
    """Return the buttons that the acts of steps press, by where they click."""
    clicks = [each for step in steps for each in step.actions if each["kind"] == "click"]
    return [_at(each["target"]) for each in clicks]


def _at(target: Any) -> str:
    near = (
        name
        for name, (x, y) in BUTTONS.items()
        if abs(target["y"] - y) < 25 and abs(target["x"] - x) < 50
    )
    return next(near, str(target))
