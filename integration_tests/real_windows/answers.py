"""Ask a VM all questions, and keep its answers or compare them with those that were kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
from integration_tests.real_windows.questions import ask, questions

KEPT = Path(__file__).with_name("answers.jsonl")


def answers_of(url: str, token: str | None = None) -> dict[str, dict[str, Any]]:
    """Ask the VM at `url` everything, and return its answers by the questions' names."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=url, trust_env=False, headers=headers) as http:
        return {each.name: ask(http, each) for each in questions()}


def kept_answers() -> dict[str, dict[str, Any]]:
    """Return what WAA's own server answered under Wine."""
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    return {line["question"]: line["answer"] for line in map(json.loads, lines)}


def unlike(found: dict[str, dict[str, Any]], kept: dict[str, dict[str, Any]]) -> Iterable[str]:
    """Yield the names of questions that were answered otherwise."""
    return (name for name, answer in kept.items() if found.get(name) != answer)


def main() -> None:
    """`answers URL [--write]`: print what differs from what is kept, or keep it."""
    url, *rest = sys.argv[1:]
    found = answers_of(url)
    if rest == ["--write"]:
        lines = [
            json.dumps({"question": name, "answer": each}, ensure_ascii=False)
            for name, each in found.items()
        ]
        KEPT.write_text("\n".join(lines) + "\n", encoding="utf-8")
        sys.stdout.write(f"{len(lines)} answers kept in {KEPT.name}\n")
        return
    kept = kept_answers()
    for name in unlike(found, kept):
        sys.stdout.write(f"{name}\n  kept  {kept[name]}\n  found {found.get(name)}\n")


if __name__ == "__main__":
    main()
