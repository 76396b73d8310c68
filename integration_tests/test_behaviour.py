"""Two recordings of what Proctor does differ where its results do, and nowhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from integration_tests.behaviour import compare, main

if TYPE_CHECKING:
    from pathlib import Path

RESULT = {
    "task_id": "1", "score": 1.0, "duration_s": 3.2, "started": "2026-01-01T10:00:00Z", "flags": ["slow"],
    "error": "no answer of 127.0.0.1:40001 within 3.1 s: /tmp/one/two",
}  # fmt: skip
ANOTHER_TIME = {
    "duration_s": 4.1, "started": "2026-01-02T11:00:00Z",
    "error": "no answer of 127.0.0.1:40002 within 2.9 s: /tmp/three/four",
}  # fmt: skip


def recording(folder: Path, **changes: Any) -> Path:
    run = folder / "demos" / "webarena"
    run.mkdir(parents=True)
    (run / "results.jsonl").write_text(json.dumps({**RESULT, **changes}) + "\n")
    (folder / "help.txt").write_text("Usage: x\n")
    return folder


def test_times_places_and_paths_are_no_difference(tmp_path: Path) -> None:
    folders = recording(tmp_path / "a"), recording(tmp_path / "b", **ANOTHER_TIME)
    assert list(compare(*folders)) == []
    assert main(["compare", *map(str, folders)]) == 0


@pytest.mark.parametrize(
    "changes", [{"score": 0.0}, {"flags": []}, {"error": "refused"}, {"new": 1}]
)
def test_another_result_is_one(changes: Any, tmp_path: Path) -> None:
    folders = recording(tmp_path / "a"), recording(tmp_path / "b", **changes)
    assert any(next(iter(changes)) in line or "score" in line for line in compare(*folders))
    assert main(["compare", *map(str, folders)]) == 1


def test_a_file_that_is_gone_is_one(tmp_path: Path) -> None:
    folders = recording(tmp_path / "a"), recording(tmp_path / "b")
    (folders[1] / "help.txt").unlink()
    assert list(compare(*folders)) == ["only before: help.txt"]
