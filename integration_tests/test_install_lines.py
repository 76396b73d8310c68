"""Each line by which a page or a message installs ours does so, though an index has something else of that name."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from collections import defaultdict
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
from packaging.requirements import InvalidRequirement, Requirement

from bench_core.errors import pip_install
from bench_core.new_project import write_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

OURS = {each.name: each for each in packages()}
THEIRS = ("99.0", "0.1.9")
"""Another's versions: higher than all of ours, and one that looks like our next."""
_PIP = re.compile(r"\bpip3?\s+(?:install|download)\b")
_FENCED = re.compile(r"^ *```[^\n`]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_LINE = re.compile(rf"{_PIP.pattern}[^\S\n]+([^\n]*?)(?=$|\s+(?:&&|#)|`)", re.MULTILINE)
_QUOTED = re.compile(rf"`[^`]*?{_PIP.pattern}\s+([^`]*?)(?:\s+&&[^`]*)?`")
_NAMELESS = re.compile(rf"`{_PIP.pattern}`")
_MANY = """
import json, sys
from pip._internal.cli.main import main
for number, line in enumerate(json.load(open("lines.json"))):
    if main([*sys.argv[1:], "--report", f"{number}.json", *line]):
        sys.exit(f"pip does not install {line}")
"""


def in_text(text: str) -> list[str]:
    """Return what follows `pip install` and `pip download` in the blocks and between the backquotes of a text.

    Raises:
        ValueError: There are more of them.
    """
    blocks = "".join(_FENCED.findall(text))
    prose = _FENCED.sub("", text)
    found = [*_LINE.findall(blocks), *(each.replace("\n", " ") for each in _QUOTED.findall(prose))]
    if (there := len(_PIP.findall(text)) - len(_NAMELESS.findall(text))) != len(found):
        raise ValueError(f"{there} lines install something, of which {len(found)} are read")
    return found


def in_code(text: str) -> Iterator[str]:
    """Yield the same of the strings of a module, and what its calls of `pip_install` return.

    What such a call puts into its text stands for every package of ours and each of its extras.
    """
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _LINE.findall(node.value)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "pip_install":
            known = [each.value for each in node.args if isinstance(each, ast.Constant)]
            filled = [each for each in node.args if not isinstance(each, ast.Constant)]
            ways = [[*known, name] for each in filled for name in could_be(each)] or [known]
            yield from (pip_install(*each).removeprefix("pip install ") for each in ways)


def could_be(node: ast.expr) -> list[str]:
    """Return which packages of ours, with or without an extra, an expression may name."""
    extras = {name: each.project.get("optional-dependencies", {}) for name, each in OURS.items()}
    names = [*OURS, *(f"{name}[{extra}]" for name in OURS for extra in extras[name])]
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    pattern = "".join(
        re.escape(str(each.value)) if isinstance(each, ast.Constant) else ".*" for each in parts
    )
    return [each for each in names if re.fullmatch(pattern, each)]


def shown() -> dict[str, set[str]]:
    """Return all lines that a page, a file of a new project or a message shows, and where."""
    lines: dict[str, set[str]] = defaultdict(set)
    texts = [*pages(), *ROOT.glob("*.md"), *ROOT.glob("packages/*/src/**/*.txt")]
    sources = ROOT.glob("packages/*/src/**/*.py")
    for read, paths in ((in_text, texts), (in_code, sources)):
        for path in paths:
            text = path.read_text(encoding="utf-8")
            for line in read(text) if _PIP.search(text) or "pip_install(" in text else ():
                lines[line].add(path.relative_to(ROOT).as_posix())
    return lines


def words(line: str, project: list[str], with_tests: list[str]) -> list[str]:
    """Return the words of a line, with what the project in the folder requires in its place."""
    asked = line.replace("-e .", ".").removeprefix("--dest dist ")  # `pip download` takes the same
    found = shlex.split(asked)
    for name, required in ((".", project), (".[test]", with_tests)):
        if name in found:
            found[found.index(name) : found.index(name) + 1] = required
    return found


def names_ours(words: Iterable[str]) -> bool:
    return any(re.split(r"[\[=<>]", each)[0] in OURS for each in words)


def write_wheel(folder: Path, name: str, version: str, requires: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{stem}.dist-info/METADATA", text)
        wheel.writestr(f"{stem}.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


def fill(index: Path, dist: Path, lines: list[list[str]]) -> None:
    """Put our packages into `dist`; into `index` others of the same names, and what else the lines install.

    Ours require each other as they do, and nothing else: what others' packages require is none of ours.
    """
    for name in OURS:
        found = metadata.distribution(name)
        extras = [f"Provides-Extra: {e}\n" for e in found.metadata.get_all("Provides-Extra", [])]
        required = [f"Requires-Dist: {e}\n" for e in found.requires or () if names_ours([e])]
        write_wheel(dist, name, found.version, "".join([*extras, *required]))
        for version in THEIRS:
            write_wheel(index / name, name, version, "".join(extras))
    for word in {word for line in lines for word in line}:
        try:
            wanted = Requirement(word)
        except InvalidRequirement:
            continue  # an option
        if wanted.name not in OURS:
            bounds = [e.version for e in wanted.specifier if e.operator in {">=", "=="}]
            write_wheel(index / wanted.name, wanted.name, max(bounds, default="1"))


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
    """Return the versions of our packages that pip takes for each line, in the folder with `dist`."""
    index = folder / "index"
    fill(index, folder / "dist", lines)
    (folder / "lines.json").write_text(json.dumps(lines))
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON"))
    }
    environ = kept | {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": str(folder / "dist")}
    options = ["install", "--quiet", "--dry-run", "--ignore-installed", "--no-cache-dir"]
    with served(index) as url:
        done = subprocess.run(
            [sys.executable, "-c", _MANY, *options, "--index-url", url, "--disable-pip-version-check"],
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


def required(folder: Path) -> tuple[list[str], list[str]]:
    """Return what a project that `bench-core new` writes requires, without and with its tests."""
    import tomllib

    written = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return written["dependencies"], [
        *written["dependencies"], *written["optional-dependencies"]["test"]
    ]  # fmt: skip


def test_each_line_installs_ours_though_an_index_has_a_higher_version(tmp_path: Path) -> None:
    write_project("agent", "my-agent", tmp_path, with_model=True)
    project, with_tests = required(tmp_path / "my-agent")
    lines = {line: words(line, project, with_tests) for line in sorted(shown())}
    ours = {line: each for line, each in lines.items() if names_ours(each)}
    (taken, *found) = installed([["bench-core"], *ours.values()], tmp_path)
    assert taken == {"bench-core": THEIRS[0]}  # without its version it would be another's
    versions = {name: metadata.version(name) for name in OURS}
    rows = dict(zip(ours, found, strict=True))
    assert {
        line: each for line, each in rows.items() if not each or each.items() - versions.items()
    } == {}
    assert {name for each in rows.values() for name in each} == set(OURS)


@pytest.mark.parametrize(
    ("read", "text", "line"),
    [
        (in_text, "a `pip install\n'bench-core[x]'` b", "'bench-core[x]'"),
        (in_text, "```console\n$ pip install waa-client  # 3 MB\n```\n", "waa-client"),
        (in_text, "```yaml\n- run: pip download bench-core && ls\n```\n", "bench-core"),
        (in_code, "f'{a}; `pip install bench-core=={b}` adds it'", "bench-core=="),
        (in_code, "pip_install('--pre', f'llm-{a}[ima{b}]')", "--pre 'llm-judge[images]==0.1.0'"),
        (in_code, "pip_install('waa-client', *others)", "waa-client==0.1.0 webarena-runner==0.1.0"),
    ],
)
def test_a_new_line_is_read(read: Callable[[str], Iterable[str]], text: str, line: str) -> None:
    assert line in read(text)


def test_a_line_in_plain_words_is_refused_as_unread() -> None:
    with pytest.raises(ValueError, match="1 lines install something, of which 0 are read"):
        in_text("Now pip install waa-client and be glad.")
