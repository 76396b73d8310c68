"""Multi-app web exams in a real browser: queries first, judge second."""

from __future__ import annotations

from multireal_harness.__about__ import __version__

__all__ = ["__version__"]
