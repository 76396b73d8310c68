"""The package versions that are recorded with a run."""

from __future__ import annotations

from bench_core.runs import Provenance

PACKAGES = ("waa-client", "bench-core", "httpx", "pillow")


def provenance() -> Provenance:
    """Return the packages to record."""
    return Provenance(packages=PACKAGES)
