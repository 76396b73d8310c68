"""The example in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "auth capture": "webarena-runner auth capture --config sites.yaml --auth auth/",
    "auth check": "webarena-runner auth check --config sites.yaml",
    "config init": "webarena-runner config init",
    "config show": "webarena-runner config show --config sites.yaml",
    "sites status": "webarena-runner sites status --config sites.yaml",
    "sites start": "webarena-runner sites start --config sites.yaml",
    "sites stop": "webarena-runner sites stop --config sites.yaml",
    "sites reset": "webarena-runner sites reset --config sites.yaml",
    "tasks": "webarena-runner tasks --group site=gitlab --limit 5",
    "run": (
        "webarena-runner run --world built-in --agent scripted --limit 3 --out runs/first\n"
        "webarena-runner run --config sites.yaml --agent browser-use --model "
        "openai:gpt-5.2 --max-cost 5"
    ),
    "rescore": "webarena-runner rescore runs/first",
    "import": "webarena-runner import results/ --out runs/imported",
    "submission": "webarena-runner submission runs/first",
    "scorability": "webarena-runner scorability",
    "doctor": "webarena-runner doctor --world built-in",
    "demo": "webarena-runner demo --out runs/demo",
}
"""Command lines by the words of the command."""
