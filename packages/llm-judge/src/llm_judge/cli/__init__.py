"""The `llm-judge` command."""

from __future__ import annotations

from llm_judge.cli.claims import claims
from llm_judge.cli.commands import main

__all__ = ["main"]

main.add_command(claims)
