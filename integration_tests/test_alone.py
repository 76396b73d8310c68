"""Each distribution works alone in an empty environment, installed as the README says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from nox_support.packages import CORE, Package, packages

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

HEAVY = {
    "anthropic", "asyncio", "browser_use", "cdp_use", "google", "httpx", "jinja2", "numpy", "openai",
    "pydantic", "rich", "webarena_verified",
}  # fmt: skip
"""What no `--help` has to wait for."""


class Installed:
    """An environment that one distribution was installed into."""

    def __init__(self, package: Package, folder: Path) -> None:
        self.package = package
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        program = str(self.bin / command[0])
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [program, *command[1:]],
            capture_output=True,
            text=True,
            check=True,
            cwd=self.bin,
            env=environ | variables,
        )


@pytest.fixture(scope="module", params=packages(), ids=lambda each: each.name)
def installed(
    request: pytest.FixtureRequest,
    made_once: Callable[[str, Callable[[Path], object]], Path],
    dist: Path,
) -> Installed:
    package: Package = request.param

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "virtualenv", "-q", folder], check=True)
        options = ["--quiet", "--no-compile", "--find-links", str(dist)]
        Installed(package, folder).run("python", "-m", "pip", "install", *options, package.name)

    return Installed(package, made_once(f"alone-{package.name}", make))


def test_the_package_imports_and_knows_its_version(installed: Installed) -> None:
    module = installed.package.module
    printed = installed.run("python", "-c", f"import {module}; print({module}.__version__)")
    assert printed.stdout.strip() == installed.package.version


def test_only_bench_core_is_installed_beside_it(installed: Installed) -> None:
    listed = json.loads(installed.run("python", "-m", "pip", "list", "--format", "json").stdout)
    ours = {each.name for each in packages()}
    assert {each["name"] for each in listed} & ours == {CORE, installed.package.name}


def test_its_command_tells_its_use_without_loading_anything_heavy(installed: Installed) -> None:
    done = installed.run(installed.package.name, "--help", PYTHONPROFILEIMPORTTIME="1")
    assert done.stdout.startswith(f"Usage: {installed.package.name}")
    imported = set(re.findall(r"\| +(\w+)[\w.]*$", done.stderr, re.MULTILINE))
    assert "click" in imported
    assert imported & HEAVY == set()
