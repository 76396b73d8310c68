"""The tasks of the run that tests of run folders begin with, and its date."""

from __future__ import annotations

from datetime import datetime, timezone

from bench_core.testing import make_tasks

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
TASKS = make_tasks(3)
