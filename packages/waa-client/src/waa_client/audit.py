"""Exploits against the built-in desktop, as data, and the agent that carries them out."""

from __future__ import annotations

import asyncio
import contextlib
import json
from importlib import resources
from typing import TYPE_CHECKING, Any

import httpx

from bench_core.agents import RunCode, connect
from bench_core.audit import (
    AuditWorld,
    Exploit,
    HonestAgent,
    Proof,
    exploits_of,
    listening_places,
    report_proof,
)
from bench_core.records import AgentOutcome
from waa_client.agents.guide import solution
from waa_client.agents.simple import named_agent
from waa_client.benchmark import WaaBenchmark
from waa_client.tasks import load_tasks
from waa_client.world.launch import BuiltInDesktops, built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.agents import Environment
    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask

__all__ = ["audit_world", "exploits"]

_NAME = "waa"
_REQUEST_S = 20.0
_ANSWER_S = 60.0
"""After an exploit that exhausts, the desktop must answer within this time, on a busy machine too."""
_SHOWN = 120


def exploits() -> tuple[Exploit, ...]:
    """Return the exploits against the built-in desktop, those of other distributions included.

    Raises:
        InputError: A plugin's exploits are none.
    """
    text = resources.files("waa_client").joinpath("exploits.json").read_text("utf-8")
    return exploits_of(_NAME, [Exploit.model_validate(each) for each in json.loads(text)])


@contextlib.contextmanager
def audit_world() -> Iterator[AuditWorld]:
    """Give the built-in desktop, one for each trial, and an honest agent for every task with a solution.

    Raises:
        UnknownPluginError: No simulated desktop is installed.
    """
    world = built_in_world()
    honest = HonestAgent(
        name="solution",
        tasks=tuple(world.solutions()),
        make=lambda task: named_agent(solution(task)),
    )
    benchmark = WaaBenchmark(load_tasks(world.tasks_folder()), pool=BuiltInDesktops())
    yield AuditWorld(benchmark=benchmark, make=_Attacker, honest=(honest,), time_limit_s=300.0)


class _Attacker:
    """Carries out the steps of an exploit and reports what it got."""

    def __init__(self, exploit: Exploit) -> None:
        self.name = exploit.id
        self._exploit = exploit
        self._seen: list[str] = []
        self._gained = False
        self._ran = True

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        """Do every step; see `bench_core.protocols.Agent`."""
        del context
        async with connect(environment) as desktop:
            await desktop.observe()
            for step in self._exploit.steps:
                if "code" in step:
                    await self._code(desktop, step)
                elif "half_open" in step:
                    await self._half_open(int(str(step["half_open"])))
                else:
                    await self._ask_every_port(step, task.task_id)
            answered = await self._answers(desktop)
        proof = Proof(
            ran=self._ran, gained=self._gained or not answered, seen="; ".join(self._seen)[:500]
        )
        return report_proof(AgentOutcome(steps=len(self._exploit.steps)), proof)

    async def _code(self, desktop: Environment, step: dict[str, Any]) -> None:
        """Run a block on the desktop; what it raises comes back, and nothing else does."""
        result = await desktop.act(RunCode(code=str(step["code"])))
        shown = str(result.error or "done")
        self._gained |= "gain" in step and str(step["gain"]) in shown
        self._ran &= str(step.get("shows", "")) in shown
        self._seen.append(shown[:_SHOWN])

    async def _ask_every_port(self, step: dict[str, Any], task: str) -> None:
        """Send a request to whatever the world listens on; that some server answered is the canary."""
        body = json.loads(json.dumps(step.get("json")).replace("{task}", task))
        path = str(step["path"]).replace("{task}", task)
        asking = {
            "json": body,
            "headers": dict(step.get("headers", {})),
            "timeout": _REQUEST_S,
        }
        statuses = []
        async with httpx.AsyncClient(trust_env=False) as client:
            for place in await asyncio.to_thread(listening_places):
                with contextlib.suppress(httpx.HTTPError):
                    answer = await client.request(str(step["method"]), place + path, **asking)
                    statuses.append(answer.status_code)
                    found = str(step["gain"]) in answer.text
                    self._gained |= answer.is_success and found
        self._ran &= any(status in {401, 403} or status < 300 for status in statuses)  # HTTP
        self._seen.append(f"{len(statuses)} servers answered: {sorted(set(statuses))}")

    async def _half_open(self, number: int) -> None:
        """Leave connections open whose requests never end."""
        opened = 0
        for place in await asyncio.to_thread(listening_places):
            url = httpx.URL(place)
            for _ in range(number):
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(url.host, url.port or 80)
                    writer.write(
                        b"POST /evaluate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
                    )
                    opened += 1
        self._ran &= opened > 0
        self._seen.append(f"{opened} connections left open")

    async def _answers(self, desktop: Environment) -> bool:
        try:
            await asyncio.wait_for(desktop.observe(), _ANSWER_S)
        except TimeoutError:
            self._seen.append("the desktop answers no more")
            return False
        return True
