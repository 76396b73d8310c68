"""Reading what a machine is asked to be into the record of its backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

__all__ = ["read_spec"]

S = TypeVar("S", bound=Record)


def read_spec(record: type[S], spec: Mapping[str, JsonValue]) -> S:
    """Return `spec` as a record.

    Raises:
        InputError: Names the setting that is wrong.
    """
    try:
        return record.model_validate(spec)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'the specification'}: {each['msg']}"
            for each in error.errors()
        )
        raise InputError(f"this is no specification of a machine: {wrong}") from error
