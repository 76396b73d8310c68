"""The ways in which models are given a computer, one module for each provider."""

from __future__ import annotations

from bench_core.agents.dialects.interface import (
    Answered,
    Declaration,
    Dialect,
    Member,
    Screen,
    reply_to,
)
from bench_core.agents.dialects.registry import (
    UnknownDialectError,
    all_dialects,
    dialect_for,
    dialect_named,
)

__all__ = [
    "Answered",
    "Declaration",
    "Dialect",
    "Member",
    "Screen",
    "UnknownDialectError",
    "all_dialects",
    "dialect_for",
    "dialect_named",
    "reply_to",
]
