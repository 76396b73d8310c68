"""Runs NeMo Gym's own agent on a resources server; run by an interpreter that has it. See `test_interop_sessions`.

Of NeMo Gym are the agent `simple_agent`, served as it serves itself, and its client of servers. The model behind it is
a list of actions. A rollout is a line `[row, actions]`; for the action "pause" a line is written and one awaited.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

_HOST = "127.0.0.1"


def say(value: object) -> None:
    sys.stdout.write(f"{json.dumps(value)}\n")
    sys.stdout.flush()


class Model:
    """Answers as a model that takes the actions of a list, one at a time, and then says that it is done."""

    def __init__(self) -> None:
        self.actions: list[Any] = []
        self.outputs: list[str] = []

    async def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        outputs = [each for each in body["input"] if each.get("type") == "function_call_output"]
        self.outputs = [each["output"] for each in outputs]
        action = self.actions[len(outputs)] if len(outputs) < len(self.actions) else None
        if action == "pause":
            say({"paused": True})
            await asyncio.to_thread(sys.stdin.readline)
            action = {"kind": "wait", "seconds": 0}
        return {
            "id": "answer", "object": "response", "created_at": 0.0, "model": "list",
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
            "output": [_message() if action is None else _call(len(outputs), action)],
        }  # fmt: skip


def _message() -> dict[str, Any]:
    said = {"type": "output_text", "text": "", "annotations": []}
    return {
        "id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [said],
    }  # fmt: skip


def _call(number: int, action: Any) -> dict[str, Any]:
    arguments = json.dumps({"action": action})
    return {
        "type": "function_call", "name": "step", "id": f"f{number}", "call_id": f"c{number}",
        "arguments": arguments, "status": "completed",
    }  # fmt: skip


async def main(port: int) -> None:
    """Run the rollouts of standard input with the resources server at `port`; write what `/run` answers."""
    from fastapi import FastAPI, Request  # not where it is checked
    from nemo_gym import server_utils
    from omegaconf import OmegaConf
    from responses_api_agents.simple_agent.app import (
        SimpleAgent,
        SimpleAgentConfig,
    )

    globals()["Request"] = Request  # FastAPI reads the annotation below by its name
    model, app = Model(), FastAPI()

    @app.post("/v1/responses")
    async def responses(request: Request) -> dict[str, Any]:
        return await model.answer(await request.json())

    ports = {"resources": port, "model": _free_port(), "agent": _free_port()}
    server_utils.set_global_aiohttp_client(server_utils.GlobalAIOHTTPAsyncClientConfig())
    client = server_utils.ServerClient(
        head_server_config={"host": _HOST, "port": ports["agent"]},
        global_config_dict=OmegaConf.create(
            {name: {"kind": {name: {"host": _HOST, "port": each}}} for name, each in ports.items()}
        ),
    )
    config = SimpleAgentConfig.model_validate(
        {
            "host": _HOST, "port": ports["agent"], "entrypoint": "app.py", "name": "agent",
            "resources_server": {"type": "resources_servers", "name": "resources"},
            "model_server": {"type": "responses_api_models", "name": "model"},
        }
    )  # fmt: skip
    agent = SimpleAgent(config=config, server_client=client)
    servers = [_server(app, ports["model"]), _server(agent.setup_webserver(), ports["agent"])]
    serving = [asyncio.create_task(each.serve()) for each in servers]
    while not all(each.started for each in servers):  # noqa: ASYNC110  # it offers no event
        await asyncio.sleep(0.05)
    while line := await asyncio.to_thread(sys.stdin.readline):
        row, model.actions = json.loads(line)
        answered = await client.post(server_name="agent", url_path="/run", json=row)
        found = json.loads(text) if answered.ok and (text := await answered.text()) else {}
        kept = {name: found[name] for name in ("reward", "mask_sample") if name in found}
        say({"status": answered.status, **kept, "outputs": model.outputs})
    for each in servers:
        each.should_exit = True
    await asyncio.wait(serving)


def _server(app: Any, port: int) -> Any:
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, host=_HOST, port=port, log_level="error"))


def _free_port() -> int:
    import socket

    with socket.create_server((_HOST, 0)) as found:
        port: int = found.getsockname()[1]
    return port


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
