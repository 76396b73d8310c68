"""`checkout`: an agent class of a Windows Agent Arena checkout, such as Navi, as it is.

Its `predict(instruction, obs)` gets what vanilla's `DesktopEnv` gives it and returns
`(response, actions, logs, computer_update_args)`; the loop around it is vanilla's. So a run of it
compares harness with harness, not agent with agent.

Options: `checkout` (the folder, put on the import path), `class` (`mm_agents.navi.agent:NaviAgent`),
`arguments` (a JSON object for the class), `language` (`code_block`, or `pyautogui` as
WindowsAgentArena-V2 runs it).
"""

from __future__ import annotations

import asyncio
import importlib
import io
import sys
import traceback
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.artifacts import TrialArtifacts
from bench_core.codec import decode_json
from bench_core.errors import BenchError, InputError
from bench_core.records import AgentOutcome, ErrorInfo, Status, Step
from waa_client.actions import Block
from waa_client.actions.code import SPECIAL
from waa_client.desktop import View
from waa_client.vm import calls

if TYPE_CHECKING:
    from bench_core.agents.records import ActionResult
    from bench_core.protocols import EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask
    from waa_client.desktop import WaaDesktop

__all__ = ["CheckoutAgent"]

_STEPS = 15
"""Vanilla's own `--max_steps`."""
_CLIENT = Path("src/win-arena-container/client")


class CheckoutAgent:
    """Runs a class with `predict(instruction, obs)` under vanilla's loop."""

    name = "checkout"
    environments = ("desktop",)
    in_process = True

    def view(self, context: TrialContext) -> View:
        """Fetch the tree unless the option `tree` is false; vanilla fetches it by default."""
        return View(windows=True, tree=context.agent_option("tree", "true") not in {False, "false"})

    async def run(
        self, task: AgentTask, environment: EnvironmentHandle, context: TrialContext
    ) -> AgentOutcome:
        """Work on `task`; see `bench_core.protocols.Agent`.

        Raises:
            InputError: The class is missing or cannot be made.
            EnvironmentFaultError: The VM failed.
        """
        agent = await asyncio.to_thread(_make, context)
        trial = _Trial(agent, environment.live, task, context)
        try:
            await asyncio.wait_for(trial.loop(), context.limits.time_limit_s)
        except TimeoutError:
            trial.status = Status.TIME_LIMIT
        return trial.outcome()


class _Trial:
    """One trial under vanilla's loop."""

    def __init__(
        self, agent: Any, desktop: WaaDesktop, task: AgentTask, context: TrialContext
    ) -> None:
        self.status = Status.STEP_LIMIT
        self._agent = agent
        self._desktop = desktop
        self._task = task
        self._limit = context.limits.max_steps or task.limits.max_steps or _STEPS
        self._language = (
            "pyautogui" if context.agent_option("language") == "pyautogui" else "code_block"
        )
        self._artifacts = TrialArtifacts(context.folder)
        self._steps = 0
        self._error: ErrorInfo | None = None

    async def loop(self) -> None:
        if hasattr(self._agent, "reset"):
            self._agent.reset()
        seen = await self._observe()
        while self._steps < self._limit:
            self._steps += 1
            started = datetime.now(timezone.utc)
            predicted = await self._predict(seen)
            if predicted is None:
                return
            actions, update, thought = predicted
            if update:
                await self._update(update)
            results, ended = await self._perform(actions)
            self._record(started, seen, actions, results, thought)
            if ended:
                self.status = Status.COMPLETED
                return
            seen = await self._observe()

    async def _observe(self) -> dict[str, Any]:
        """Return the observation in vanilla's form."""
        from PIL import Image  # noqa: PLC0415  # agents want the window as a picture

        observation = await self._desktop.observe()
        # as vanilla does: without it there is nothing the agent could be shown
        window = self._desktop.window
        if window is None:
            window = await self._desktop.ask(calls.obs_winagent())
        picture = await self._desktop.picture()
        return {
            "screenshot": picture.data,
            "accessibility_tree": observation.text,
            "terminal": None,
            "instruction": self._task.goal,
            "window_title": window.title,
            "window_rect": list(window.rect),
            "window_image": Image.open(io.BytesIO(window.image or picture.data)),
            "window_names_str": "\n".join(window.windows),
            "computer_clipboard": window.clipboard,
            "human_input": window.human_input,
        }

    async def _predict(
        self, seen: dict[str, Any]
    ) -> tuple[list[str], dict[str, Any] | None, str] | None:
        try:
            answer = await asyncio.to_thread(self._agent.predict, self._task.goal, seen)
            _, actions, logs, update = answer
            thought = str((logs or {}).get("plan_result", ""))
            return [str(each) for each in actions], update, thought
        # Foreign code runs here: whatever it raises is the agent's own failure.
        except Exception as error:  # noqa: BLE001
            self.status = Status.AGENT_ERROR
            self._error = ErrorInfo(
                kind=type(error).__name__,
                message=str(error) or type(error).__name__,
                phase="agent",
                traceback=None if isinstance(error, BenchError) else traceback.format_exc(),
            )
            return None

    async def _update(self, given: dict[str, Any]) -> None:
        """Send `/update_computer` as the agent wants it; pictures are encoded for the wire."""
        picture = io.BytesIO()
        given["screenshot"].save(picture, "PNG")
        x, y = given.get("scale") or (1.0, 1.0)
        await self._desktop.ask(
            calls.update_computer(
                given.get("rects") or [],
                given["window_rect"],
                picture.getvalue(),
                scale=(x, y),
                clipboard_content=given.get("clipboard_content"),
                swap_ctrl_alt=bool(given.get("swap_ctrl_alt")),
            )
        )
        self._desktop.told_by_agent()

    async def _perform(self, actions: list[str]) -> tuple[list[ActionResult], bool]:
        results = []
        for action in actions:
            language = "code_block" if action in SPECIAL else self._language
            block = Block(code=action, language=language)
            results.append(await self._desktop.run(block))
            if action in {"DONE", "FAIL"}:
                return results, True
        return results, False

    def _record(
        self,
        started: datetime,
        seen: dict[str, Any],
        actions: list[str],
        results: list[ActionResult],
        thought: str,
    ) -> None:
        name = f"screenshots/step-{self._steps:03d}.png"
        errors = [each.error for each in results if each.error]
        self._artifacts.append_step(
            Step(
                step=self._steps,
                started=started,
                title=seen["window_title"],
                screenshot=self._artifacts.write_bytes(name, seen["screenshot"]),
                thought=thought or None,
                actions=tuple(_as_action(each, self._language) for each in actions),
                results=tuple(each.text or each.error or "" for each in results),
                error="; ".join(errors) or None,
            )
        )

    def outcome(self) -> AgentOutcome:
        return AgentOutcome(status=self.status, steps=self._steps, error=self._error)


def _as_action(code: str, language: str) -> dict[str, Any]:
    if code in SPECIAL:
        return {"kind": code.lower()}
    return {"kind": "code", "code": code or "#", "language": language}


def _make(context: TrialContext) -> Any:
    reference = str(context.agent_option("class", ""))
    module, separator, name = reference.partition(":")
    if not separator:
        raise InputError(
            "the agent 'checkout' needs --agent-option class=module:Class, e.g. "
            "class=mm_agents.navi.agent:NaviAgent"
        )
    _extend_path(context.agent_option("checkout"))
    try:
        made = getattr(importlib.import_module(module), name)(**_arguments(context))
    # The user's own class: whatever it raises says that it cannot be used here.
    except Exception as error:
        raise InputError(f"{reference} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(made, "predict", None)):
        raise InputError(f"{reference} is no agent of Windows Agent Arena: it has no `predict`")
    return made


def _extend_path(checkout: Any) -> None:
    if not checkout:
        return
    root = Path(str(checkout))
    folder = root / _CLIENT if (root / _CLIENT).is_dir() else root
    if not folder.is_dir():
        raise InputError(f"there is no checkout {root}")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _arguments(context: TrialContext) -> dict[str, Any]:
    given = context.agent_option("arguments", {})
    try:
        value = decode_json(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InputError(f"the option arguments is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError('the option arguments is a JSON object, e.g. {"model": "gpt-4o"}')
    return value
