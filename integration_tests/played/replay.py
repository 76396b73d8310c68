"""Play a kept trial again: through the real runner, or, where a model acted by pixels, through its dialect alone."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from click.testing import CliRunner
from integration_tests.played.naming import NotShownError, Shown, replaced
from test_support.model_requests import ReadRequest
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer

from bench_core.agents import ActionResult, BrowserEnvironment, ModelStepper, Observation
from bench_core.agents.dialects import dialect_named
from bench_core.models import ImagePart, Model, ScriptedAdapter
from bench_core.protocols import TrialContext
from bench_core.records import AgentTask
from bench_core.run_folder import read_run
from waa_client.actions import OFFERS
from webarena_runner import answer_schema, load_tasks

if TYPE_CHECKING:
    from pathlib import Path

    from test_support.model_server import Seen

    from bench_core.records import TrialResult

__all__ = ["Kept", "acts_of", "expected_acts", "played_again"]

_PICTURE = ImagePart.from_bytes(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b55"
        "0000000a49444154789c636000000002000148afa4710000000049454e44ae426082"
    )
)
"""One black pixel: no dialect reads the screen."""
_PLACE = re.compile(r"\{origin (\d+)\}")
_PROGRAMS = {"webarena": "webarena-runner", "multireal": "multireal-harness", "waa": "waa-client"}


@dataclass
class Kept:
    """A trial as `keep.py` wrote it down."""

    trial: dict[str, Any]
    replies: list[dict[str, Any]]

    @classmethod
    def of(cls, path: Path) -> Kept:
        trial, *replies = map(json.loads, path.read_text("utf-8").strip("\n").split("\n"))
        return cls(trial, replies)

    @property
    def by_pixels(self) -> bool:
        """Whether its model acted through its provider's own tool."""
        return bool(self.trial["agent"] == "computer-use")

    @property
    def ended(self) -> bool:
        """Whether the agent ended it, so that its replies are all there is to say."""
        return self.trial["ended"] is not None and self.trial["score"] is not None


class _Player:
    """Answers with the kept replies, which it aims at what each request shows."""

    def __init__(self, kept: Kept) -> None:
        self.problem: str | None = None
        self._agent = kept.trial["agent"]
        self._replies = iter(kept.replies)

    def __call__(self, seen: Seen) -> Answer:
        shown = Shown(_turns(ReadRequest.of(seen)))

        def found(value: Any) -> Any:
            key = shown.find(value) if isinstance(value, dict) else value
            number = self._agent == "browser-use" and value.get("role") != "tab"
            return int(key) if number else key

        try:
            reply = replaced(self._agent, next(self._replies), shown.with_ports, found)
        except (NotShownError, StopIteration) as error:
            self.problem = self.problem or f"{type(error).__name__}: {error}"
            return Answer(text="I do not know how to go on.", stop="refusal")
        if "data" in reply:
            return Answer(text=json.dumps(reply["data"]))
        calls = tuple((name, arguments) for name, arguments in reply["calls"])
        return Answer(text=reply["text"], tool_calls=calls, stop="tool_use" if calls else "end")


def _turns(request: ReadRequest) -> list[str]:
    turns: list[list[str]] = [[]]
    for role, parts in request.turns:
        if role == "assistant":
            turns.append([])
        else:
            turns[-1] += [each.text for part in parts for each in part.flat() if each.text]
    return ["\n".join(each) for each in turns]


def played_again(kept: Kept, out: Path) -> tuple[TrialResult, str | None]:
    """Let the kept replies play the task in the runner that made them; return the result and what went wrong."""
    trial = kept.trial
    (script,) = importlib.metadata.entry_points(
        group="console_scripts", name=_PROGRAMS[trial["world"]]
    )
    given = [
        "run", "--world", "built-in", "--agent", trial["agent"], "--model", trial["model"], "-t", trial["task"],
        "-j", "1", "--attempts", "1", "--out", str(out),
    ]  # fmt: skip
    if trial["max_steps"]:
        given += ["--max-steps", str(trial["max_steps"])]
    options = dict(trial["options"])
    for name, value in options.pop("agent_options", {}).items():
        given += ["--agent-option", f"{name}={value}"]
    for name, value in options.items():
        given += [f"--{name}", str(value)]
    player = _Player(kept)
    with ModelServer(player, rules=Rules()) as server:
        variables = {
            "OPENAI_BASE_URL": server.base_url("openai"), "ANTHROPIC_BASE_URL": server.base_url("anthropic"),
            "GOOGLE_GEMINI_BASE_URL": server.base_url("google"),
            **{f"{each}_API_KEY": "a key of some length" for each in ("OPENAI", "ANTHROPIC", "GEMINI")},
        }  # fmt: skip
        with patch.dict("os.environ", variables):
            ran = CliRunner().invoke(script.load(), given)
    if not (out / "run.json").exists():
        raise AssertionError(ran.output)
    (result,) = read_run(out).results.values()
    return result, player.problem


def acts_of(kept: Kept, folder: Path) -> list[Any]:
    """Return what the dialect makes of each reply, as the trial's record has it."""
    return asyncio.run(_acts_of(kept, folder))


def expected_acts(kept: Kept) -> list[Any]:
    """Return the acts that were recorded, with the same stand-ins for what was on the screen."""
    return [_standing_in(reply["acts"]) for reply in kept.replies]


async def _acts_of(kept: Kept, folder: Path) -> list[Any]:
    trial = kept.trial
    dialect = dialect_named(trial["dialect"])
    family = getattr(dialect, "family", "computer")
    lines = [
        {
            "text": _standing_in(reply["text"]),
            "tool_calls": [
                {"name": name, "arguments": _standing_in(arguments),
                 "toolset": family if name in {*dialect.members, "computer"} else None}
                for name, arguments in reply["calls"]
            ],
        }
        for reply in kept.replies
    ]  # fmt: skip
    browser = trial["world"] != "waa"
    task = AgentTask(
        benchmark=trial["world"], task_id=trial["task"], goal="Do it.", can_fail=True,
        answer_schema=_schema_of_answers(trial),
    )  # fmt: skip
    size = tuple(trial["size"])
    context = TrialContext(run_id="played", folder=folder, agent=trial["agent"])
    model = Model(ScriptedAdapter(lines, model=trial["model"].partition(":")[2]))
    stepper = ModelStepper(model, dialect, task, context, size=size, browser=browser, images=None)
    await stepper.enter(_Offering(browser=browser))
    acts: list[Any] = []
    results: tuple[ActionResult, ...] = ()
    for _ in lines:
        decision = await stepper.act(Observation(screenshot=_PICTURE, size=size, results=results))
        acts.append([each.model_dump(mode="json") for each in decision.actions])
        results = tuple(ActionResult(image=_PICTURE) for _ in decision.actions)
    return acts


class _Offering:
    """What the environments of runs offer."""

    def __init__(self, *, browser: bool) -> None:
        self._browser = browser

    async def offers(self) -> frozenset[str]:
        if self._browser:
            return await BrowserEnvironment.offers(self)  # type: ignore[arg-type]  # needs no page
        return OFFERS

    async def observe(self) -> Observation:
        raise NotImplementedError

    async def act(self, action: Any) -> ActionResult:
        raise NotImplementedError


def _schema_of_answers(trial: dict[str, Any]) -> dict[str, Any] | None:
    if trial["world"] != "webarena":
        return None
    (goal,) = (each.goal for each in load_tasks() if each.task_id == trial["task"])
    return answer_schema(goal)


def _standing_in(value: Any) -> Any:
    """Put something fixed in the place of what depends on the screen: addresses, and ids of elements."""
    return replaced(
        "computer-use",
        value,
        lambda text: _PLACE.sub(r"http://site-\1.test", text),
        lambda named: (
            f"ref_{zlib.crc32(json.dumps(named).encode())}" if isinstance(named, dict) else named
        ),
    )
