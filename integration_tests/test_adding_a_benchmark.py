"""The benchmark that the documentation builds is small, complete, and passes the table of faults."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    benchmark, agent, _, test = blocks_of(root)
    (tmp_path / "test_sums.py").write_text(f"{benchmark}\n\n{agent}\n\n{test}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sums.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d\d passed", done.stdout, re.MULTILINE)
