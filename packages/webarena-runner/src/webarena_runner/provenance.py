"""The package versions that are recorded with a run."""

from __future__ import annotations

from bench_core.run_folder import package_versions
from bench_core.runs import Provenance

PACKAGES = (
    "webarena-runner", "webarena-verified", "browser-use", "cdp-use", "genai-prices", "pydantic"
)  # fmt: skip


def provenance() -> Provenance:
    """Return the version of the benchmark and the packages to record."""
    version = package_versions(PACKAGES).get("webarena-verified")
    return Provenance(benchmark_version=version, packages=PACKAGES)
