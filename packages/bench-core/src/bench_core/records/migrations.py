"""The one place where records of older schema versions are brought up to date.

A change of a record that old files do not fit gets the next `schema_version` and a function here
that turns the older JSON into the newer one::

    @migration("TrialResult", 1)
    def _(data):
        data["method"] = data.pop("evaluator", None)

Records are migrated when they are read; files are never rewritten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench_core.errors import RecordError, SchemaVersionError
from bench_core.records.vocabulary import FailureMode

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Migrations", "migration", "upgrade"]

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
            written_by: The version of bench-core that wrote the record, where known.

        Raises:
            SchemaVersionError: The record is newer.
            RecordError: It is older and no migration leads to `known`.
        """
        found = data.get("schema_version", known)
        if not isinstance(found, int) or isinstance(found, bool):
            raise RecordError(f"{record} has the schema version {found!r}, not a whole number")
        if found > known:
            raise SchemaVersionError(record, found, known, _readable_by(written_by))
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


def _readable_by(written_by: str | None) -> str:
    if written_by is None:
        return "a newer bench-core (`pip install --upgrade bench-core`)"
    return f"bench-core {written_by} or newer (`pip install 'bench-core>={written_by}'`)"


migration = Migrations()
"""All migrations; use as a decorator."""

upgrade = migration.upgrade

_TIMINGS = frozenset({"fast", "vanilla"})
"""Schema 1 of waa-client's records kept how fast the harness acted under `profile`."""
_RENAMED_MODES = {
    "ran_out_of_steps": "step_limit",
    "ran_out_of_time": "time_limit",
    "agent_crashed": "agent_error",
}


@migration("TrialResult", 1)
def _result_1(data: dict[str, Any]) -> None:
    """Give what other packages read fields of their own instead of entries of `details`."""
    data["artifacts"] = [{"path": path} for path in data.get("artifacts", ())]
    _split_timing(data)
    details = data["details"] = dict(data.get("details") or {})
    found = data.get("failure_mode")
    mode = _RENAMED_MODES.get(found, found) if isinstance(found, str) else None
    if mode is not None and mode not in set(FailureMode):
        details["failure_mode"], mode = mode, FailureMode.UNCLASSIFIED.value
    data["failure_mode"] = mode or _mode_by_status(data)
    status, answer, agent = (
        details.pop(name, None) for name in ("agent_status", "answer", "agent")
    )
    flags = [details.pop(name, None) for name in ("agent_flags", "trial_flags")]
    if status is not None:
        data["ending"] = {
            "status": status,
            "answer": answer,
            "flags": next((each for each in flags if each is not None), data.get("flags", ())),
            "details": agent or {},
        }


@migration("RunInfo", 1)
def _run_1(data: dict[str, Any]) -> None:
    _split_timing(data)


def _split_timing(data: dict[str, Any]) -> None:
    if data.get("benchmark") == "waa" and data.get("profile") in _TIMINGS:
        data["timing"], data["profile"] = data["profile"], "official"


def _mode_by_status(data: dict[str, Any]) -> str | None:
    """Say why a trial is no success where schema 1 left it open."""
    if (data.get("score") or 0.0) >= 1.0:
        return None
    status = data.get("status")
    return status if status != "completed" else FailureMode.UNCLASSIFIED.value
