"""The example in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "tasks": "multireal-harness tasks --world built-in",
    "lint": "multireal-harness lint --tasks-dir built-in",
    "run": (
        "multireal-harness run --world built-in --agent scripted --out runs/first\n"
        "multireal-harness run --agent tool-calling --model openai:gpt-5.2 --limit 5 "
        "--max-cost 1"
    ),
    "import": "multireal-harness import results/ --out runs/imported",
    "rescore": "multireal-harness rescore runs/first",
    "doctor": "multireal-harness doctor --world built-in",
    "demo": "multireal-harness demo --out runs/demo",
    "generate-ground-truth": (
        "multireal-harness generate-ground-truth truth/ --world built-in --agent "
        "scripted --judge llm-judge"
    ),
    "check-state": (
        "multireal-harness check-state state.json --task dining-mail-2 --tasks-dir built-in"
    ),
    "compare-states": "multireal-harness compare-states first.json second.json",
    "validate-ground-truth": (
        "multireal-harness validate-ground-truth truth/ --tasks-dir built-in"
    ),
    "export": "multireal-harness export runs/first --out results/",
}
"""Command lines by the words of the command."""
