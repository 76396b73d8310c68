"""Run browser agents on WebArena-Verified, record the traffic, score with the real evaluator."""

from __future__ import annotations

from webarena_runner.__about__ import __version__

__all__ = ["__version__"]
