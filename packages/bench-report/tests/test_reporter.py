from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

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


def test_a_baseline_may_be_of_another_world_than_the_run(
    run: Callable[..., Path], tmp_path: Path
) -> None:
    (found,) = entry_points(group="bench_core.reporters", name="waa-baseline")
    runs = [run("vanilla", world="real"), run("ours", world="built-in")]
    (document,) = found.load()().report(runs, tmp_path / "out")
    assert "Conclusion" in document.read_text("utf-8")


@pytest.mark.parametrize("name", ["comparison", "waa-baseline", "webarena"])
def test_documents_are_reporters_of_their_own(
    name: str, run: Callable[..., Path], tmp_path: Path
) -> None:
    (found,) = entry_points(group="bench_core.reporters", name=name)

    files = found.load()().report([run("a"), run("b", agent="other")], tmp_path / "out")

    assert files[0].name == f"{name}.md"
    assert all(each.is_file() for each in files)
