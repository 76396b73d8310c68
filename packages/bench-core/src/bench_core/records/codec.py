"""Records to lines of JSON and back; the content of files is checked here."""

from __future__ import annotations

import json
from typing import Any, TypeVar, get_args

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from bench_core.errors import RecordError
from bench_core.files.checksums import add_checksum
from bench_core.records import Record
from bench_core.records.migrations import Migrations, migration
from bench_core.records.problems import problems_of
from bench_core.redaction import Redactor

__all__ = ["decode", "encode", "is_json"]

R = TypeVar("R", bound=Record)

IDENTITY = frozenset({"schema_version", "benchmark", "task_id", "trial", "status", "run_id"})
"""Names whose values say which record it is; redaction leaves them alone."""

_SHOWN_PROBLEMS = 3
_CHECKSUM = {"checksum"}


def encode(record: Record, redactor: Redactor) -> bytes:
    """Return `record` as one line of JSON without secrets and without a line feed."""
    return _encode(record, redactor, None)


def encode_sealed(record: Record, redactor: Redactor) -> bytes:
    """Return `record`, which has a field `checksum`, as `encode` does, and with its checksum."""
    return add_checksum(_encode(record, redactor, _CHECKSUM))


def encode_document(record: Record, redactor: Redactor) -> bytes:
    """Return `record`, which has a field `checksum`, as a document of many lines, with its checksum."""
    text = json.loads(_encode(record, redactor, _CHECKSUM))
    document = json.dumps(text, ensure_ascii=False, indent=2)
    return add_checksum(f"{document}\n".encode(), indent=b"\n  ")


def _encode(record: Record, redactor: Redactor, left_out: set[str] | None) -> bytes:
    try:
        # does the same as `model_dump_json`, without its seventeen arguments
        text = record.__pydantic_serializer__.to_json(record, exclude=left_out).decode()
    except PydanticSerializationError:
        # a page's text may hold half of a surrogate pair, which UTF-8 cannot
        fields = record.model_dump(mode="json", exclude=left_out)
        text = without_surrogates(json.dumps(fields, ensure_ascii=False))
    return redactor.redact_line(text, keep=IDENTITY).encode()


def decode(
    model: type[R],
    line: bytes | str,
    *,
    written_by: str | None = None,
    migrations: Migrations = migration,
) -> R:
    """Return the record in `line`, migrated when an older bench-core wrote it.

    Raises:
        SchemaVersionError: A newer bench-core wrote it; `written_by` says which.
        RecordError: It is not JSON or does not fit the schema.
    """
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        problem = error
    try:
        data = decode_json(line)
    except ValueError:
        raise RecordError(f"not JSON ({len(line)} bytes)") from None
    if not isinstance(data, dict):
        raise RecordError(f"not a {model.__name__}: {type(data).__name__} instead of an object")
    version, writer = known_version(model), written_by or _writer(data)
    upgraded = migrations.upgrade(model.__name__, data, version, written_by=writer)
    if upgraded is data:
        raise RecordError(_describe(model, problem)) from None
    try:
        return model.model_validate_json(json.dumps(upgraded))
    except ValidationError as error:
        raise RecordError(_describe(model, error)) from None


def decode_json(text: bytes | str) -> Any:
    """Return the value of JSON from outside: a file, a model, a server.

    Raises:
        ValueError: It is not JSON, or lists and objects in it are nested too deeply to be read.

    >>> decode_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_json(line: bytes) -> bool:
    """Return whether `line` is JSON at all, of whatever schema."""
    try:
        decode_json(line)
    except ValueError:
        return False
    return True


def known_version(model: type[Record]) -> int:
    """Return the schema version of `model` that this bench-core writes; 1 if it has none."""
    field = model.model_fields.get("schema_version")
    if field is None:
        return 1
    version: int = get_args(field.annotation)[0]
    return version


def _writer(data: dict[str, Any]) -> str | None:
    """Return the bench-core that wrote `data`, if stated, as in `run.json`."""
    versions = data.get("versions")
    writer = versions.get("bench-core") if isinstance(versions, dict) else None
    return writer if isinstance(writer, str) else None


def _describe(model: type[Record], error: ValidationError) -> str:
    return f"not a {model.__name__}: {problems_of(error, model, most=_SHOWN_PROBLEMS)}"


def without_surrogates(text: str) -> str:
    """Replace the halves of surrogate pairs that stand alone, which UTF-8 cannot hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
