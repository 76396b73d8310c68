"""Setup that drives a browser: Chrome 136 and later refuse remote control of the default profile.

Source: "Changes to remote debugging switches to improve security", developer.chrome.com, 2025.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Literal

BrowserProfile = Literal["default", "own"]

OWN_PROFILE = r"--user-data-dir=C:\Users\Docker\AppData\Local\proctor-browser"

_PORT, _FOLDER = "--remote-debugging-port", "--user-data-dir"
_DRIVES = frozenset({"chrome_open_tabs", "chrome_close_tabs", "edge_open_tabs"})


def drives_default_profile(config: Mapping[str, Any]) -> bool:
    """Whether a task's setup drives a browser that it starts with the default profile."""
    kinds = {step.get("type") for step in _steps(config)}
    return bool(_DRIVES & kinds) and any(_has_port_alone(step) for step in _steps(config))


def with_own_profile(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task, changed so that a browser driven by its setup starts with a separate profile."""
    changed = copy.deepcopy(dict(config))
    if drives_default_profile(config):
        for step in filter(_has_port_alone, _steps(changed)):
            step["parameters"]["command"].append(OWN_PROFILE)
    return changed


def _steps(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [each for each in config.get("config") or () if isinstance(each, dict)]


def _has_port_alone(step: Mapping[str, Any]) -> bool:
    command = (step.get("parameters") or {}).get("command")
    if not isinstance(command, list):
        return False
    words = [str(each) for each in command]
    return any(each.startswith(_PORT) for each in words) and not any(
        each.startswith(_FOLDER) for each in words
    )
