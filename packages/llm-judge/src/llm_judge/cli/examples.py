"""What the help of each command shows as its example."""

from __future__ import annotations

EXAMPLES = {
    "lint": "llm-judge lint cases/dinner.json",
    "pack": "llm-judge pack cases/dinner.json",
    "show-prompt": "llm-judge show-prompt cases/dinner.json",
    "judge": (
        "llm-judge judge cases/dinner.json --model anthropic:claude-sonnet-4-6 --out verdict.json"
    ),
    "verify": ("llm-judge verify verdict.json --state cases/dinner.state.json"),
    "calibrate": "llm-judge calibrate labels.jsonl verdicts.jsonl",
    "stress": ("llm-judge stress cases/dinner.json --model anthropic:claude-sonnet-4-6"),
    "batch": (
        "llm-judge batch cases.jsonl --model anthropic:claude-sonnet-4-6 --out "
        "verdicts.jsonl --max-total-cost 5"
    ),
    "bench": ("llm-judge bench labelled.jsonl --model anthropic:claude-sonnet-4-6"),
    "label": "llm-judge label cases.jsonl verdicts.jsonl",
    "demo": "llm-judge demo",
    "models": "llm-judge models",
}
"""Command lines by the words of the command."""
