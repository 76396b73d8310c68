"""Turn Proctor run folders into reports with honest intervals."""

from __future__ import annotations

from bench_report.__about__ import __version__

__all__ = ["__version__"]
