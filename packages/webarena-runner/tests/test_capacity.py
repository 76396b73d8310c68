from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webarena_runner.capacity import default_workers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("free_mib", "processors", "workers"),
    [(16_000, 4, 4), (2_300, 8, 2), (1_000, 8, 1), (64_000, 64, 8), (16_000, 1, 1)],
)
def test_workers_fit_into_memory_and_processors(
    free_mib: int, processors: int, workers: int, tmp_path: Path
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 99 kB\nMemAvailable:   {free_mib * 1024} kB\n")
    assert default_workers(meminfo, processors) == workers


def test_without_the_kernels_figures_the_processors_decide(tmp_path: Path) -> None:
    assert default_workers(tmp_path / "absent", 3) == 3
