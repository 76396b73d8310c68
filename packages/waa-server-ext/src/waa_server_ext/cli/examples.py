"""The examples in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "serve": ("waa-server-ext serve --vm 20.20.20.21 --tasks-dir WindowsAgentArena"),
    "evaluate": "waa-server-ext evaluate task.json --files collected/",
    "rescore": "waa-server-ext rescore --cache cache/",
    "simulate": "waa-server-ext simulate --evaluate",
    "wine build": "waa-server-ext wine build WindowsAgentArena-V2 --out wine-machine",
    "wine serve": "waa-server-ext wine serve wine-machine",
    "assets fetch": ("waa-server-ext assets fetch --tasks-dir WindowsAgentArena --assets assets/"),
    "assets list": "waa-server-ext assets list --assets assets/",
    "install": "waa-server-ext install --server main.py",
    "uninstall": "waa-server-ext uninstall --server main.py",
    "doctor": "waa-server-ext doctor --vm 20.20.20.21",
}
"""Command lines by the words of the command."""
