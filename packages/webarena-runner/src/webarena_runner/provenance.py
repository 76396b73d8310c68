"""The package versions that are recorded with a run."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from bench_core.runs import Provenance

__all__ = ["PACKAGES", "provenance"]

PACKAGES = (
    "webarena-runner", "webarena-verified", "browser-use", "cdp-use", "genai-prices", "pydantic"
)  # fmt: skip


def provenance() -> Provenance:
    """Return the version of the benchmark and the packages to record."""
    return Provenance(benchmark_version=_version("webarena-verified"), packages=PACKAGES)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
