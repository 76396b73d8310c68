"""Identify an agent's program by a digest of its files, without importing it."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.discovery import locate_plugin
from bench_core.records import AgentCode, GitState
from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS, git_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench_core.agent_process.foreign import ForeignProgram

_KINDS = frozenset(
    {
        ".py",
        ".pyd",
        ".so",
        ".js",
        ".txt",
        ".md",
        ".toml",
        ".yaml",
        ".yml",
        ".j2",
        ".jinja",
        ".jinja2",
        ".prompt",
    }
)
"""Suffixes of code and prompts. JSON is left out: agents write it next to their code."""
_IMPORT = re.compile(r"(.*\.)?(import_module|__import__)", re.DOTALL)
_SHOWN = 16
_MOST_FILES = 500
_PROCTORS = frozenset(name.replace("-", "_") for name in PROCTOR_DISTRIBUTIONS)
_PROCTORS_LOOP = Path(__file__).parents[1] / "agents"


def describe_program(place: str, *, proctors: bool = False) -> dict[str, Any]:
    """Return `sha256`, `files` and `git` for the `AgentCode` of the agent at `place`, as far as they are found.

    The digest covers names and contents of the code and prompts in the agent's top-level package. For a module
    without a package it covers the module and, recursively, the modules it imports from its folder. For Proctor's own
    agents it covers their sub-package and `bench_core.agents`: other changes of Proctor do not make another agent.

    Args:
        place: `module:attribute`.
        proctors: Whether it is one of Proctor's own.
    """
    found = _find(place.partition(":")[0])
    if found is None:
        return {}
    module, packages = found
    if not packages:
        roots = _with_imported(module)
    elif proctors:
        roots = list(dict.fromkeys([packages[-1], _PROCTORS_LOOP]))
    else:
        roots = packages[:1]
    whole, shown = hashlib.sha256(), []
    for root in roots:
        for name, file in [(root.name, root)] if root.is_file() else sorted(_files(root)):
            digest = hashlib.sha256(file.read_bytes()).digest()
            whole.update(os.fsencode(name) + b"\0" + digest)
            path = name if root.is_file() else f"{root.name}/{name}"
            shown.append(f"{digest.hex()[:_SHOWN]} {path}")
    return {
        "sha256": whole.hexdigest(),
        "files": tuple(shown) if len(shown) <= _MOST_FILES else (),
        "git": git_state(module.parent, tracked=module),
    }


def is_proctors(place: str) -> bool:
    """Return whether `module:attribute` is Proctor's own code."""
    return place.partition(":")[0].partition(".")[0] in _PROCTORS


def survey_agent(name: str) -> dict[str, Any]:
    """Return the fields of `AgentCode` that identify an agent's program, without importing it.

    Args:
        name: Name of an installed agent, or `module:attribute`.

    Raises:
        InputError: No installed distribution offers it, or several do.
    """
    offer = locate_plugin("agent", name)
    place = offer.value if offer else name
    return {
        "place": place,
        "distribution": f"{offer.distribution}=={offer.version}" if offer else None,
        **describe_program(place, proctors=is_proctors(place)),
    }


def code_of_foreign(
    code: AgentCode, foreign: ForeignProgram, found: Mapping[str, Any]
) -> AgentCode:
    """Return the record of an agent in another environment; its digest is over agent and environment.

    Args:
        code: Where it runs.
        foreign: The program of its processes.
        found: The result of `survey_agent` in that environment; empty for a command.
    """
    program = foreign.record
    parts = (str(found.get("sha256")), program.sha256)
    return code.model_copy(
        update={
            "sha256": hashlib.sha256("\0".join(parts).encode()).hexdigest(),
            "files": (*map(str, found.get("files") or ()), *foreign.files),
            "git": GitState.model_validate(found["git"]) if found.get("git") else None,
            "place": found.get("place"),
            "distribution": found.get("distribution"),
            "program": program,
        }
    )


def _with_imported(module: Path) -> list[Path]:
    """Return a module and the modules and packages of its folder that it imports, directly or not."""
    found = {module: None}
    for each in (open_ := [module]):
        for name in _imported_by(each):
            place = _find(name)
            root = place and (place[1][0] if place[1] else place[0])
            if root and root.parent == module.parent and root not in found:
                found[root] = None
                open_ += [file for _, file in _files(root)] if root.is_dir() else [root]
    first, *others = found
    return [first, *sorted(others)]


def _imported_by(file: Path) -> set[str]:
    """Return the top-level modules that a file names in imports, anywhere in it."""
    if file.suffix != ".py":
        return set()
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # its import fails in each trial, which says so
        return set()
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Call) and _IMPORT.fullmatch(ast.unparse(node.func)):
            names |= {each.value for each in node.args[:1]
                      if isinstance(each, ast.Constant) and isinstance(each.value, str)}  # fmt: skip
    return {name.partition(".")[0] for name in names} - {""}


def _find(module: str) -> tuple[Path, list[Path]] | None:
    """Return the file of a module and the folders of the packages around it, the outermost first.

    `importlib.util.find_spec` would import those packages, and agents are not imported by the run.
    """
    path: list[str] | None = None
    packages: list[Path] = []
    parts = module.split(".")
    for number in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:number]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
        if path:
            packages.append(Path(path[0]).resolve())
        elif number < len(parts):
            return None
    if spec is None or not spec.has_location or spec.origin is None:
        return None  # built in, or a folder without `__init__.py`
    return Path(spec.origin).resolve(), packages


def _spec(name: str, path: list[str] | None) -> Any:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec = find(name, path) if find is not None else None
        if spec is not None:
            return spec
    return None


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        if "run.json" in files:  # a run folder inside the agent's own folder
            names.clear()
            continue
        names[:] = [each for each in names if each != "__pycache__" and not each.startswith(".")]
        for each in files:
            if Path(each).suffix in _KINDS and not each.startswith("."):
                file = here / each
                yield file.relative_to(root).as_posix(), file
