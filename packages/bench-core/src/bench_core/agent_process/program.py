"""Which program an agent is: a digest of its files, found without importing it."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.run_folder.provenance import git_state

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["describe_program"]

_KINDS = frozenset(
    ".py .pyd .so .txt .md .toml .yaml .yml .j2 .jinja .jinja2 .prompt".split()  # noqa: SIM905  # a list of words
)
"""Code, and what prompts are kept in. JSON is left out: agents write it beside their code."""
_PROCTORS_LOOP = Path(__file__).parents[1] / "agents"


def describe_program(place: str, *, proctors: bool = False) -> dict[str, Any]:
    """Return `sha256` and `git` of the `AgentCode` of the agent at `place`, where they can be found.

    The digest is over names and contents of the code and prompts of the top-level package that the
    agent's module is in, or of a module that is in none. Of Proctor's own agents it is over the
    sub-package that holds them and `bench_core.agents`: what else of Proctor changes is no other agent.

    Args:
        place: `module:attribute`.
        proctors: Whether it is one of Proctor's own.
    """
    found = _find(place.partition(":")[0])
    if found is None:
        return {}
    module, packages = found
    if not packages:
        roots = [module]
    elif proctors:
        roots = list(dict.fromkeys([packages[-1], _PROCTORS_LOOP]))
    else:
        roots = packages[:1]
    return {"sha256": _digest(roots), "git": git_state(module.parent, tracked=module)}


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


def _digest(roots: list[Path]) -> str:
    digest = hashlib.sha256()
    for root in roots:
        files = [(root.name, root)] if root.is_file() else sorted(_files(root))
        for name, file in files:
            content = hashlib.sha256(file.read_bytes()).digest()
            digest.update(os.fsencode(name) + b"\0" + content)
    return digest.hexdigest()


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        if "run.json" in files:  # a run that was made in the agent's own folder
            names.clear()
            continue
        names[:] = [each for each in names if each != "__pycache__" and not each.startswith(".")]
        for each in files:
            if Path(each).suffix in _KINDS and not each.startswith("."):
                file = here / each
                yield file.relative_to(root).as_posix(), file
