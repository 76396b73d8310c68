"""What a run folder says about the versions that made its numbers."""

from __future__ import annotations

from bench_core.running import Provenance

__all__ = ["PACKAGES", "provenance"]

PACKAGES = ("waa-client", "bench-core", "httpx", "pillow")


def provenance() -> Provenance:
    """Return the packages whose versions matter."""
    return Provenance(packages=PACKAGES)
