"""What the pages and messages say to install is ours, though an index has something else of that name."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from nox_support.command_lines import pages
from nox_support.packages import ROOT, packages
from packaging.requirements import Requirement

from bench_core.errors import pip_install

if TYPE_CHECKING:
    from collections.abc import Iterator

OURS = {each.name for each in packages()}
THEIRS = "99.0"
_LINE = re.compile(r"pip install ([^`\n]*)")
_WORD = re.compile(
    rf"(?<![\w./-])(?:{'|'.join(sorted(OURS))})(?![\w/-])(?:\[[^\]]*\])?(?:==[\w.]+)?(?!==)"
)
_MANY = """
import json, sys
from pip._internal.cli.main import main
for number, line in enumerate(json.load(open("lines.json"))):
    sys.exit(1) if main([*sys.argv[1:], "--report", f"{number}.json", *line]) else None
"""


def in_pages() -> set[str]:
    return {found for page in pages() for found in _LINE.findall(page.read_text(encoding="utf-8"))}


def in_messages() -> set[str]:
    """Return what follows `pip install` in the sources' texts, and what `pip_install` is called with there."""
    found: set[str] = set()
    for each in packages():
        for path in each.folder.glob("src/**/*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.update(_LINE.findall(node.value))
                elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pip_install":
                    given = [each.value for each in node.args if isinstance(each, ast.Constant)]
                    found.add(pip_install(*map(str, given)).removeprefix("pip install"))
    templates = ROOT.glob("packages/*/src/**/templates/*.txt")
    return found | {each for path in templates for each in _LINE.findall(path.read_text("utf-8"))}


def requirements(lines: set[str]) -> set[str]:
    """Return what lines ask for of ours."""
    return {word for line in lines for word in _WORD.findall(line)}


def by_package(words: set[str]) -> list[list[str]]:
    """Return the words of each package: of several of one package, pip takes all extras."""
    names = sorted({re.split(r"[\[=]", word)[0] for word in words})
    return [sorted(each for each in words if re.split(r"[\[=]", each)[0] == name) for name in names]


def write_wheel(folder: Path, name: str, version: str, text: str) -> None:
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", text)
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


def plain(name: str, version: str) -> str:
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"


def fill(index: Path, dist: Path) -> None:
    """Put our packages into `dist`, and into `index` what they require and others' of the same names."""
    lowest: dict[str, str] = {}
    for name in OURS:
        found = metadata.distribution(name)
        write_wheel(dist, name, found.version, str(found.read_text("METADATA")))
        (index / name).mkdir(parents=True)
        extras = "".join(
            f"Provides-Extra: {each}\n" for each in found.metadata.get_all("Provides-Extra", [])
        )
        write_wheel(index / name, name, THEIRS, plain(name, THEIRS) + extras)
        for wanted in map(Requirement, found.requires or ()):
            bounds = [each.version for each in wanted.specifier if each.operator in {">=", "=="}]
            if wanted.name not in OURS:
                lowest[wanted.name] = max([*bounds, lowest.get(wanted.name, "0")], key=_numbers)
    for name, version in lowest.items():
        (index / name).mkdir(parents=True)
        write_wheel(index / name, name, version, plain(name, version))


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version)]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def installed(lines: list[list[str]], folder: Path) -> list[dict[str, str]]:
    """Return the versions of our packages that pip takes for each line."""
    index, dist = folder / "index", folder / "dist"
    index.mkdir()
    dist.mkdir()
    fill(index, dist)
    (folder / "lines.json").write_text(json.dumps(lines))
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))
    }
    environ = kept | {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": str(dist),
    }
    with served(index) as url:
        options = [
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
            "--no-cache-dir",
            "--index-url",
            url,
        ]
        done = subprocess.run(
            [sys.executable, "-c", _MANY, *options, "--disable-pip-version-check"],
            cwd=folder, env=environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    reports = [json.loads((folder / f"{number}.json").read_text()) for number in range(len(lines))]
    return [
        {
            each["metadata"]["name"]: each["metadata"]["version"]
            for each in report["install"]
            if each["metadata"]["name"] in OURS
        }
        for report in reports
    ]


def test_what_is_said_to_be_installed_is_ours_though_an_index_has_more(tmp_path: Path) -> None:
    words = requirements(in_pages() | in_messages())
    ours = {name: metadata.version(name) for name in OURS}
    assert {word for word in words if word.partition("==")[2] not in ours.values()} == set()
    together = by_package(words)
    assert len(together) == len(OURS)
    (taken, *found) = installed([["bench-core"], *together], tmp_path)
    assert taken == {"bench-core": THEIRS}  # without its version it would be another's
    for each in found:
        assert each.items() <= ours.items()
        assert each


@pytest.mark.parametrize("text", ["pip install waa-client", "`pip install 'bench-core[ray,x]'`"])
def test_a_line_without_a_version_is_found(text: str) -> None:
    (word,) = requirements(set(_LINE.findall(text)))
    assert "==" not in word
