"""End states in files: one JSON object of app id to what the app's `/finish` said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench_core.artifacts import read_json
from bench_core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["EndStates", "find_states", "load_states", "read_states", "stem"]

_SUFFIXES = (".json.gz", ".json")


@dataclass(frozen=True)
class EndStates:
    """The end states of one task's apps.

    Attributes:
        task_id: What the file is called: the task's id, hopefully.
        apps: App id to state.
    """

    task_id: str
    path: Path
    apps: dict[str, Any]


def stem(path: Path) -> str:
    """Return a file's name without `.json` or `.json.gz`."""
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.name


def find_states(folder: Path) -> list[Path]:
    """Return the state files of a folder, sorted.

    Raises:
        InputError: There is no such folder.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of end states")
    return sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIXES))


def load_states(folder: Path) -> list[EndStates]:
    """Read all end states of a folder.

    Raises:
        InputError: There is none, or a file is not an object of app id to state.
    """
    found = [read_states(path) for path in find_states(folder)]
    if not found:
        raise InputError(f"{folder} holds no end states (*.json or *.json.gz)")
    return found


def read_states(path: Path) -> EndStates:
    """Read the end states in one file; a wrapper (`env_state`, `finish_state`) is taken off.

    Raises:
        InputError: It is missing or is not an object of app id to state.
    """
    try:
        value = read_json(path)
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    for wrapper in ("finish_state", "env_state"):
        if isinstance(value, dict) and isinstance(value.get(wrapper), dict):
            value = value[wrapper]
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise InputError(f"{path} holds no end states: an object of app id to state is wanted")
    return EndStates(stem(path), path, value)
