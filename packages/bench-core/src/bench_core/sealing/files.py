"""Files that an agent must not see: its run, other runs in the same folder, and the benchmark's answers."""

from __future__ import annotations

import contextlib
import os
import site
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS
from bench_core.serving import token_folder

_PLAYS_SOLUTIONS = "scripted"
_OF_DEVELOPERS = "PROCTOR_DATA"
_OF_THE_SYSTEM = (
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/opt", "/sys", "/proc/sys",
    "/proc/sysrq-trigger", "/var/lib", "/var/spool",
)  # fmt: skip
"""Folders of the system's programs and settings, which root may write to."""


@dataclass(frozen=True)
class SealedFiles:
    """Files that an agent's process cannot see, and files that it cannot change.

    Attributes:
        hidden: Files and folders that it cannot see.
        needed: Exceptions to these: the places of the agent and its interpreter.
        protected: Files and folders that it can only read: the system, and the programs that run and score it.
    """

    hidden: tuple[str, ...]
    needed: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()

    @property
    def problem(self) -> str | None:
        """Why some of the files cannot be hidden; None if all can."""
        both = next((each for each in self.hidden if each in self.needed), None)
        if both is None:
            return None
        return f"{both} holds what must be hidden and what agents need: put one of them elsewhere"


def sealed_files(out: Path, answers: Iterable[Path] = ()) -> SealedFiles:
    """Return the files that an agent of the run in `out` must not see.

    Args:
        out: The run folder; it exists.
        answers: The benchmark's datasets and solutions.
    """
    run = out.resolve()
    data = os.environ.get(_OF_DEVELOPERS)
    tokens = token_folder()
    with contextlib.suppress(OSError):  # servers that start later put their tokens there
        tokens.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = [run, *_runs_beside(run), *answers, tokens, *([Path(data)] if data else [])]
    temporary = Path(tempfile.gettempdir()).resolve()  # the place of agents' own folders
    protected = [each for each in _resolved(_scorers()) if not temporary.is_relative_to(each)]
    return SealedFiles(
        hidden=_resolved(hidden), needed=_resolved(_programs()), protected=tuple(protected)
    )


def answers_of(benchmark: Any, agent: str) -> tuple[Path, ...]:
    """Return the files with a benchmark's answers; none if it does not name them.

    Proctor's own agent `scripted` plays the files that `solutions` names, so it can see them.
    """
    named = ("answers",) if agent == _PLAYS_SOLUTIONS else ("answers", "solutions")
    hooks = [getattr(benchmark, name, None) for name in named]
    return tuple(Path(each) for hook in hooks if callable(hook) for each in hook())


def _runs_beside(run: Path) -> Iterator[Path]:
    """Yield the other runs in the same folder: their tasks have the same answers."""
    with os.scandir(run.parent) as entries:
        for each in entries:
            path = Path(each.path)
            try:
                is_run = path != run and each.is_dir() and (path / "run.json").exists()
            except PermissionError:  # it may be one
                is_run = True
            if is_run:
                yield path


def _resolved(paths: Iterable[Path | str]) -> tuple[str, ...]:
    found = (Path(each).resolve() for each in paths)
    return tuple(dict.fromkeys(str(each) for each in found if each.exists()))


def _programs() -> Iterator[str]:
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, tempfile.gettempdir())
    yield from filter(None, sys.path)


def _scorers() -> Iterator[str]:
    """Yield the programs and modules of the run, its interpreters and browsers included."""
    yield from _OF_THE_SYSTEM
    yield from (sys.prefix, sys.base_prefix)
    browsers = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "0")
    yield browsers if browsers != "0" else str(Path.home() / ".cache/ms-playwright")
    if chromium := os.environ.get("CHROME_PATH"):
        yield str(Path(chromium).resolve().parent)
    paths = sysconfig.get_paths()
    yield from (paths[name] for name in ("purelib", "platlib", "stdlib"))
    if site.ENABLE_USER_SITE and Path(site.getusersitepackages()).is_dir():
        yield site.getusersitepackages()
    for name in PROCTOR_DISTRIBUTIONS:
        found = find_spec(name.replace("-", "_"))
        if found is not None and found.submodule_search_locations:
            yield from found.submodule_search_locations
