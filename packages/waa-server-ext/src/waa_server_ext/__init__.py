"""POST /evaluate for Windows Agent Arena, and a simulated desktop that speaks its API."""

from __future__ import annotations

from waa_server_ext.__about__ import __version__

__all__ = ["__version__"]
