"""Which tests are about what has changed since the main branch, the nearest first: for `nox -s quick`."""

from __future__ import annotations

import ast
import re
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from nox_support.packages import ROOT, packages
from nox_support.stubs import offering_modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

__all__ = ["changed_files", "modules_of", "nearest_tests"]

_BASES = ("origin/main", "main")
_FAR = 1000
"""The distance of a test of the same package that imports nothing from which what has changed is reached."""


def changed_files(root: Path = ROOT, bases: Iterable[str] = _BASES) -> list[Path]:
    """Return the files that differ from where the first of `bases` was left, uncommitted and new ones included."""
    base = next((each for each in bases if _git(root, "rev-parse", "--verify", "-q", each)), "HEAD")
    since = _git(root, "merge-base", base, "HEAD") or ["HEAD"]
    found = {
        *_git(root, "diff", "--name-only", since[0]),
        *_git(root, "ls-files", "--others", "--exclude-standard"),
    }
    return sorted(path for each in found if (path := root / each).is_file())


def modules_of(files: Iterable[Path], root: Path = ROOT) -> set[str]:
    """Return the modules among `files`; a file that is no module counts as the package that holds it."""
    found = set()
    for each in packages(root):
        source = each.folder / "src"
        for file in files:
            if source in file.parents:
                parts = file.relative_to(source).with_suffix("").parts
                is_module = file.suffix == ".py" and parts[-1] != "__init__"
                found.add(".".join(parts if is_module else parts[:-1]))
    return found


def nearest_tests(files: Iterable[Path], root: Path = ROOT) -> list[Path]:
    """Return the test files that changed, then those from which a changed module is reached, the nearest first.

    Near is what imports it over few others. Last come the other tests of the packages that have changed, which may
    reach it by a command, a process or an entry point; those that name it go first.
    """
    changed = set(files)
    modules = modules_of(changed, root)
    if not modules and not any(_is_of_tests(each, root) for each in changed):
        return []
    imports = _imports(root)
    away = imports.distances(modules)
    own = {each.folder for each in packages(root) if _roots(modules) & {each.module}}
    names = {each.rpartition(".")[2] for each in modules}
    found: dict[Path, tuple[int, bool, bool, int, str]] = {}
    for package in packages(root):
        for test in package.folder.glob("tests/**/test_*.py"):
            reached = imports.of_test(test)
            steps = [
                hops + away[module] for module, hops in reached.modules.items() if module in away
            ]
            if reached.files & changed:
                steps.append(0)
            if steps or package.folder in own:
                unnamed = not any(each in test.stem for each in names)
                near = min(steps, default=_FAR)
                foreign = package.folder not in own
                # what is reached by its entry point's name is named in the test's text alone
                silent = not any(each in _words(test) for each in names)
                found[test] = (near + unnamed, foreign, silent, len(reached.modules), str(test))
    return sorted(found, key=found.__getitem__)


class _Reached:
    """What a test file imports, over its helpers, too: modules with the number of files between, and the files."""

    def __init__(self) -> None:
        self.modules: dict[str, int] = {}
        self.files: set[Path] = set()


@cache
def _imports(root: Path) -> _Imports:
    return _Imports(root)


class _Imports:
    def __init__(self, root: Path) -> None:
        import grimp  # only `quick` and `mutants` have it

        self._offered = offering_modules(root)
        graph = grimp.build_graph(*(each.module for each in packages(root)))
        self._modules = graph.modules
        self._of_tests: dict[Path, _Reached] = {}
        self._importers: dict[str, set[str]] = {
            each: set(graph.find_modules_that_directly_import(each)) for each in graph.modules
        }
        for package, names in self._offered.items():
            for home in names.values():
                self._importers[home].add(package)

    def distances(self, modules: Iterable[str]) -> Mapping[str, int]:
        """Return of each module from which one of `modules` is reached over how many imports."""
        away = dict.fromkeys(set(modules) & self._modules, 0)
        ahead = list(away)
        for each in ahead:
            for importer in self._importers[each] - away.keys():
                away[importer] = away[each] + 1
                ahead.append(importer)
        return away

    def of_test(self, test: Path) -> _Reached:
        if test in self._of_tests:
            return self._of_tests[test]
        reached = self._of_tests[test] = _Reached()
        ahead = [(test, 1)]
        while ahead:
            file, hops = ahead.pop(0)
            if file in reached.files:
                continue
            reached.files.add(file)
            for module, name in _imported(file):
                if home := self._home(module, name):
                    reached.modules.setdefault(home, hops)
                elif helper := _beside(file, module):
                    ahead.append((helper, hops + 1))
            folder = file.parent
            while folder.name and (folder / "conftest.py").is_file():
                ahead.append((folder / "conftest.py", hops + 1))
                folder = folder.parent
        return reached

    def _home(self, module: str, name: str) -> str | None:
        """Return the module that an import is of; None where it is none of ours."""
        offered = self._offered.get(module, {}).get(name)
        whole = f"{module}.{name}" if name else module
        return offered or next((each for each in (whole, module) if each in self._modules), None)


@cache
def _imported(file: Path) -> tuple[tuple[str, str], ...]:
    """Return module and name of each import of a file; the name is empty where the module itself is imported."""
    found: list[tuple[str, str]] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [(node.module, each.name) for each in node.names]
        elif isinstance(node, ast.Import):
            found += [(each.name, "") for each in node.names]
    return tuple(found)


@cache
def _words(file: Path) -> frozenset[str]:
    return frozenset(
        re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)*", file.read_text(encoding="utf-8").lower())
    )


def _beside(file: Path, module: str) -> Path | None:
    """Return the helper of tests that is imported by its own name, of the nearest folder that has it."""
    for folder in file.parents:
        for place in (folder / f"{module}.py", folder / "helpers" / f"{module}.py"):
            if place.is_file():
                return place
        if folder.name == "tests":
            break
    return None


def _is_of_tests(file: Path, root: Path) -> bool:
    return file.suffix == ".py" and any(
        each.folder / "tests" in file.parents for each in packages(root)
    )


def _roots(modules: Iterable[str]) -> set[str]:
    return {each.partition(".")[0] for each in modules}


def _git(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=root, check=False, capture_output=True, text=True)  # noqa: S603, S607  # fixed words
    return done.stdout.split() if done.returncode == 0 else []
