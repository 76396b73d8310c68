"""What `nox -s quick` runs: the tests that are about what has changed, the nearest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nox_support.changes import modules_of, nearest_tests

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_is_no_module_counts_as_its_package(root: Path) -> None:
    source = root / "packages/bench-core/src/bench_core"
    files = [source / "runs/prepare.py", source / "trial/__init__.py", root / "README.md"]
    assert modules_of(files) == {"bench_core.runs.prepare", "bench_core.trial"}
    page = root / "packages/bench-report/src/bench_report/html_page/page.css"
    assert modules_of([page]) == {"bench_report.html_page"}


def test_the_tests_of_a_module_come_first_and_the_rest_of_its_package_last(root: Path) -> None:
    tests = root / "packages/bench-core/tests"
    found = nearest_tests([root / "packages/bench-core/src/bench_core/budgets.py"], root)
    assert found[0] == tests / "test_budgets.py"
    assert set(tests.rglob("test_*.py")) <= set(found)


@pytest.mark.parametrize(
    ("module", "test"),
    [
        ("llm-judge/src/llm_judge/case_lint.py", "llm-judge/tests/test_case_lint.py"),
        ("llm-judge/src/llm_judge/judge.py", "llm-judge/tests/test_judge.py"),
        (
            "bench-core/src/bench_core/run_folder/jsonl.py",
            "bench-core/tests/test_inside.py",
        ),
    ],
)
def test_a_test_that_imports_from_a_package_is_about_the_module_that_has_the_name(
    root: Path, module: str, test: str
) -> None:
    found = nearest_tests([root / "packages" / module], root)
    assert root / "packages" / test in found[:10]


def test_a_changed_test_is_run_and_a_changed_page_runs_none(root: Path) -> None:
    changed = root / "packages/bench-core/tests/test_atomic_files.py"
    assert nearest_tests([changed], root) == [changed]
    assert nearest_tests([root / "README.md"], root) == []


def test_a_changed_helper_runs_the_tests_that_use_it(root: Path) -> None:
    tests = root / "packages/waa-client/tests"
    helper = next(tests.rglob("fake_vm.py"))
    found = nearest_tests([helper], root)
    assert tests / "test_trial.py" in found
    assert all(tests in each.parents for each in found)


def test_a_module_that_is_loaded_by_its_name_is_tested_first_by_who_names_it(root: Path) -> None:
    found = nearest_tests([root / "packages/waa-client/src/waa_client/agents/checkout.py"], root)
    tests = root / "packages/waa-client/tests"
    assert found[0] == tests / "test_checkout_calls.py"
    assert found.index(tests / "test_agents.py") < found.index(tests / "test_world.py")
