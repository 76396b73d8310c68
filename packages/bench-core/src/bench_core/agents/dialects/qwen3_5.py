"""Qwen3.5: calls in tags of their own; places from 0 to 999, as its harnesses divide."""

from __future__ import annotations

from datetime import date

from bench_core.agents.dialects.qwen import Qwen, qwen_members

__all__ = ["DIALECT"]


class _Qwen35(Qwen):
    name = "qwen3_5"
    models = (r"(.*/)?qwen3\.5.*",)
    coordinates = "0-999"
    since = date(2026, 11, 27)
    most = 999
    form = (
        "<tool_call><function=computer_use><parameter=action>...</parameter></function></tool_call>"
    )
    members = qwen_members(most)


DIALECT = _Qwen35()
