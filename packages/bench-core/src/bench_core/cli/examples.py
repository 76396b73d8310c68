"""The example in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "plugins": "bench-core plugins --kind agent",
    "tasks": "bench-core tasks webarena --group site=gitlab --limit 5",
    "run": (
        "bench-core run my_sums:MySums --agent do-nothing --trials 3 --out runs/first\n"
        "bench-core run webarena --agent my_agent:MyAgent --limit 5 --dry-run"
    ),
    "rescore": "bench-core rescore webarena runs/first",
    "schema": "bench-core schema --out schemas",
    "check": "bench-core check runs/first",
    "repair": "bench-core repair runs/first",
    "machines list": "bench-core machines list",
    "machines reap": "bench-core machines reap",
    "machines stop": "bench-core machines stop desktop-1",
    "nodes doctor": "bench-core nodes doctor --address first:6379 --key OPENAI_API_KEY",
    "new inspect-task": "bench-core new inspect-task tasks.py",
    "new agent": (
        "bench-core new agent my-agent\n"
        "cd my-agent && webarena-runner run --world built-in --agent my_agent:MyAgent "
        "--limit 1"
    ),
    "new benchmark": (
        "bench-core new benchmark my-sums\n"
        "cd my-sums && bench-core run my_sums:MySums --agent do-nothing"
    ),
    "new judge": ("bench-core new judge my-judge\ncd my-judge && pip install ."),
    "new reporter": ("bench-core new reporter my-report\ncd my-report && pip install ."),
    "new study": "bench-core new study study.yaml",
    "study check": "bench-core study check study.yaml",
    "study plan": "bench-core study plan study.yaml",
    "study run": "bench-core study run study.yaml --out studies/first",
    "study status": "bench-core study status studies/first --every 10",
    "study verify": "bench-core study verify studies/first",
    "study export": "bench-core study export studies/first --evidence --out bundle.zip",
    "study report": "bench-core study report studies/first",
    "study reproduce": "bench-core study reproduce bundle.zip",
    "serve": "bench-core serve --openenv webarena",
}
"""Command lines by the words of the command."""
