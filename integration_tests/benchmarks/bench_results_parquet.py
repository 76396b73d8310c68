"""Measures writing the results of a large run as Parquet beside plain `json.loads` over the same lines.

Run it with `nox -s "bench(together)"` or `python bench_results_parquet.py [--results 500000] [--keep FOLDER]`; the run
and the rest are those of bench-core's `bench_large_runs.py`.
"""

from __future__ import annotations

import sys
from importlib.metadata import entry_points
from pathlib import Path

sys.path.insert(
    0, str(Path(__file__).resolve().parents[2] / "packages" / "bench-core" / "benchmarks")
)

import bench_large_runs  # needs the path above


def parquet(folder: Path) -> None:
    """Write the last result of each trial as a row."""
    (script,) = entry_points(group="console_scripts", name="bench-report")
    out = folder.with_name("results.parquet")
    script.load()(["export", "results", str(folder), "--out", str(out)], standalone_mode=False)


if __name__ == "__main__":
    cases = bench_large_runs.CASES
    peer = cases["json.loads"]
    cases.clear()
    # some 80 MB of it are pyarrow
    cases.update({"json.loads": peer, "parquet": bench_large_runs.Case(parquet)})
    sys.exit(bench_large_runs.main())
