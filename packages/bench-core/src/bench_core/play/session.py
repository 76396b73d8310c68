"""Lets a model play the three pages, and reports the results."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench_core.browser import ChromiumOptions, launch_chromium
from bench_core.errors import EnvironmentFaultError
from bench_core.play.pages import CLICKS, LINES, WORDS, PageServer
from bench_core.protocols import Agent, BrowserHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask, Limits, Record, Step, Usage

SIZES = ((1024, 768), (1280, 720), (1440, 900), (1920, 1080))
_STEPS = 14
_LAST_NOTES_S = 0.5
"""Time for a page to report the last acts before its browser is closed."""
_MOST_SHOWN = 300
_NO_ANSWER: dict[str, Any] = {"type": "object", "properties": {}}
_TARGET = f"Click the middle of the red square. It moves after each click; click it {CLICKS} times in all."
_TYPE = (
    "Click the yellow text field and enter this text exactly as it stands, on two lines; between the quotation mark "
    f"and the word new there is a tab character:\n{LINES}"
)
_ACT = (
    "1. Drag the blue square into the green area. 2. Scroll the grey list down to its end. 3. Press the orange button "
    "and read the first word in the dialog that opens. 4. Press the violet button and read the second word on the tab "
    "that opens. End with both words as your answer."
)


class Landing(Record):
    """The intended and the actual place of one click, in pixels of the page."""

    size: tuple[int, int]
    meant: tuple[float, float]
    hit: tuple[float, float]


class PlayFinding(Record):
    """The result of one page.

    Attributes:
        page: `target 1280x720`, `typing` or `acts`.
        passed: Whether everything was done as asked.
        detail: The acts, or the differences.
        refused: Calls and requests that were refused, in the refuser's words.
        landings: Of the target page, each click.
    """

    page: str
    passed: bool
    detail: str
    refused: tuple[str, ...] = ()
    landings: tuple[Landing, ...] = ()
    usage: Usage = Usage()
    cost_usd: float | None = None


async def play(
    agent: Agent, context: TrialContext, sizes: tuple[tuple[int, int], ...] = SIZES
) -> list[PlayFinding]:
    """Let an agent play the pages, the target at each size, and return the result of each.

    Args:
        agent: Works with the context's model.
        context: Names the model and the agent's options; the trials get folders of their own.
        sizes: Width and height of the browser's page in pixels.

    Raises:
        BrowserError: Chromium is missing, or it does not start.
        InputError: The agent cannot work with the model.
    """
    server = PageServer()
    server.start("play")
    try:
        found = [await _target(agent, context, server, size) for size in sizes]
        found.append(await _typing(agent, context, server))
        found.append(await _acts(agent, context, server))
    finally:
        server.stop()
    return found


async def _target(
    agent: Agent, context: TrialContext, server: PageServer, size: tuple[int, int]
) -> PlayFinding:
    outcome, refused = await _trial(agent, context, server.url("target"), _TARGET, _NO_ANSWER, size)
    landings = tuple(
        Landing(size=size, meant=(x, y), hit=(at_x, at_y))
        for x, y, at_x, at_y in server.noted("click")
    )
    problem = (
        _misplaced(landings)
        if len(landings) == CLICKS
        else f"{len(landings)} of {CLICKS} clicks arrived"
    )
    page = f"target {size[0]}x{size[1]}"
    return _finding(
        page,
        problem,
        f"{CLICKS} clicks within {_farthest(landings):.0f} px",
        outcome,
        refused,
        landings,
    )


def _farthest(landings: tuple[Landing, ...]) -> float:
    return max(
        (max(abs(each.hit[i] - each.meant[i]) for i in (0, 1)) for each in landings), default=0.0
    )


def _misplaced(landings: tuple[Landing, ...]) -> str:
    """Say how clicks miss: by a factor if the model answers in another size than it saw, else by pixels."""
    if _farthest(landings) <= _NEAR_PX:
        return ""
    factors = [
        statistics.linear_regression(
            [each.meant[i] for each in landings], [each.hit[i] for each in landings]
        ).slope
        for i in (0, 1)
    ]
    if max(abs(each - 1) for each in factors) > _SAME_SCALE:
        across, down = (f"{100 * (each - 1):+.1f}%" for each in factors)
        return f"places are scaled by {across} across and {down} down: the model answers in another size than it was sent"
    shift = [statistics.mean(each.hit[i] - each.meant[i] for each in landings) for i in (0, 1)]
    return f"clicks miss by up to {_farthest(landings):.0f} px, on average {shift[0]:+.0f} across and {shift[1]:+.0f} down"


_NEAR_PX = 12.0
"""Half of the square's side: nearer is on it."""
_SAME_SCALE = 0.01


async def _typing(agent: Agent, context: TrialContext, server: PageServer) -> PlayFinding:
    outcome, refused = await _trial(agent, context, server.url("typing"), _TYPE, _NO_ANSWER)
    written = ([*server.noted("text"), ""])[-2:][0]
    problem = "" if written == LINES else f"{written[:_MOST_SHOWN]!r} arrived instead of {LINES!r}"
    return _finding(
        "typing", problem, "quotes, backslash, tab, new line and Unicode arrive", outcome, refused
    )


async def _acts(agent: Agent, context: TrialContext, server: PageServer) -> PlayFinding:
    form = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}
    outcome, refused = await _trial(agent, context, server.url("acts"), _ACT, form)
    answer = json.dumps(outcome.answer) if outcome is not None else ""
    scrolled = max(server.noted("scroll"), default=0)
    missing = {
        "the drag": True in server.noted("drag"),
        f"the scroll ({scrolled:.0f} px)": scrolled > _FAR_PX,
        "the dialog": bool(server.noted("dialog")),
        "the new tab": bool(server.noted("tab")),
        "the answer": all(word in answer for word in WORDS),
    }
    wrong = [name for name, there in missing.items() if not there]
    problem = f"not done as asked: {', '.join(wrong)}" if wrong else ""
    return _finding("acts", problem, "drag, scroll, dialog, new tab and answer", outcome, refused)


_FAR_PX = 1500.0
"""Less than the list's own height, more than one turn of the wheel."""


def _finding(
    page: str,
    problem: str,
    done: str,
    outcome: AgentOutcome | None,
    refused: tuple[str, ...],
    landings: tuple[Landing, ...] = (),
) -> PlayFinding:
    return PlayFinding(
        page=page,
        passed=not problem and outcome is not None,
        detail=problem or done,
        refused=refused,
        landings=landings,
        usage=Usage() if outcome is None else outcome.usage,
        cost_usd=None if outcome is None else outcome.cost_usd,
    )


async def _trial(
    agent: Agent,
    context: TrialContext,
    url: str,
    goal: str,
    form: dict[str, Any],
    size: tuple[int, int] = (1280, 720),
) -> tuple[AgentOutcome | None, tuple[str, ...]]:
    """Return how one trial ended, None if the provider refused, and the refusals on the way."""
    task = AgentTask(benchmark="play", task_id=url, goal=goal, answer_schema=form, can_fail=False)
    limits = Limits(max_steps=_STEPS)
    async with launch_chromium(ChromiumOptions(window=size)) as chromium:
        handle = BrowserHandle(cdp_url=chromium.cdp_url, start_urls=(url,), viewport=size)
        with tempfile.TemporaryDirectory(prefix="proctor-play-") as folder:
            place = context.model_copy(update={"folder": Path(folder), "limits": limits})
            outcome, refused = None, []
            try:
                outcome = await agent.run(task.model_copy(update={"limits": limits}), handle, place)
                await asyncio.sleep(_LAST_NOTES_S)
            except EnvironmentFaultError as error:
                refused = [str(error)[:_MOST_SHOWN]]
            calls = list(_refused_calls(Path(folder) / "trajectory.jsonl"))
            if outcome is not None and outcome.error is not None:
                refused.append(outcome.error.message[:_MOST_SHOWN])
    return outcome, tuple(dict.fromkeys([*calls, *refused]))


def _refused_calls(trajectory: Path) -> Iterator[str]:
    """Yield why acts had no effect, by the lines that the agent has left."""
    lines = trajectory.read_text(encoding="utf-8").splitlines() if trajectory.exists() else []
    for step in map(Step.model_validate_json, lines):
        if step.error:
            yield step.error[:_MOST_SHOWN]
