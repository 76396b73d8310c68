"""Run and score agents on Windows Agent Arena from anywhere."""

from __future__ import annotations

from waa_client.__about__ import __version__

__all__ = ["__version__"]
