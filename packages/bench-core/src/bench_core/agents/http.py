"""Agents that run elsewhere: `POST /act {task, observation, history}` to `{actions, usage}`."""

from __future__ import annotations

import asyncio
import urllib.error
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from bench_core.agents.handles import Connect
from bench_core.agents.loop import LoopAgent
from bench_core.agents.records import Decision, Observation
from bench_core.agents.remote_environment import post_json
from bench_core.errors import AgentError, EnvironmentFaultError
from bench_core.protocols import TrialContext
from bench_core.records import AgentTask

# A proxy in front of the agent answers these: the agent itself was not reached.
_GATEWAY = frozenset({502, 503, 504})
_SHOWN = 300


def http_agent(
    url: str,
    *,
    name: str = "http",
    headers: dict[str, str] | None = None,
    timeout_s: float = 120.0,
    connect: Connect | None = None,
) -> LoopAgent:
    """Return an agent that asks `url` + `/act` for each step.

    The request has `task` (the fields of `AgentTask`), `observation`, `history` (earlier decisions),
    `trial` and `seed`; the reply is a `Decision`: `actions`, and if it likes `thought`, `usage`,
    `cost_usd`. An endpoint that cannot be reached is an environment fault; one that answers with
    nonsense or fails has failed as an agent.
    """

    def begin(task: AgentTask, context: TrialContext) -> _HttpStepper:
        return _HttpStepper(url.rstrip("/") + "/act", task, context, headers or {}, timeout_s)

    return LoopAgent(name, begin) if connect is None else LoopAgent(name, begin, connect=connect)


@dataclass
class _HttpStepper:
    url: str
    task: AgentTask
    context: TrialContext
    headers: dict[str, str]
    timeout_s: float
    history: list[dict[str, Any]] = field(default_factory=list)

    async def act(self, observation: Observation) -> Decision:
        """Decide on one observation; see `StepAgent`."""
        body = {
            "task": self.task.model_dump(mode="json"),
            "observation": observation.model_dump(mode="json"),
            "history": self.history,
            "trial": self.context.trial,
            "seed": self.context.seed,
        }
        try:
            reply = await asyncio.to_thread(post_json, self.url, body, self.headers, self.timeout_s)
            decision = Decision.model_validate(reply)
        except urllib.error.HTTPError as error:
            refusal = error.read(_SHOWN).decode("utf-8", "replace")
            kind = EnvironmentFaultError if error.code in _GATEWAY else AgentError
            raise kind(f"{self.url} answered HTTP {error.code}: {refusal}") from error
        except OSError as error:
            raise EnvironmentFaultError(
                f"the agent at {self.url} does not answer: {error}"
            ) from error
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "reply"
            raise AgentError(f"{self.url}: {where}: {first['msg']}") from error
        except ValueError as error:
            raise AgentError(f"{self.url} did not answer with JSON: {error}") from error
        self.history.append(decision.model_dump(mode="json"))
        return decision
