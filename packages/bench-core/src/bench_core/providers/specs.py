"""Read a machine's specification into its backend's record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pydantic import JsonValue, ValidationError

from bench_core.errors import InputError
from bench_core.records import Record
from bench_core.records.problems import problems_of

S = TypeVar("S", bound=Record)
_SHOWN_PROBLEMS = 3


def read_spec(record: type[S], spec: Mapping[str, JsonValue]) -> S:
    """Return `spec` as a record.

    Raises:
        InputError: Names the setting that is wrong.
    """
    try:
        return record.model_validate(spec)
    except ValidationError as error:
        wrong = problems_of(error, record, most=_SHOWN_PROBLEMS, kind="setting")
        raise InputError(f"this is not a specification of a machine: {wrong}") from error
