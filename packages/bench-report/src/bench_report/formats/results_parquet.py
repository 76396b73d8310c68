"""Results as one Parquet file with a row for each, for DuckDB, Polars and others, in constant memory."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from bench_core.errors import MissingExtraError
from bench_core.files import open_atomic
from bench_core.records import Usage
from bench_core.statistics import duration_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa  # type: ignore[import-untyped]  # an extra, and slow to load

    from bench_core.records import Task, TrialResult
    from bench_report.run_data.sources import Source

    _Column = tuple[str, Callable[[TrialResult], Any]]


def _inside(record: str, *names: str) -> Callable[[TrialResult], Any]:
    """Take a field of a record that a result may not have."""

    def taken(result: TrialResult) -> Any:
        value = getattr(result, record)
        for name in names:
            value = value and getattr(value, name)
        return value

    return taken


def _words(name: str) -> Callable[[TrialResult], list[str]]:
    return lambda result: [str(each) for each in getattr(result, name)]


def _as_json(name: str) -> Callable[[TrialResult], str]:
    return lambda result: to_json(getattr(result, name)).decode()


_TEXT, _WHOLE, _REAL, _TRUE = "string", "int64", "double", "bool"


def _fields(kind: str, *names: str, of: str = "") -> dict[str, _Column]:
    return {name: (kind, attrgetter(of + name)) for name in names}


_COLUMNS: dict[str, _Column] = {
    **_fields(_TEXT, "benchmark", "task_id"),
    **_fields(_WHOLE, "trial"),
    **_fields(_TEXT, "agent", "model", "model_reported", "world", "profile", "timing"),
    "status": (_TEXT, _inside("status", "value")),
    **_fields(_REAL, "score"),
    **_fields(_TRUE, "success"),
    **_fields(_REAL, "confidence"),
    **_fields(_TEXT, "method"),
    "failure_mode": (_TEXT, _inside("failure_mode", "value")),
    "flags": ("texts", _words("flags")),
    "suspect": ("texts", _words("suspect")),
    "integrity": (_TEXT, _inside("integrity", "state")),
    "sealed_agent": (_TEXT, _inside("sealing", "agent")),
    "sealed_browser": (_TEXT, _inside("sealing", "browser")),
    **_fields(_WHOLE, "steps"),
    **_fields(_WHOLE, *Usage.model_fields, of="usage."),
    **_fields(_REAL, "cost_usd"),
    "time_s": (_REAL, lambda result: duration_s(result.timings_s)),
    "timings_s": ("numbers by name", lambda result: list(result.timings_s.items())),
    **_fields("time", "started"),
    "attempts": (_WHOLE, lambda result: len(result.attempts)),
    "error_kind": (_TEXT, _inside("error", "kind")),
    "error_message": (_TEXT, _inside("error", "message")),
    "error_phase": (_TEXT, _inside("error", "phase")),
    "agent_code": (_TEXT, _inside("agent_code", "sha256")),
    **_fields(_TEXT, "machine"),
    **_fields(_WHOLE, "sequence"),
    "checks": (_TEXT, _as_json("checks")),
    "details": (_TEXT, _as_json("details")),
}
_OF_RUN_AND_TASK = {"run_id": _TEXT, "template": _TEXT, "groups": "texts by name"}


def write_results(
    runs: Sequence[Source], out: Path, *, at_once: int = 1_000, group: int = 25
) -> Path:
    """Write the last result of each trial of `runs` to the Parquet file `out` (zstd), and return it.

    Results are read and written one after another, so that the memory does not depend on how many there are.

    Args:
        runs: The runs, from `read_runs`.
        out: The file.
        at_once: Number of rows that are Python objects at once.
        group: Number of such batches in a row group, the unit that readers load or skip.

    Raises:
        MissingExtraError: pyarrow is not installed.
        RunFolderError: A line has ceased to be a result.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "pyarrow", "bench-report", "parquet") from None
    types = {
        _TEXT: pa.string(),
        _WHOLE: pa.int64(),
        _REAL: pa.float64(),
        _TRUE: pa.bool_(),
        "texts": pa.list_(pa.string()),
        "texts by name": pa.map_(pa.string(), pa.list_(pa.string())),
        "numbers by name": pa.map_(pa.string(), pa.float64()),
        "time": pa.timestamp("us", "UTC"),
    }
    kinds = {**_OF_RUN_AND_TASK, **{name: kind for name, (kind, _) in _COLUMNS.items()}}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    if damage := {run.info.run_id: run.view.damage for run in runs if run.view.damage}:
        schema = schema.with_metadata({"damage": to_json(damage)})
    out.parent.mkdir(parents=True, exist_ok=True)
    with (
        open_atomic(out) as file,
        parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for run in runs:
            batches = _batches(pa, run, schema, at_once)
            while some := list(islice(batches, group)):
                writer.write_table(pa.Table.from_batches(some, schema))
    return out


def _batches(pa: Any, run: Source, schema: pa.Schema, at_once: int) -> Iterator[pa.RecordBatch]:
    tasks = {task.task_id: task for task in run.tasks}
    rows = (_row(run, tasks[each.task_id], each) for each in run.view.latest)
    while some := list(islice(rows, at_once)):
        columns = zip(*some, strict=True)
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(run: Source, task: Task, result: TrialResult) -> tuple[Any, ...]:
    own = (run.info.run_id, task.template, list(task.groups.items()))
    return (*own, *(take(result) for _, take in _COLUMNS.values()))
