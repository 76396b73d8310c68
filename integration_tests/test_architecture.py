"""The architecture session notices every import and requirement that breaks the plan."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from nox_support import metadata
from nox_support.packages import CORE, Package, packages

if TYPE_CHECKING:
    from pathlib import Path

LEAVES = [each for each in packages() if each.name != CORE]


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the sources that a test may spoil."""
    for name in ("packages", "nox_support"):
        ignored = shutil.ignore_patterns("__pycache__", ".*", "tests")
        shutil.copytree(root / name, tmp_path / name, ignore=ignored)
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


RUNNERS = ("multireal-harness", "webarena-runner", "waa-client")
_NEEDED = {"open", "evaluate", "capture", "prepare"}
"""Those a benchmark cannot leave to the core's own."""
_ROW = re.compile(r"^\| (?P<hooks>[^|]+) \| `(?P<file>[\w/]+\.py)` \|", re.MULTILINE)


def on_the_path(root: Path) -> list[Path]:
    """The sources of the runners whose benchmark gives hooks."""
    folders = [root / "packages" / each / "src" / each.replace("-", "_") for each in RUNNERS]
    return [each for each in folders if "def evaluate(" in (each / "benchmark.py").read_text()]


def test_every_runner_has_its_hooks_in_the_documented_files(root: Path) -> None:
    rows = _ROW.findall((root / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(on_the_path(root)) == 3
    assert len(rows) == 10
    for folder in on_the_path(root):
        assert [file for _, file in rows if not (folder / file).is_file()] == []
        for hook, file in ((h, f) for hooks, f in rows for h in re.findall(r"`(\w+)`", hooks)):
            given = (folder / file).read_text(encoding="utf-8")
            assert f"def {hook}" in given or hook not in _NEEDED, (folder, hook)


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    sources = os.pathsep.join(str(each.folder / "src") for each in packages(tree))
    return subprocess.run(
        ["lint-imports", "--no-cache"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": sources, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def append(tree: Path, module: str, line: str) -> None:
    distribution, _, rest = module.partition("/")
    source = tree / "packages" / distribution / "src" / distribution.replace("-", "_") / rest
    source.parent.mkdir(exist_ok=True)
    with source.open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")


def test_the_sources_as_they_are_keep_every_contract(tree: Path) -> None:
    done = lint_imports(tree)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda each: each.name)
def test_importing_a_sibling_is_noticed(tree: Path, leaf: Package) -> None:
    sibling = next(each for each in LEAVES if each.name != leaf.name)
    append(tree, f"{leaf.name}/__init__.py", f"def late():\n    import {sibling.module}.cli")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "A package imports bench-core and no sibling BROKEN" in done.stdout


def test_bench_core_importing_a_leaf_is_noticed(tree: Path) -> None:
    append(tree, "bench-core/records.py", "import waa_client")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "bench-core imports no package that is built on it BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "objection"),
    [
        ("records.py", "import numpy", "the base may not import 'numpy'"),
        ("records.py", "import bench_core.statistics", "the base may not import the tower"),
        ("statistics/new.py", "import rich", "the tower 'statistics' may not import 'rich'"),
        ("browser/new.py", "import bench_core.statistics", "the tower 'browser' may not import"),
        ("statistics/new.py", "from bench_core.testing import new", "may not import the tower"),
    ],
)
def test_leaving_base_or_tower_is_noticed(
    tree: Path, module: str, line: str, objection: str
) -> None:
    for tower in ("browser", "statistics", "testing"):
        append(tree, f"bench-core/{tower}/__init__.py", "")
        append(tree, f"bench-core/{tower}/new.py", "")
    append(tree, f"bench-core/{module}", line)
    done = lint_imports(tree)
    assert done.returncode == 1
    assert objection in " ".join(done.stdout.split())


def test_the_metadata_as_it_is_keeps_the_rule(tree: Path) -> None:
    assert list(metadata.violations(tree)) == []


@pytest.mark.parametrize(
    ("requirement", "violation"),
    [
        ('"waa_server_ext>=0.1"', "llm-judge requires its sibling waa-server-ext"),
        ('"Bench.Report"', "llm-judge requires its sibling bench-report"),
    ],
)
def test_requiring_a_sibling_is_noticed(tree: Path, requirement: str, violation: str) -> None:
    pyproject = tree / "packages/llm-judge/pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    pyproject.write_text(text.replace("dependencies = [", f"dependencies = [{requirement},", 1))
    assert list(metadata.violations(tree)) == [violation]


def test_a_range_that_refuses_the_bench_core_here_is_noticed(tree: Path) -> None:
    pyproject = tree / "packages/llm-judge/pyproject.toml"
    text = pyproject.read_text(encoding="utf-8")
    pyproject.write_text(text.replace(">=0.1,<0.2", ">=7,<8", 1), encoding="utf-8")
    assert list(metadata.violations(tree)) == [
        "llm-judge refuses the bench-core of this repository"
    ]
