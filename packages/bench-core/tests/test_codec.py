from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import RecordError, SchemaVersionError
from bench_core.records import Step, Task, TrialResult
from bench_core.records.codec import decode, decode_json, encode
from bench_core.records.migrations import Migrations
from bench_core.redaction import Redactor

OLD = {"schema_version": 0, "benchmark": "demo", "id": "7", "goal": "Stop."}


def test_a_newer_version_is_refused_with_the_one_that_reads_it() -> None:
    line = json.dumps({"schema_version": 2, "benchmark": "demo", "task_id": "7", "mood": "new"})
    with pytest.raises(SchemaVersionError, match=r"use bench-core 0\.9\.0 or newer$") as refusal:
        decode(Task, line, written_by="0.9.0")
    assert (refusal.value.record, refusal.value.found, refusal.value.known) == ("Task", 2, 1)


def test_a_newer_version_of_unknown_origin_asks_for_an_upgrade() -> None:
    with pytest.raises(SchemaVersionError, match=r"use a newer bench-core$"):
        decode(Task, '{"schema_version": 99}')


def test_a_registered_migration_is_applied() -> None:
    migrations = Migrations()

    @migrations("Task", 0)
    def _(data: dict) -> None:
        data["task_id"] = data.pop("id")

    task = decode(Task, json.dumps(OLD), migrations=migrations)
    assert (task.schema_version, task.task_id) == (1, "7")


def test_migrations_run_one_version_at_a_time() -> None:
    migrations = Migrations()
    migrations("Note", 1)(lambda data: data["path"].append("1 to 2"))
    migrations("Note", 2)(lambda data: data["path"].append("2 to 3"))
    data = {"schema_version": 1, "path": []}
    assert migrations.upgrade("Note", data, 3) == {
        "schema_version": 3,
        "path": ["1 to 2", "2 to 3"],
    }


def test_two_migrations_of_one_version_are_refused() -> None:
    migrations = Migrations()
    migrations("Note", 1)(lambda data: None)
    with pytest.raises(ValueError, match="Note 1 has a migration already"):
        migrations("Note", 1)(lambda data: None)


def test_an_old_version_without_a_migration_is_named() -> None:
    with pytest.raises(RecordError, match="schema version 0, which bench-core cannot read"):
        decode(Task, json.dumps(OLD))


def test_a_migration_that_leaves_a_bad_record_is_told() -> None:
    migrations = Migrations()
    migrations("Task", 0)(lambda data: None)
    with pytest.raises(
        RecordError, match=r"not a Task: no field is called 'id'; .*; field task_id is missing"
    ):
        decode(Task, json.dumps(OLD), migrations=migrations)


@pytest.mark.parametrize("version", ['"2"', "true", "1.5", "null"])
def test_a_version_that_is_no_number_is_refused(version: str) -> None:
    with pytest.raises(RecordError, match="not a whole number"):
        decode(Task, f'{{"schema_version": {version}}}')


@pytest.mark.parametrize("line", [b"", b"{", b"\0\0\0", b"\xff\xfe", b"[" * 100_000, b"{}{}"])
def test_what_is_not_json_is_told(line: bytes) -> None:
    with pytest.raises(RecordError, match="not JSON"):
        decode(Task, line)


def test_what_is_no_object_is_told() -> None:
    with pytest.raises(RecordError, match="not a Task: list instead of an object"):
        decode(Task, "[1]")


def test_wrong_fields_are_named_a_few_of_them() -> None:
    line = '{"benchmark": 1, "task_id": 2, "goal": 3, "tags": 4, "schema_version": 1}'
    with pytest.raises(
        RecordError,
        match=r"benchmark must .*; field task_id must .*; field goal must .* and 1 more",
    ):
        decode(Task, line)


def test_half_a_surrogate_pair_from_a_page_can_be_stored() -> None:
    step = Step(step=1, thought="broken \ud83d and whole \U0001f600")
    line = encode(step, Redactor())
    assert decode(Step, line).thought == "broken \ufffd and whole \U0001f600"


def test_an_encoded_record_is_one_line() -> None:
    step = Step(step=1, thought="first\nsecond\r\u2028third")
    assert b"\n" not in encode(step, Redactor())
    assert decode(Step, encode(step, Redactor())) == step


def test_redaction_leaves_the_identity_of_a_result_alone() -> None:
    result = TrialResult(
        benchmark="planted-key-1",
        task_id="planted-key-1",
        agent="planted-key-1",
        status="completed",
        score=1.0,
    )
    stored = decode(TrialResult, encode(result, Redactor(["planted-key-1"])))
    assert (stored.task_id, stored.benchmark, stored.agent) == (
        "planted-key-1",
        "planted-key-1",
        "[REDACTED]",
    )


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_json_from_outside_is_what_it_says(value: object) -> None:
    assert decode_json(json.dumps(value)) == value
    assert decode_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize("text", ["", "{", b"\xff", "[" * 100_000, '{"a":' * 100_000])
def test_what_is_no_json_or_too_deep_is_a_value_error(text: bytes | str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_json(text)
