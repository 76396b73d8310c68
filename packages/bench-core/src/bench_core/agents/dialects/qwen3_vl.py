"""Qwen3-VL: places on a grid of 1000, calls as JSON."""

from __future__ import annotations

from datetime import date

from bench_core.agents.dialects.qwen import Qwen, qwen_members

__all__ = ["DIALECT"]


class _Qwen3VL(Qwen):
    name = "qwen3_vl"
    models = (r"(.*/)?qwen3-vl.*",)
    coordinates = "0-1000"
    since = date(2026, 11, 27)
    most = 1000
    members = qwen_members(most)


DIALECT = _Qwen3VL()
