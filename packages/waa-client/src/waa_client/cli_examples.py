"""The examples in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "tasks": "waa-client tasks --world built-in",
    "run": (
        "waa-client run --world built-in --agent scripted --limit 3 --out runs/first\n"
        "waa-client run --tasks-dir WindowsAgentArena --vm localhost "
        "--agent vision --model openai:gpt-5.2"
    ),
    "rescore": ("waa-client rescore runs/first --evaluate http://localhost:5050"),
    "evaluate": (
        "waa-client evaluate notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS "
        "--tasks-dir WindowsAgentArena --evaluate http://localhost:5050"
    ),
    "probe": "waa-client probe --vm localhost",
    "import-vanilla": (
        "waa-client import-vanilla results/ --tasks-dir WindowsAgentArena --out runs/imported"
    ),
    "import": ("waa-client import results/ --tasks-dir WindowsAgentArena --out runs/imported"),
    "compare": "waa-client compare runs/before runs/new --report report",
    "doctor": "waa-client doctor --world built-in",
    "vm doctor": "waa-client vm doctor --vm process:1",
    "vm prepare": (
        "waa-client vm prepare --vm attached:1 --vm-spec windows.json --qmp 127.0.0.1:7200 --write-only"
    ),
    "vm start": "waa-client vm start --vm process:2 --hours 1",
    "vm snapshot": "waa-client vm snapshot waa-1a2b3c4d/vm-0 ready",
    "vm reset": "waa-client vm reset waa-1a2b3c4d/vm-0",
    "vm measure": "waa-client vm measure --vm process:1 --times 3",
    "vm list": "waa-client vm list",
    "vm reap": "waa-client vm reap",
    "vm stop": "waa-client vm stop waa-1a2b3c4d/vm-0",
    "demo": "waa-client demo --out runs/demo",
}
"""Command lines by the words of the command."""
