"""What sessions install: our wheels, groups of requirements, and Chromium."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import nox

from nox_support import chromium, wheels
from nox_support.packages import CORE, ROOT, Package, package, packages

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "DIST", "build_missing", "group", "groups", "install", "install_beside_pins", "install_lowest",
    "provide_chromium", "with_core", "with_extras",
]  # fmt: skip

DIST = ROOT / "dist"
UNPINNED = (
    "import importlib.metadata, re\n"
    "listed = importlib.metadata.requires('webarena-verified')\n"
    "print(*{re.match(r'[\\w.-]+', each)[0] for each in listed if 'extra' not in each})"
)
"""Prints what webarena-verified requires, by name alone."""
FOREIGN_EXTRAS = {"vanilla"}
"""Extras with what a user's checkout of a benchmark imports, and no code of ours."""


def group(name: str, folder: Path = ROOT) -> list[str]:
    """Return the requirements of a dependency group of a pyproject.toml, none if it has no such."""
    pyproject = nox.project.load_toml(folder / "pyproject.toml")
    named = name in pyproject.get("dependency-groups", {})
    return list(nox.project.dependency_groups(pyproject, name)) if named else []


def groups(name: str) -> list[str]:
    """Return the requirements of the dependency groups `name` of all packages."""
    return [each for one in packages() for each in group(name, one.folder)]


def with_core(tested: Package) -> list[Package]:
    """Return the package and bench-core."""
    return [package(CORE), tested] if tested.name != CORE else [tested]


def with_extras(each: Package) -> str:
    """Return the requirement of a package with all that its own code can import."""
    return f"{each.name}[{','.join(_own_extras(each))}]"


def _own_extras(each: Package) -> list[str]:
    return sorted(set(each.project.get("optional-dependencies", {})) - FOREIGN_EXTRAS)


def build_missing(session: nox.Session, needed: list[Package]) -> None:
    """Build the wheels of `needed` that `dist/` has not, or has of other sources."""
    if missing := [each.name for each in wheels.stale(DIST, ROOT) if each in needed]:
        build = ["-m", "nox", "-s", "build", "--", *missing]
        session.run(sys.executable, *build, external=True)


def install(session: nox.Session, built: list[Package], requirements: list[str]) -> None:
    """Install the wheels of `built` with all they require, and `requirements`; build those that are missing."""
    build_missing(session, built)
    files = [str(wheels.wheel(each, DIST)) for each in built]
    # first by themselves: a reused environment holds older wheels of the same version
    session.install("--no-deps", "--force-reinstall", *files)
    session.install("--no-compile", *files, *requirements)


def install_lowest(session: nox.Session, tested: Package, needed: list[str]) -> None:
    """Install the wheel of `tested` with the oldest versions of what it requires, and `needed`."""
    build_missing(session, with_core(tested))
    session.install("uv")
    pip = ["python", "-m", "uv", "pip", "install", "--python", str(session.virtualenv.location)]
    extras = [f"--extra={each}" for each in _own_extras(tested)]
    *core, own = [str(wheels.wheel(each, DIST)) for each in with_core(tested)]
    pyproject = str(tested.folder / "pyproject.toml")
    session.run(*pip, "--resolution", "lowest-direct", *extras, "-r", pyproject, *core)
    session.run(*pip, "--no-deps", own)
    session.run(*pip, *core, own, *needed)


def install_beside_pins(session: nox.Session, runner: Package, needed: list[str]) -> None:
    """Install webarena-verified without its exact pins, which newer versions of browser-use refuse."""
    build_missing(session, with_core(runner))
    files = [str(wheels.wheel(each, DIST)) for each in with_core(runner)]
    session.install("--no-deps", *files, "webarena-verified>=1.2.3,<1.3")
    names = session.run("python", "-c", UNPINNED, silent=True)
    own = [each for each in runner.project["dependencies"] if "webarena-verified" not in each]
    session.install("--no-compile", *own, *needed, *str(names).split())


def provide_chromium(session: nox.Session, *, headless_shell: bool = False) -> None:
    """Find or install Chromium and pass its path to the session's commands.

    Args:
        session: In which the commands run.
        headless_shell: Whether tests get Chromium's headless shell, where there is one, which needs a third less time
            for the same pages. Those marked `full_chromium` get all of Chromium.
    """
    try:
        session.env["CHROME_PATH"] = full = str(chromium.ensure())
    except chromium.ChromiumMissingError as error:
        session.error(str(error))
    if headless_shell and (found := chromium.find_shell(os.environ)):
        session.env.update({"CHROME_PATH": str(found), "FULL_CHROME_PATH": full})
