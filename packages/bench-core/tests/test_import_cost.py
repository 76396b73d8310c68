"""What a program pays for importing bench_core, told by modules, not by seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bench_core

HEAVY = {"numpy", "rich", "pytest", "asyncio", "pydantic", "httpx", "hypothesis"}


def loaded_by(code: str) -> set[str]:
    probe = (
        f"{code}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split()[-2000:]) & HEAVY


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import bench_core") == set()


@pytest.mark.parametrize(
    "module",
    ["records", "run_folder", "discovery", "files.locks", "redaction", "testing.runs"],
)
def test_the_base_loads_neither_numpy_nor_rich_nor_pytest(module: str) -> None:
    assert loaded_by(f"import bench_core.{module}") <= {"pydantic", "asyncio"}


@pytest.mark.parametrize("arguments", [["--help"], ["check", "--help"], ["--version"]])
def test_help_loads_click_and_nothing_heavy(arguments: list[str]) -> None:
    code = (
        f"import sys; sys.argv = ['bench-core', *{arguments!r}]\n"
        "from bench_core.cli.main import main\n"
        "main()"
    )
    assert loaded_by(code) == set()


@pytest.mark.parametrize("name", bench_core.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(bench_core, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        bench_core.nothing  # noqa: B018
