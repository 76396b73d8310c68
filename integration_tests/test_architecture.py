"""The architecture session notices every import and requirement that breaks the plan."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from nox_support import metadata, public_api
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
    (tmp_path / "docs").mkdir()
    shutil.copy(root / "docs" / "architecture.md", tmp_path / "docs")
    shutil.copy(root / "pyproject.toml", tmp_path)
    return tmp_path


_QUESTION = re.compile(
    r'^\| "(?P<what>[^|]+)" \| `(?P<file>[\w/]+\.py)`: `(?P<name>\w+)` \|', re.MULTILINE
)


def test_what_contributing_says_is_where_it_says(root: Path) -> None:
    asked = _QUESTION.findall((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(asked) == 10
    for what, file, name in asked:
        package = file.partition("/")[0].replace("_", "-")
        source = (root / "packages" / package / "src" / file).read_text(encoding="utf-8")
        assert re.search(rf"^(async )?(def|class) {name}\b", source, re.MULTILINE), what


RUNNERS = ("multireal-harness", "webarena-runner", "waa-client")
_ROW = re.compile(r"^\| (?P<names>[^|]+) \| `(?P<file>[\w/]+\.py)` \|", re.MULTILINE)


def documented_files(root: Path) -> list[tuple[list[str], str]]:
    """The table of the page: what each file of a runner defines, `*` for any beginning."""
    rows = _ROW.findall((root / "docs" / "architecture.md").read_text(encoding="utf-8"))
    return [(re.findall(r"`([\w*]+)`", names), file) for names, file in rows]


def missing(root: Path) -> list[str]:
    """The files and names of the table that a runner lacks."""
    found = []
    for runner in RUNNERS:
        source = root / "packages" / runner / "src" / runner.replace("-", "_")
        for names, file in documented_files(root):
            path = source / file
            defined = defined_names(path) if path.is_file() else []
            found += [] if path.is_file() else [f"{runner}: {file}"]
            found += [f"{runner}: {n} in {file}" for n in names if not fnmatch.filter(defined, n)]
    return found


def defined_names(path: Path) -> list[str]:
    """What a module and its classes define."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = [each for node in tree.body if isinstance(node, ast.ClassDef) for each in node.body]
    names = []
    for node in [*tree.body, *inner]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [each.id for each in node.targets if isinstance(each, ast.Name)]
    return names


def test_every_runner_has_its_jobs_in_the_documented_files(root: Path) -> None:
    assert len(documented_files(root)) == 16
    assert missing(root) == []


@pytest.mark.parametrize(
    ("file", "name", "found"),
    [
        pytest.param("waa-client/src/waa_client/reset.py", None, "reset.py", id="no file"),
        pytest.param(
            "waa-client/src/waa_client/results.py", "def as_evaluation", "as_evaluation in results.py",
            id="no function",
        ),
        pytest.param(
            "waa-client/src/waa_client/options.py", "class WaaRunOptions", "*RunOptions in options.py",
            id="no class",
        ),
    ],
)  # fmt: skip
def test_a_runner_that_leaves_the_table_is_found(
    tree: Path, file: str, name: str | None, found: str
) -> None:
    path = tree / "packages" / file
    if name is None:
        path.unlink()
    else:
        text = path.read_text(encoding="utf-8")
        assert name in text
        path.write_text(text.replace(name, f"{name}Once"), encoding="utf-8")
    assert missing(tree) == [f"waa-client: {found}"]


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
    append(tree, "bench-core/protocols.py", "import waa_client")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "bench-core imports no package that is built on it BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "objection"),
    [
        ("protocols.py", "import numpy", "the base may not import 'numpy'"),
        ("protocols.py", "import bench_core.statistics", "the base may not import the tower"),
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


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        (
            "errors.py",
            "if TYPE_CHECKING:\n    from bench_core.scheduling.scheduler import Scheduler",
            "No module imports what imports it, not even for types",
        ),
        (
            "run_folder/atoms.py",
            "import bench_core.runs.options",
            "The parts of a package do not import each other in circles",
        ),
    ],
    ids=["modules, for a type alone", "rooms, over different modules"],
)
def test_a_circle_is_noticed(tree: Path, module: str, line: str, broken: str) -> None:
    append(tree, f"bench-core/{module}", line)
    done = lint_imports(tree)
    assert done.returncode == 1
    assert f"{broken} BROKEN" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        (
            "server/new.py",
            "import waa_server_ext.simulate.scene",
            "What waa-server-ext installs on a VM",
        ),
        (
            "native/new.py",
            "import waa_server_ext.server.journal",
            "What waa-server-ext installs on a VM",
        ),
        (
            "simulate/new.py",
            "import waa_server_ext.native.urls",
            "The simulated desktop needs no evaluators",
        ),
        (
            "simulate/ui/new.py",
            "import waa_server_ext.simulate.apps.paint",
            "The simulated desktop is built",
        ),
    ],
)
def test_leaving_a_layer_is_noticed(tree: Path, module: str, line: str, broken: str) -> None:
    append(tree, f"waa-server-ext/{module}", line)
    done = lint_imports(tree)
    assert done.returncode == 1
    assert re.search(rf"{broken}.* BROKEN", done.stdout)


def test_importing_what_another_package_keeps_to_itself_is_noticed(tree: Path) -> None:
    append(tree, "llm-judge/judge.py", "from bench_core.files.atomic import write_atomic")
    done = lint_imports(tree)
    assert done.returncode == 1
    assert "A package imports only what others list as public BROKEN" in done.stdout
    assert "bench_core.files.atomic is not public" in done.stdout


def test_tests_and_documents_import_what_is_public(root: Path) -> None:
    assert list(public_api.foreign_imports(root)) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "docs/new.md",
            "Words.\n\n```python\nfrom bench_core.files.atomic import write_atomic\n```\n",
        ),
        ("docs/new.md", "Words.\n\n```python\n>>> import bench_core.files.atomic\n```\n"),
        ("integration_tests/test_new.py", "\n\n\nfrom bench_core.errors import _private\n"),
        ("packages/llm-judge/tests/test_new.py", "\n\n\nimport bench_core.files.atomic\n"),
    ],
    ids=["page", "page with prompts", "private name", "another package's test"],
)
def test_a_document_or_test_that_imports_more_is_noticed(tree: Path, file: str, text: str) -> None:
    spoilt = tree / file
    spoilt.parent.mkdir(parents=True, exist_ok=True)
    spoilt.write_text(text, encoding="utf-8")
    found = [each for each in public_api.foreign_imports(tree) if each.startswith(f"{file}:4: ")]
    assert len(found) == 1
    assert found[0].endswith(" is not public")


def test_snapshots_and_reference_pages_are_what_the_sources_offer(root: Path) -> None:
    assert list(public_api.stale(root)) == [], "run `nox -s architecture -- --write`"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def write_atomic(", "def write_whole("),
        ("data: bytes", "data: str"),
        ("-> None:", "-> int:"),
    ],
    ids=["a name", "a parameter", "what comes back"],
)
def test_a_change_of_the_public_interface_is_noticed(tree: Path, old: str, new: str) -> None:
    source = tree / "packages/bench-core/src/bench_core/files/atomic.py"
    text = source.read_text(encoding="utf-8")
    start = text.index("def write_atomic(")
    source.write_text(text[:start] + text[start:].replace(old, new, 1), encoding="utf-8")
    core = next(each for each in packages(tree) if each.name == CORE)
    assert public_api.snapshot(core) != (core.folder / public_api.SNAPSHOT).read_text("utf-8")


def test_the_metadata_as_it_is_keeps_the_rule(tree: Path) -> None:
    assert list(metadata.violations(tree)) == []


@pytest.mark.parametrize(
    ("requirement", "violation"),
    [
        ('"waa_server_ext>=0.1,<0.2"', "llm-judge requires its sibling waa-server-ext"),
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
    pyproject.write_text(text.replace("==0.1.0", ">=7,<8", 1), encoding="utf-8")
    assert list(metadata.violations(tree)) == [
        "llm-judge refuses the bench-core of this repository"
    ]
