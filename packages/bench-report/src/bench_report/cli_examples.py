"""The examples in the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "build": "bench-report build runs/first runs/second --out report",
    "demo": "bench-report demo --out runs/demo",
    "schema": "bench-report schema > report.schema.json",
    "compare": "bench-report compare runs/new --against runs/before",
    "gate": "bench-report gate runs/new --against runs/before",
    "plan": ("bench-report plan --tasks 60 --trials 3\nbench-report plan --difference 5pp"),
    "export": ("bench-report export figures runs/first runs/second --out figures"),
    "import": ("bench-report import inspect logs/first.eval --out runs/imported"),
    "notes export": "bench-report notes export runs/first --out notes.jsonl",
    "notes import": "bench-report notes import runs/first notes.jsonl",
    "notes merge": "bench-report notes merge runs/first /mnt/ben/runs/first",
    "watch": "bench-report watch runs/first",
    "serve": "bench-report serve runs/first --port 8000",
}
"""Command lines by the words of the command."""
