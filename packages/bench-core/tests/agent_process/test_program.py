"""Which program an agent is: the same digest for the same files, another for any other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import bench_core
from bench_core.agent_process.placement import opened_agent
from bench_core.agent_process.program import describe_program

if TYPE_CHECKING:
    from collections.abc import Callable

PLACE = "some_agent.inner.agent:Agent"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the package `some_agent`, whose import would end the process."""
    root = tmp_path / "code" / "some_agent"
    (root / "inner").mkdir(parents=True)
    (root / "__init__.py").write_text("raise SystemExit('imported')")
    (root / "inner" / "__init__.py").write_text("")
    (root / "inner" / "agent.py").write_text("class Agent: ...")
    (root / "prompt.txt").write_text("Be good.")
    (root / "data.json").write_text("{}")
    monkeypatch.syspath_prepend(str(root.parent))
    return root


def digest() -> str:
    return str(describe_program(PLACE)["sha256"])


def write(name: str) -> Callable[[Path], object]:
    def change(package: Path) -> None:
        file = package / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("changed")

    return change


@pytest.mark.parametrize(
    ("change", "other"),
    [
        pytest.param(write("inner/agent.py"), True, id="its module"),
        pytest.param(write("inner/more.py"), True, id="a module more"),
        pytest.param(write("helpers.py"), True, id="a module beside its own package"),
        pytest.param(write("prompt.txt"), True, id="a prompt"),
        pytest.param(
            lambda package: (package / "prompt.txt").rename(package / "other.txt"),
            True,
            id="a name",
        ),
        pytest.param(write("data.json"), False, id="what agents write"),
        pytest.param(write("__pycache__/agent.cpython-311.py"), False, id="a cache"),
        pytest.param(write(".idea/notes.txt"), False, id="a hidden folder"),
        pytest.param(write(".notes.txt"), False, id="a hidden file"),
        pytest.param(write("../beside.py"), False, id="another program"),
    ],
)
def test_another_file_is_another_program_and_what_is_no_code_is_not(
    package: Path, change: Callable[[Path], object], *, other: bool
) -> None:
    before = digest()
    assert digest() == before
    change(package)
    assert (digest() != before) == other


def test_runs_in_the_agents_own_folder_are_none_of_its_code(package: Path) -> None:
    before = digest()
    run = package / "runs" / "first"
    (run / "trials").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    (run / "trials" / "log.txt").write_text("clicked")
    assert digest() == before


def test_the_same_files_elsewhere_are_the_same_program(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest()
    shutil.move(package.parent, tmp_path / "moved")
    monkeypatch.syspath_prepend(str(tmp_path / "moved"))
    assert digest() == before


@pytest.mark.parametrize(
    "place", ["no_such.agent:A", "sys:A", "json.no_such:A", "json.decoder.x:A"]
)
def test_what_has_no_files_has_no_digest(place: str) -> None:
    assert describe_program(place) == {}


def test_a_module_in_no_package_is_its_file(package: Path) -> None:
    (package.parent / "alone.py").write_text("a = 1")
    before = describe_program("alone:A")
    (package.parent / "other.py").write_text("a = 1")
    assert describe_program("alone:A") == before
    (package.parent / "alone.py").write_text("a = 2")
    assert describe_program("alone:A") != before


def test_a_module_in_no_package_brings_what_it_imports_from_beside_it(package: Path) -> None:
    beside = package.parent
    (beside / "lone.py").write_text(
        "import json\nfrom near import x\n\ndef f():\n    import late\n"
    )
    (beside / "near.py").write_text("import importlib\nimportlib.import_module('by_name')")
    (beside / "late").mkdir()
    (beside / "late" / "__init__.py").write_text("import deep")
    for name in ("by_name", "deep", "unused"):
        (beside / f"{name}.py").write_text("")
    described = describe_program("lone:A")
    names = {"lone.py", "near.py", "by_name.py", "deep.py", "late/__init__.py"}
    assert {each.partition(" ")[2] for each in described["files"]} == names
    for name in names:
        before = describe_program("lone:A")["sha256"]
        (beside / name).write_text((beside / name).read_text() + "\n# changed")
        assert describe_program("lone:A")["sha256"] != before
    before = describe_program("lone:A")["sha256"]
    (beside / "unused.py").write_text("changed = 1")
    assert describe_program("lone:A")["sha256"] == before


def test_a_module_that_does_not_parse_has_a_digest_all_the_same(package: Path) -> None:
    (package.parent / "torn.py").write_text("def (")
    assert describe_program("torn:A")["sha256"]


def test_proctors_own_agents_are_their_sub_package_and_the_common_loop(tmp_path: Path) -> None:
    root = Path(bench_core.__file__).parent
    copy = tmp_path / "site" / "bench_core"
    shutil.copytree(root, copy)
    command = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from bench_core.agent_process.program import describe_program as d; "
        "print(d('bench_core.browser_use.agent:X', proctors=True)['sha256'])"
    )

    def digest_of_copy() -> str:
        return subprocess.run(
            [sys.executable, "-c", command, str(copy.parent)],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    before = digest_of_copy()
    (copy / "redaction.py").write_text("changed = True")
    assert digest_of_copy() == before
    for part in ("agents", "browser_use"):
        (copy / part / "more.py").write_text("")
        after = digest_of_copy()
        assert after != before
        before = after


def test_the_commit_is_that_of_the_folder_where_git_tracks_the_agent(package: Path) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-C", str(package))
        done = subprocess.run(
            ["/usr/bin/env", "git", *identity, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "-q")
    assert describe_program(PLACE)["git"] is None, "git does not track it"
    git("add", "-A")
    git("commit", "-qm", "one")
    state = describe_program(PLACE)["git"]
    assert (state.commit, state.dirty) == (git("rev-parse", "HEAD"), False)
    (package / "prompt.txt").write_text("Be better.")
    assert describe_program(PLACE)["git"].dirty


@pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's")
@pytest.mark.parametrize("process", ["own", "shared"])
def test_the_record_of_an_opened_agent_has_both(process: str) -> None:
    with opened_agent("killers:Killer", process=process) as (_, code):  # type: ignore[arg-type]  # a literal
        assert code.sha256 == describe_program("killers:Killer")["sha256"]
        assert code.process == process
    with opened_agent("do-nothing") as (_, code):
        assert (
            code.sha256 == describe_program("bench_core.agents.plugins:X", proctors=True)["sha256"]
        )
