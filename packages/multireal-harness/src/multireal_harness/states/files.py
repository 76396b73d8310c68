"""Files of end states: one JSON object of app id to the state from the app's `/finish`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.run_folder import read_json

_SUFFIXES = (".json.gz", ".json")


@dataclass(frozen=True)
class EndStates:
    """The end states of one task's apps.

    Attributes:
        task_id: The file's name without its ending: the task's id, if it is named well.
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
        InputError: The folder does not exist.
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
        raise InputError(f"{folder} has no end states (*.json or *.json.gz)")
    return found


def read_states(path: Path) -> EndStates:
    """Read the end states in one file, with or without a wrapper (`env_state`, `finish_state`).

    Raises:
        InputError: It is missing or is not an object of app id to state.
    """
    try:
        value = read_json(path)
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    # agisdk stores the states one or two levels down; queries on a wrapper find nothing
    for wrapper in ("finish_state", "env_state"):
        if isinstance(value, dict) and isinstance(value.get(wrapper), dict):
            value = value[wrapper]
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise InputError(f"{path} has no end states: an object of app id to state is wanted")
    return EndStates(stem(path), path, value)
