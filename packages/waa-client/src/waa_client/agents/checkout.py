"""`checkout`: runs an agent class of a Windows Agent Arena checkout, such as Navi, unchanged.

Its `predict(instruction, obs)` gets the observation of vanilla's `DesktopEnv` and returns
`(response, actions, logs, computer_update_args)`; the loop around it is vanilla's. So a run of it
compares harness with harness, not agent with agent.

Its model calls are metered if they can be recorded (`waa_client.agents.model_calls`); a result with
unknown usage is flagged `usage_unknown`. A fault of its provider is not the agent's failure, however the
agent handles it.

Options: `checkout` (the folder, put on the import path), `class` (`mm_agents.navi.agent:NaviAgent`),
`arguments` (a JSON object for the class), `language` (`code_block`, or `pyautogui` as
WindowsAgentArena-V2 runs it).
"""

from __future__ import annotations

import asyncio
import importlib
import io
import math
import sys
import traceback
from contextlib import suppress
from datetime import datetime, timezone
from numbers import Integral
from pathlib import Path
from typing import Any

from bench_core.agents import ActionResult
from bench_core.errors import (
    AgentError,
    BenchError,
    BudgetExceededError,
    EnvironmentFaultError,
    InputError,
)
from bench_core.faults import FaultEvidence, fault_of
from bench_core.models import ModelError, WireCall, provider_error, published_prices
from bench_core.protocols import EnvironmentHandle, TrialContext
from bench_core.records import AgentOutcome, AgentTask, ErrorInfo, Status, Step, Usage
from bench_core.records.codec import decode_json
from bench_core.run_folder import TrialArtifacts
from waa_client.actions import Block
from waa_client.actions.code import SPECIAL
from waa_client.agents.model_calls import CallRecorder
from waa_client.desktop import View, WaaDesktop
from waa_client.vm import calls
from waa_client.vm.wire import VmCall

USAGE_UNKNOWN = "usage_unknown"
"""Flag of results with model calls that could not be counted."""

_STEPS = 15
"""Vanilla's own `--max_steps`."""
_PAIR, _RECT = 2, 4
_CLIENT = Path("src/win-arena-container/client")


class CheckoutAgent:
    """Agent that runs a class with `predict(instruction, obs)` under vanilla's loop."""

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
            EnvironmentFaultError: The VM or the agent's model provider failed.
        """
        # imports of a checkout may take seconds, during which other trials go on
        agent = await asyncio.to_thread(_make, context)
        trial = _VanillaTrial(agent, environment.live, task, context)
        with trial.calls.recording():
            try:
                await asyncio.wait_for(trial.loop(), context.limits.time_limit_s)
            except TimeoutError:
                trial.status = Status.TIME_LIMIT
        return trial.outcome()


class _VanillaTrial:
    """One trial under vanilla's loop."""

    def __init__(
        self, agent: Any, desktop: WaaDesktop, task: AgentTask, context: TrialContext
    ) -> None:
        self.status = Status.STEP_LIMIT
        self.calls = CallRecorder()
        self._meter = context.meter
        self._calls = 0
        self._answered = False
        self._said: ModelError | None = None
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
            # not every agent class of a checkout defines it
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
                try:
                    call = _update_call(update)
                # Foreign objects are read here, such as the agent's own picture.
                except Exception as error:
                    raise AgentError(
                        f"the agent's computer_update_args are malformed: {type(error).__name__}: {error}"
                    ) from error
                await self._desktop.ask(call)
                self._desktop.keep_agents_update()
            results, ended = await self._perform(actions)
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
            if ended:
                self.status = Status.COMPLETED
                return
            seen = await self._observe()

    async def _observe(self) -> dict[str, Any]:
        """Return the observation in vanilla's form."""
        from PIL import Image  # agents want the window as a picture

        observation = await self._desktop.observe()
        # vanilla always asks for the window, and its agents need it
        window = self._desktop.window
        if window is None:
            window = await self._desktop.ask(calls.obs_winagent())
        picture = await self._desktop.picture()
        return {
            "screenshot": picture.data,
            "accessibility_tree": observation.text,
            # the server's route for it always fails on Windows
            "terminal": None,
            "instruction": self._task.goal,
            "window_title": window.title,
            # as vanilla's `DesktopEnv`: left, top, right, bottom, not a width and height
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
        except asyncio.CancelledError:
            # its thread goes on, and its further calls cannot be recorded
            self._desktop.flags[USAGE_UNKNOWN] = None
            with suppress(BudgetExceededError):
                self._spend(self.calls.take())
            raise
        # Foreign code runs here: whatever it raises is its own failure, unless its provider failed.
        except Exception as error:  # noqa: BLE001
            self._account(error)
            self._fail(error)
            return None
        self._account()
        try:
            _, actions, logs, update = answer
            thought = str((logs or {}).get("plan_result", ""))
            return [_as_text(each) for each in actions], update, thought
        except Exception as error:  # noqa: BLE001  # the same
            self._fail(error)
            return None

    def _account(self, error: Exception | None = None) -> None:
        """Meter the calls of one step.

        Raises:
            BudgetExceededError: The run's budget is spent.
            EnvironmentFaultError: The provider failed the step's last call.
        """
        recorded = self.calls.take()
        self._spend(recorded)
        if isinstance(error, (EnvironmentFaultError, BudgetExceededError)):
            raise error
        said = recorded[-1].error(answered=self._answered) if recorded else None
        if said is None and error is not None:
            said = provider_error(error)
        self._answered |= any(each.kind is None for each in recorded)
        if said is not None and not fault_of(FaultEvidence(said)).scored:
            raise ModelError(
                said.kind,
                f"the agent's model provider failed: {said.message}",
                provider="model",
                status=said.status,
            ) from error
        self._said = said

    def _spend(self, recorded: list[WireCall]) -> None:
        failed = 0
        for each in recorded:
            if each.outcome == "failed":
                failed += 1
                continue
            if each.outcome == "unread":
                self._desktop.flags[USAGE_UNKNOWN] = None
            self._calls += 1
            usage = each.usage or Usage(requests=1)
            retried = usage.model_copy(
                update={"requests": usage.requests + failed, "retries": failed}
            )
            failed = 0
            self._meter.spend(retried, 0.0 if each.outcome == "refused" else _cost(each))
        if failed:
            self._meter.spend(Usage(requests=failed, retries=failed - 1), 0.0)

    def _fail(self, error: Exception) -> None:
        kind = fault_of(FaultEvidence(self._said or error))
        if not kind.scored:
            raise error
        self.status = kind.status
        self._error = ErrorInfo(
            kind=type(error).__name__,
            fault=kind.name,
            message=str(error) or type(error).__name__,
            phase="agent",
            traceback=None
            if isinstance(error, BenchError)
            else "".join(traceback.format_exception(error)),
        )

    async def _perform(self, actions: list[str]) -> tuple[list[ActionResult], bool]:
        results = []
        for action in actions:
            language = "code_block" if action in SPECIAL else self._language
            block = Block(code=action, language=language)
            results.append(await self._desktop.run(block))
            if action in {"DONE", "FAIL"}:
                return results, True
        return results, False

    def outcome(self) -> AgentOutcome:
        if not self._calls:
            self._desktop.flags[USAGE_UNKNOWN] = (
                None  # none was recorded; there may have been calls by other libraries
            )
        return AgentOutcome(status=self.status, steps=self._steps, error=self._error)


def _update_call(given: dict[str, Any]) -> VmCall[None]:
    picture = io.BytesIO()
    given["screenshot"].save(picture, "PNG")
    clipboard = given.get("clipboard_content")
    if clipboard is not None and not isinstance(clipboard, str):
        raise TypeError("clipboard_content is no text")
    x, y = _numbers(given.get("scale") or (1.0, 1.0), _PAIR)
    return calls.update_computer(
        [_numbers(rect, _RECT) for rect in given.get("rects") or []],
        _numbers(given["window_rect"], _RECT),
        picture.getvalue(),
        scale=(x, y),
        clipboard_content=clipboard,
        swap_ctrl_alt=bool(given.get("swap_ctrl_alt")),
    )


def _numbers(values: Any, count: int) -> list[Any]:
    """Return numbers as JSON types; those of agents may be numpy's.

    Raises:
        ValueError: They are not `count` finite ones.
    """
    numbers = [int(each) if isinstance(each, Integral) else float(each) for each in values]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{values!r} is not {count} numbers")
    return numbers


def _cost(call: WireCall) -> float | None:
    """Return the cost of a call at published prices; None if usage or price is unknown."""
    prices = published_prices()
    if prices is None or call.usage is None or call.model is None:
        return None
    price = prices.price(call.provider, call.model, call.usage)
    return None if price is None else price.usd


def _as_text(action: object) -> str:
    text = str(action)
    text.encode()  # a lone surrogate can be neither sent nor stored
    return text


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
    checkout = context.agent_option("checkout")
    if checkout:
        root = Path(str(checkout))
        folder = root / _CLIENT if (root / _CLIENT).is_dir() else root
        if not folder.is_dir():
            raise InputError(f"there is no checkout {root}")
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    try:
        made = getattr(importlib.import_module(module), name)(**_arguments(context))
    # The user's own class: whatever it raises says that it cannot be used here.
    except Exception as error:
        raise InputError(f"{reference} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(made, "predict", None)):
        raise InputError(f"{reference} is not an agent of Windows Agent Arena: it has no `predict`")
    return made


def _arguments(context: TrialContext) -> dict[str, Any]:
    given = context.agent_option("arguments", {})
    try:
        value = decode_json(given) if isinstance(given, str) else given
    except ValueError as error:
        raise InputError(f"the option arguments is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InputError('the option arguments is a JSON object, e.g. {"model": "gpt-4o"}')
    return value
