"""What `nox -s quick` runs: the tests that are about what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nox_support.changes import modules_of, related_tests

if TYPE_CHECKING:
    from pathlib import Path


def test_a_changed_module_is_imported_by_its_name_or_from_its_package(root: Path) -> None:
    source = root / "packages/bench-core/src/bench_core/runs"
    assert modules_of([source / "prepare.py"]) == {"bench_core.runs.prepare", "bench_core.runs"}
    assert modules_of([source / "__init__.py", root / "README.md"]) == {"bench_core.runs"}


def test_the_tests_about_a_module_are_those_that_import_it(root: Path) -> None:
    tests = root / "packages/bench-core/tests"
    found = related_tests([root / "packages/bench-core/src/bench_core/budgets.py"])
    assert tests / "test_budgets.py" in found
    assert tests / "test_atomic_files.py" not in found


def test_a_changed_test_is_run_and_a_changed_page_runs_none(root: Path) -> None:
    changed = root / "packages/bench-core/tests/test_atomic_files.py"
    assert related_tests([changed]) == [changed]
    assert related_tests([root / "README.md"]) == []
