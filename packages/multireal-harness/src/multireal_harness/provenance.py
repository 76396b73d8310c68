"""What a run folder says about the versions that made its numbers."""

from __future__ import annotations

from bench_core.running import Provenance

__all__ = ["PACKAGES", "provenance"]

PACKAGES = ("multireal-harness", "jmespath", "playwright", "browser-use", "llm-judge", "pydantic")


def provenance(task_set: str | None = None) -> Provenance:
    """Return the packages whose versions matter, and the task set's hash as the benchmark's version."""
    version = None if task_set is None else f"tasks {task_set[:12]}"
    return Provenance(benchmark_version=version, packages=PACKAGES)
