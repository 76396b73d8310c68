"""A judge of end states that must show its evidence."""

from __future__ import annotations

from llm_judge.__about__ import __version__

__all__ = ["__version__"]
