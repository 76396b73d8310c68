from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from bench_core.protocols import Reporter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_reporter_is_found_by_its_name(run: Callable[..., Path], tmp_path: Path) -> None:
    (found,) = entry_points(group="bench_core.reporters", name="bench-report")
    reporter = found.load()()

    files = reporter.report([run()], tmp_path / "report")

    assert isinstance(reporter, Reporter)
    assert [each.name for each in files] == ["index.html", "report.md", "report.json"]
