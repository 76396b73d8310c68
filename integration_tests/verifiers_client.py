"""Plays episodes through verifiers' own OpenEnv task set; run by an interpreter that has both. See `test_interop_sessions`."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any


class Player:
    """The model's seat: replies with the actions of a list, and notes what is recorded of it."""

    def __init__(self, actions: list[Any]) -> None:
        self.rewards: dict[str, float] = {}
        self.shown: list[str] = []
        self.trace = SimpleNamespace(record_reward=self.rewards.__setitem__, stop=self.shown.append)
        self._actions = iter(actions)

    @asynccontextmanager
    async def interaction(self, _: Any) -> Any:
        yield self

    async def turn(self, payload: str) -> Any:
        self.shown.append(payload)
        action = next(self._actions, None)
        reply = "" if action is None else json.dumps(action)
        return SimpleNamespace(terminated=action is None, last_reply=reply)


async def play(url: str, reset: dict[str, Any], actions: list[Any]) -> dict[str, Any]:
    """Run the one task of a task set and return its rewards, or what the environment raised."""
    from verifiers import v1  # not where it is checked

    # Task sets are imported together, and NeMo Gym's needs mcp 2, which the client of OpenEnv cannot be beside.
    alone = ModuleType("verifiers.v1.tasksets")
    alone.__path__ = [str(Path(v1.__file__).with_name("tasksets"))]
    sys.modules.setdefault(alone.__name__, alone)
    from verifiers.v1.tasksets.openenv import (
        OpenEnvConfig,
        OpenEnvEnv,
        OpenEnvTaskset,
    )

    (task,) = OpenEnvTaskset(OpenEnvConfig(base_url=url, resets=[reset])).load()
    player = Player(actions)
    try:
        await OpenEnvEnv.run(object.__new__(OpenEnvEnv), task, SimpleNamespace(player=player))
    except RuntimeError as error:
        return {"error": str(error), **player.rewards}
    return {**player.rewards, "text": "text" in json.loads(player.shown[0])["observation"]}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(asyncio.run(play(sys.argv[1], *json.loads(line)))), flush=True)  # noqa: T201  # its answer
