"""The output of commands on the VM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.registry import getter

__all__: list[str] = []

_OK = 200


@getter("general.py")
def vm_command_line(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The standard output of a command.

    Fails as: None if the VM cannot run it.
    """
    return _stream(env, config, "output")


@getter("general.py")
def vm_command_error(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The standard error of a command.

    Fails as: None if the VM cannot run it.
    """
    return _stream(env, config, "error")


@getter("general.py")
def vm_terminal_output(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The text of a terminal.

    Fails as: None: Windows does not have such an endpoint.
    """
    answer = env.vm.get("/terminal")
    return answer.json()["output"] if answer.status == _OK else None


def _stream(env: EvaluationContext, config: Mapping[str, Any], stream: str) -> Any:
    payload = {"command": config["command"], "shell": config.get("shell", False)}
    answer = env.vm.post("/execute", json=payload)
    return answer.json()[stream] if answer.status == _OK else None
