"""A run that grows as the test says."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import Event
from bench_core.testing import make_results, make_tasks
from bench_report.live.progress import ProgressReader

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runs

_SEALS = ("results", "results_sha256", "events", "events_sha256")
NOW = datetime(2026, 3, 1, 10, 0, tzinfo=timezone.utc)


class Growing:
    """A run of 20 trials that grows as the test says."""

    now = NOW

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = list(make_results(make_tasks(10), trials=2))
        self.written = 0
        self._set_session(outcome="running", started="2026-03-01T09:00:00Z", finished=None)
        for name in ("results.jsonl", "events.jsonl"):
            (folder / name).write_text("")

    def _set_session(self, **session: Any) -> None:
        info = json.loads((self.folder / "run.json").read_text())
        info.pop("checksum", None)  # as another program writes it
        info["sessions"] = [info["sessions"][0] | session | dict.fromkeys(_SEALS)]
        (self.folder / "run.json").write_text(json.dumps(info))

    def resume(self, started: str) -> None:
        """A process goes on after one that was killed, as `RunFolder` writes that down."""
        info = json.loads((self.folder / "run.json").read_text())
        killed = info["sessions"][-1] | {"outcome": "aborted", "finished": None}
        again = info["sessions"][-1] | {"outcome": "running", "started": started}
        info["sessions"] = [killed, again]
        (self.folder / "run.json").write_text(json.dumps(info))

    def _append(self, name: str, line: str) -> None:
        with (self.folder / name).open("a", encoding="utf-8") as file:
            file.write(line)

    def start(self, task_id: str, trial: int = 1) -> None:
        event = Event(time=NOW, kind="attempt_started", task_id=task_id, trial=trial, attempt=1)
        self._append("events.jsonl", event.model_dump_json() + "\n")

    def end_without_start(self, number: int) -> None:
        self.end(number, started=None)

    def end(self, number: int = 1, started: datetime | None = NOW - timedelta(minutes=5)) -> None:
        for result in self.results[self.written : self.written + number]:
            late = result.model_copy(update={"started": started})
            self._append("results.jsonl", late.model_dump_json() + "\n")
        self.written += number

    def note(self, kind: str, task_id: str | None = None, at: datetime = NOW, **data: Any) -> None:
        event = Event(time=at, kind=kind, task_id=task_id, trial=task_id and 1, data=data)
        self._append("events.jsonl", event.model_dump_json() + "\n")

    def plan_looks(self, *batches: list[str]) -> None:
        info = json.loads((self.folder / "run.json").read_text())
        info["stopping_rule"] = {"kind": "obrien-fleming", "batches": batches}
        (self.folder / "run.json").write_text(json.dumps(info))

    def tear(self) -> None:
        self._append("results.jsonl", self.results[self.written].model_dump_json()[:40])

    def finish(self) -> None:
        self._set_session(outcome="finished", finished="2026-03-01T10:00:00Z")


@pytest.fixture
def growing(run: Runs) -> Growing:
    return Growing(run(tasks=10, trials=2))


@pytest.fixture
def reader(growing: Growing) -> ProgressReader:
    return ProgressReader(growing.folder, now=lambda: NOW)
