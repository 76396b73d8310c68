"""`--model by-hand`: a person reads each request on a local page and answers in the model's place."""

from __future__ import annotations

from bench_core.models.by_hand.adapter import PATIENCE, ByHandAdapter
from bench_core.models.by_hand.desk import DESK_VARIABLE, desk_url

__all__ = ["DESK_VARIABLE", "PATIENCE", "ByHandAdapter", "desk_url"]
