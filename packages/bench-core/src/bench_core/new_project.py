"""Write a small project of one's own: an agent, a benchmark, a judge or a reporter, with its tests."""

from __future__ import annotations

import keyword
import re
import sys
from importlib import resources
from pathlib import Path
from string import Template
from typing import Literal, get_args

from bench_core.__about__ import __version__
from bench_core.errors import InputError
from bench_core.files import require_writable, write_atomic

__all__ = ["ProjectKind", "write_project"]

ProjectKind = Literal["agent", "benchmark", "judge", "reporter"]
"""The kinds of plugins that a project may offer."""

_DESCRIPTIONS: dict[ProjectKind, str] = {
    "agent": "An agent for browsers and desktops.",
    "benchmark": "A benchmark of small sums.",
    "judge": "A judge of end states.",
    "reporter": "A page of results by task.",
}
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_FILES = ("pyproject.toml", "module.py", "test.py", "readme.md")


def write_project(
    kind: ProjectKind, name: str, into: Path, *, with_model: bool = False
) -> tuple[Path, ...]:
    """Write the project `name` into a folder of that name in `into`, and return its files.

    An agent may be one `with_model`: it asks the run's model for its acts.

    It has a module that works as it is, an entry point, and tests that subclass the conformance classes
    of `bench_core.testing`. It runs from its folder, and after `pip install .` from anywhere.

    Raises:
        InputError: The name cannot be that of a distribution and a module, or the folder exists.
    """
    if kind not in get_args(ProjectKind):
        raise InputError(f"unknown kind of project {kind!r}: use one of {get_args(ProjectKind)}")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot be the name of a project: use lower-case letters, digits and single "
            f"hyphens, beginning with a letter, as in 'my-agent'"
        )
    module = name.replace("-", "_")
    # Python's own module of that name would be imported instead
    if module in sys.stdlib_module_names or keyword.iskeyword(module):
        raise InputError(
            f"{name!r} cannot be the name of a project: Python has a {module!r} of its own; "
            f"'my-{name}' can be used"
        )
    folder = into / name
    if folder.exists():
        raise InputError(f"{folder} exists: choose another name, or move it away")
    texts = _texts(kind, name, with_model=with_model)
    for path in texts:
        require_writable(folder / path)
    for path, text in texts.items():
        write_atomic(folder / path, text.encode())
    return tuple(folder / path for path in texts)


def _texts(kind: ProjectKind, name: str, *, with_model: bool) -> dict[str, str]:
    module = name.replace("-", "_")
    extra = "" if kind != "agent" else "[agents,openai]" if with_model else "[agents]"
    values = {
        "name": name,
        "entry": name.replace("_", "-"),
        "module": module,
        "Class": "".join(each.capitalize() for each in module.split("_")),
        "kind": kind,
        "description": _DESCRIPTIONS[kind],
        # exactly, as the packages do: an index may have another's under a version that a range admits
        "core": f"bench-core{extra}=={__version__}",
    }
    folder = f"{kind}-with-model" if with_model else kind
    templates = resources.files("bench_core").joinpath("project_templates")
    pyproject, source, test, readme = (
        Template(
            (templates if each == "pyproject.toml" else templates.joinpath(folder))
            .joinpath(f"{each}.txt")
            .read_text(encoding="utf-8")
        ).substitute(values)
        for each in _FILES
    )
    head = f"# {name}\n\n{_DESCRIPTIONS[kind]} Its tests: `pip install '.[test]' && pytest`.\n\n"
    return {
        "pyproject.toml": pyproject,
        f"{module}.py": source,
        f"tests/test_{module}.py": test,
        "README.md": head + readme,
    }
