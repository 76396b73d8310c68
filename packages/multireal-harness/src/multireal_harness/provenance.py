"""The package versions and the task set that are recorded with a run."""

from __future__ import annotations

from bench_core.runs import Provenance

PACKAGES = ("multireal-harness", "jmespath", "playwright", "browser-use", "llm-judge", "pydantic")


def provenance(task_set: str | None = None) -> Provenance:
    """Return the packages to record, and the task set's hash as the benchmark's version."""
    version = None if task_set is None else f"tasks {task_set[:12]}"
    return Provenance(benchmark_version=version, packages=PACKAGES)
