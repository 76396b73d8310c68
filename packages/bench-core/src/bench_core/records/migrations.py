"""The one place that brings records of older schema versions up to date.

A change of a record that old files do not fit gets the next `schema_version` and a function here
that turns the older JSON into the newer one::

    @migration("TrialResult", 1)
    def _(data):
        data["method"] = data.pop("evaluator", None)

Records are migrated when they are read; files are never rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench_core.errors import RecordError, SchemaVersionError

Migration = "Callable[[dict[str, Any]], None]"


class Migrations:
    """Steps from one schema version of a record to the next."""

    def __init__(self) -> None:
        self._steps: dict[tuple[str, int], Callable[[dict[str, Any]], None]] = {}

    def __call__(
        self, record: str, version: int
    ) -> Callable[[Callable[[dict[str, Any]], None]], Callable[[dict[str, Any]], None]]:
        """Register the decorated function, which changes `record` of `version` to the next one."""

        def register(
            step: Callable[[dict[str, Any]], None],
        ) -> Callable[[dict[str, Any]], None]:
            if (record, version) in self._steps:
                raise ValueError(f"{record} {version} has a migration already")
            self._steps[record, version] = step
            return step

        return register

    def upgrade(
        self, record: str, data: dict[str, Any], known: int, *, written_by: str | None = None
    ) -> dict[str, Any]:
        """Return `data` in the schema version `known`; `data` itself when it is of that version.

        Args:
            record: The name of the record's class.
            data: The record as JSON.
            known: The version this bench-core writes.
            written_by: The version of bench-core that wrote the record, if known.

        Raises:
            SchemaVersionError: The record is newer.
            RecordError: It is older and no migration leads to `known`.
        """
        found = data.get("schema_version", known)
        if not isinstance(found, int) or isinstance(found, bool):
            raise RecordError(f"{record} has the schema version {found!r}, not a whole number")
        if found > known:
            readable_by = (
                f"bench-core {written_by} or newer" if written_by else "a newer bench-core"
            )
            raise SchemaVersionError(record, found, known, readable_by)
        if found == known:
            return data
        return self._step_up(record, dict(data), found, known)

    def _step_up(self, record: str, data: dict[str, Any], found: int, known: int) -> dict[str, Any]:
        for version in range(found, known):
            step = self._steps.get((record, version))
            if step is None:
                raise RecordError(
                    f"{record} has schema version {version}, which bench-core cannot read any more"
                )
            step(data)
            data["schema_version"] = version + 1
        return data


migration = Migrations()
"""All migrations; use as a decorator."""

upgrade = migration.upgrade
