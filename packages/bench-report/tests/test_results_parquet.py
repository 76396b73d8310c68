"""Results as a Parquet file: a row for each, written while they are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from bench_core.errors import RunFolderError
from bench_core.files import add_checksum
from bench_core.run_folder import read_run
from bench_core.testing import make_results, make_run, make_tasks
from bench_report.exports import export
from bench_report.formats.results_parquet import write_results
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from pathlib import Path

TASKS = make_tasks(4)


@pytest.fixture
def run_path(tmp_path: Path) -> Path:
    """Hold a run in which the first trial was repeated."""
    results = list(make_results(TASKS, trials=3, seed=4))
    return make_run(tmp_path / "run", tasks=TASKS, trials=3, results=[*results, results[0]])


def test_each_row_is_the_last_result_of_a_trial(run_path: Path, tmp_path: Path) -> None:
    (out,) = export("results", [run_path], tmp_path / "out" / "results.parquet")
    rows = parquet.read_table(out).to_pylist()
    run = read_run(run_path)
    assert len(rows) == 12
    tasks = {task.task_id: task for task in run.tasks}
    for row, result in zip(rows, run.latest, strict=True):
        assert (row["task_id"], row["trial"], row["sequence"]) == (
            result.task_id, result.trial, result.sequence,
        )  # fmt: skip
        assert (row["status"], row["score"], row["success"]) == (
            result.status, result.score, result.success,
        )  # fmt: skip
        assert (row["input_tokens"], row["cost_usd"]) == (
            result.usage.input_tokens, result.cost_usd,
        )  # fmt: skip
        assert dict(row["timings_s"]) == result.timings_s
        assert row["time_s"] == pytest.approx(sum(result.timings_s.values()))
        assert row["started"] == result.started
        assert row["error_kind"] == (result.error and result.error.kind)
        assert json.loads(row["checks"]) == [each.model_dump() for each in result.checks]
        assert json.loads(row["details"]) == result.details
        assert row["run_id"] == run.info.run_id
        assert row["template"] == tasks[result.task_id].template
        assert {name: tuple(v) for name, v in row["groups"]} == tasks[result.task_id].groups


def test_several_runs_are_in_one_file_in_row_groups(run_path: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", tasks=TASKS, seed=5)
    out = write_results(read_runs([run_path, other]), tmp_path / "all.parquet", at_once=2, group=3)
    file = parquet.ParquetFile(out)
    groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert groups == [6, 6, 4]
    runs = file.read(["run_id"]).column("run_id").to_pylist()
    ids = [read_run(each).info.run_id for each in (run_path, other)]
    assert runs == [ids[0]] * 12 + [ids[1]] * 4


def test_a_run_without_results_has_the_columns(tmp_path: Path) -> None:
    path = make_run(tmp_path / "run", tasks=TASKS, results=())
    out = write_results(read_runs([path]), tmp_path / "none.parquet")
    table = parquet.read_table(out)
    assert (table.num_rows, table.column_names[:4]) == (
        0,
        ["run_id", "template", "groups", "benchmark"],
    )


def test_a_line_that_is_no_result_leaves_no_file(run_path: Path, tmp_path: Path) -> None:
    lines = (run_path / "results.jsonl").read_bytes().splitlines()
    forged = json.loads(lines[5])
    del forged["checksum"]
    forged["usage"] = "much"
    lines[5] = add_checksum(json.dumps(forged).encode())
    (run_path / "results.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    with pytest.raises(RunFolderError, match="not a TrialResult"):
        write_results(read_runs([run_path], statistics=False), tmp_path / "out" / "results.parquet")
    assert list((tmp_path / "out").iterdir()) == []
