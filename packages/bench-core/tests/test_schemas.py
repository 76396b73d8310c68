from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.records import Record, TrialResult
from bench_core.run_folder import schema_text
from bench_core.run_folder.schemas import SCHEMA_RECORDS, stale_schemas, write_schemas

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

DOCS = Path(__file__).parents[3] / "docs" / "schemas"


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of a package")
def test_the_documented_schemas_are_those_of_the_records() -> None:
    assert stale_schemas(DOCS) == [], "run `bench-core schema --out docs/schemas`"
    assert {path.stem for path in DOCS.glob("*.json")} >= set(SCHEMA_RECORDS)


@pytest.mark.parametrize("record", SCHEMA_RECORDS.values(), ids=SCHEMA_RECORDS.keys())
def test_a_schema_lists_every_field_and_forbids_others(record: type[Record]) -> None:
    schema = json.loads(schema_text(record))
    assert set(schema["properties"]) == set(record.model_fields)
    assert schema["additionalProperties"] is False


def test_a_changed_or_missing_schema_is_stale(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    assert stale_schemas(tmp_path) == []
    (tmp_path / "task.json").write_text("{}")
    (tmp_path / "verdict.json").unlink()
    assert stale_schemas(tmp_path) == ["task", "verdict"]


def test_a_schema_is_the_same_text_every_time() -> None:
    assert schema_text(TrialResult) == schema_text(TrialResult)
    assert '"minimum": 0,' in schema_text(TrialResult)


def test_the_command_line_writes_and_checks(
    tmp_path: Path, run_command: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    written = run_command("schema", "--out", tmp_path)
    assert written.returncode == 0
    assert len(written.stdout.splitlines()) == len(SCHEMA_RECORDS) + 1  # and that of studies
    assert run_command("schema", "--out", tmp_path, "--check").returncode == 0
    (tmp_path / "task.json").write_bytes(b"\xff")
    stale = run_command("schema", "--out", tmp_path, "--check")
    assert stale.returncode == 1
    assert "task.json is outdated" in stale.stdout
