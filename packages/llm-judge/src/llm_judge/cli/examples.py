"""The examples in the help of each command."""

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
    "claims": "llm-judge claims show claims.jsonl",
    "claims compile": "llm-judge claims compile cases.jsonl --model anthropic:claude-sonnet-4-6 --out claims.jsonl",
    "claims show": "llm-judge claims show claims.jsonl",
    "claims check": "llm-judge claims check claims.jsonl cases.jsonl --right labels.jsonl",
    "claims edit": "llm-judge claims edit claims.jsonl --task dinner",
    "claims approve": "llm-judge claims approve claims.jsonl c1 --task dinner --by 'Ann Lee'",
    "claims words": "llm-judge claims words claims.jsonl cases.jsonl --model anthropic:claude-sonnet-4-6",
    "claims decide": "llm-judge claims decide claims.jsonl cases.jsonl",
    "convert": "llm-judge convert cua-verifier-bench CUAVerifierBench --out converted",
    "demo": "llm-judge demo",
    "models": "llm-judge models",
}
"""Command lines by the words of the command."""
