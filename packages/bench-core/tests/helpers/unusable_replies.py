"""Episodes in which a model that follows a script now and then answers what cannot be used."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from bench_core.browser_use import Attempt, ScriptedChat
from bench_core.browser_use.scripted_chat import act, click, go
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import Limits, Step
from bench_core.run_folder import TRAJECTORY, read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from posting_page import Posts

UNUSABLE: tuple[dict[str, Any], ...] = (
    {"action": [{"levitate": {"height": 3}}]},
    {"action": [{"click": {"index": "the button"}}], "memory": "pressed it again"},
    {"action": "press it"},
    {"next_goal": "none"},
    {},
)


class Unreliable(ScriptedChat):
    """A script whose turn comes later where `before` has unusable replies for it; `asked` is what it was sent."""

    def __init__(self, script: Any, before: dict[int, list[dict[str, Any]]]) -> None:
        super().__init__(script)
        self._before = before
        self.asked: list[str] = []

    async def ainvoke(self, messages: Any, output_format: Any = None, **options: Any) -> Any:
        self.asked.append("\n".join(each.text for each in messages if each.role == "user"))
        if output_format is not None and self._before.get(self.turns):
            output_format.model_validate(self._before[self.turns].pop(0))
        return await super().ainvoke(messages, output_format, **options)


def drawn(seed: int) -> tuple[list[str], dict[int, list[dict[str, Any]]]]:
    """Return which buttons are pressed, and the unusable replies before each turn; the seed says both."""
    random = Random(seed)  # noqa: S311  # reproducible, not secret
    presses = random.choices(["red", "blue"], k=random.randint(1, 3))
    before = {
        turn: [dict(random.choice(UNUSABLE)) for _ in range(random.choice([0, 0, 1, 2]))]
        for turn in range(1, len(presses) + 2)
    }
    before.setdefault(1, []).append(dict(random.choice(UNUSABLE)))
    return presses, before


async def episode(
    browser: BrowserHandle, server: Posts, folder: Path, seed: int
) -> tuple[list[str], list[Step], Unreliable]:
    """Play one episode; return what the server saw, the steps, and the model."""
    presses, before = drawn(seed)
    server.posted.clear()
    folder.mkdir(parents=True)
    script = [go(server.url), *map(click, presses), act("done", text="pressed", success=True)]
    chat = Unreliable(iter(script), before)
    bounds = Limits(max_steps=30, time_limit_s=300)
    outcome = await Attempt(
        chat, browser, TrialContext(run_id="test", folder=folder), limits=bounds
    ).run("Press the buttons", max_failures=9)
    assert outcome.answer == "pressed", outcome
    return list(server.posted), list(read_lines(folder / TRAJECTORY, Step).records), chat


def differences(posted: list[str], steps: list[Step], seed: int) -> list[str]:
    """Return what the steps say otherwise than the server saw and the script was."""
    presses, before = drawn(seed)
    clicked = sum("click" in action for each in steps for action in each.actions)
    failed = [each for each in steps if each.error]
    unusable = sum(map(len, before.values()))
    found = [] if posted == presses else [f"the server saw {posted}, not {presses}"]
    found += (
        []
        if clicked == len(posted)
        else [f"{clicked} clicks are recorded, {len(posted)} were made"]
    )
    found += (
        []
        if len(failed) == unusable
        else [f"{len(failed)} steps failed, {unusable} replies were unusable"]
    )
    found += [
        f"step {each.step}, whose reply could not be read, has {each.actions or each.thought or each.error}"
        for each in failed
        if each.actions or each.thought or "\n" in (each.error or "")
    ]
    return [f"seed {seed}: {each}" for each in found]
