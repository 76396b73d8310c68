"""The benchmark that the documentation builds is small, complete, and passes the table of faults."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks_of(root: Path) -> list[str]:
    page = (root / "docs" / "adding-a-benchmark.md").read_text(encoding="utf-8")
    return _BLOCK.findall(page)


def test_the_benchmark_has_less_than_sixty_lines(root: Path) -> None:
    benchmark = blocks_of(root)[0]
    assert "class Sums" in benchmark
    assert len(benchmark.splitlines()) < 60


def test_the_benchmark_passes_the_table_of_faults(root: Path, tmp_path: Path) -> None:
    benchmark, served, agent, _, test = blocks_of(root)
    (tmp_path / "test_sums.py").write_text(f"{benchmark}\n\n{served}\n\n{agent}\n\n{test}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sums.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d\d passed", done.stdout, re.MULTILINE)


def test_the_commands_of_the_page_run_and_report_on_it(root: Path, tmp_path: Path) -> None:
    page = (root / "docs" / "adding-a-benchmark.md").read_text(encoding="utf-8")
    benchmark, _, agent, *_ = blocks_of(root)
    install(tmp_path, f"{benchmark}\n\n{agent}", entry_points_in(page))
    for command in re.findall(r"`((?:bench-core run|bench-report build) .+?)`", page):
        program, *arguments = command.split()
        done = subprocess.run(
            [str(Path(sys.executable).with_name(program)), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "9" in done.stdout  # sums
    assert (tmp_path / "runs/first/results.jsonl").is_file()


def entry_points_in(page: str) -> dict[str, dict[str, str]]:
    table = re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    found: dict[str, dict[str, str]] = tomllib.loads(table)["project"]["entry-points"]
    return found


def install(site: Path, module: str, entry_points: dict[str, dict[str, str]]) -> None:
    """Put `module` where Python looks, as `pip install` of the reader's package would."""
    (site / "my_benchmark.py").write_text(module)
    info = site / "my_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-benchmark\nVersion: 1.0\n")
    groups = (
        "\n".join([f"[{group}]", *(f"{name} = {where}" for name, where in points.items())])
        for group, points in entry_points.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
