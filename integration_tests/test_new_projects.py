"""What `bench-core new` writes installs without a network, is found by its name, and passes its tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import get_args

import pytest

from bench_core.errors import InputError
from bench_core.new_project import ProjectKind, write_project

KINDS = get_args(ProjectKind)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with a project of each kind, on top of the one that runs the tests."""
    place = tmp_path_factory.mktemp("projects")
    for kind in KINDS:
        write_project(kind, f"my-{kind}", place)
    write_project("agent", "my-model-agent", place, with_model=True)
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "virtualenv", "-q", environment], check=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = subprocess.run([python, "-c", where], capture_output=True, text=True, check=True)
    here = sysconfig.get_path("purelib")
    # `site.addsitedir` reads the .pth files of an editable installation, too
    (Path(site.stdout.strip()) / "tests.pth").write_text(f"import site; site.addsitedir({here!r})")
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, *(place / f"my-{kind}" for kind in (*KINDS, "model-agent"))], check=True)
    return python


@pytest.mark.slow
def test_installed_projects_are_found_by_their_names(installed: Path) -> None:
    command = [installed, "-m", "bench_core.cli.main", "plugins", "--load", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = {(each["kind"], each["name"]): each["value"] for each in json.loads(done.stdout)}
    expected = {(kind, f"my-{kind}"): f"my_{kind}:My{kind.capitalize()}" for kind in KINDS}
    assert {key: rows.get(key) for key in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "model-agent"])
def test_the_tests_of_a_new_project_pass(kind: str, installed: Path) -> None:
    folder = installed.parent.parent.parent / f"my-{kind}"
    command = [installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("My Agent", "as in 'my-agent'"),
        ("json", "'my-json' can be used"),
        ("-agent", "beginning with a letter"),
    ],
)
def test_a_name_that_python_could_not_import_is_refused(
    name: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=said):
        write_project("agent", name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "my-agent").mkdir()
    with pytest.raises(InputError, match="my-agent exists"):
        write_project("agent", "my-agent", tmp_path)
    assert not list((tmp_path / "my-agent").iterdir())
