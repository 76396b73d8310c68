"""Tasks of Windows Agent Arena: finding them by `domain/stem` and checking their shape.

Several files share an `id` and some have another name than it, so a task is identified by its place: the
folder (domain) and the file's stem.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_core.errors import InputError, UnknownTaskError

_NAME = re.compile(r"[A-Za-z0-9_-]+/[A-Za-z0-9._-]+")
_PLACES = (
    "", "evaluation_examples_windows", "src/win-arena-container/client/evaluation_examples_windows",
)  # fmt: skip
"""The places of tasks within a given folder; as in waa-client."""
_MAX_BYTES = 4 * 1024 * 1024


class BadTaskError(InputError):
    """A task cannot be used as it is."""


class TaskFolder:
    """The task files below a folder that holds `<domain>/<stem>.json`.

    The folder may also be the one above (`evaluation_examples_windows`, which holds `examples`), or a checkout.
    """

    def __init__(self, folder: Path) -> None:
        inner = (folder / each / "examples" for each in _PLACES)
        self.folder = next((each for each in inner if each.is_dir()), folder)
        if not self.folder.is_dir():
            raise InputError(f"there is no folder of tasks at {folder}; give it with --tasks-dir")

    def names(self) -> list[str]:
        """Return all `domain/stem`, sorted."""
        found = (f"{path.parent.name}/{path.stem}" for path in self.folder.glob("*/*.json"))
        return sorted(name for name in found if _NAME.fullmatch(name))

    def require_tasks(self) -> None:
        """Refuse a folder without usable tasks.

        Raises:
            InputError: It does not contain a task.
            BadTaskError: One of its files is not a task.
        """
        names = self.names()
        if not names:
            raise InputError(f"{self.folder} holds no tasks (<domain>/<task>.json)")
        for name in names:
            self.load(name)

    def load(self, name: str) -> dict[str, Any]:
        """Return the task `domain/stem`, unchanged from its file.

        Raises:
            UnknownTaskError: The file does not exist.
            BadTaskError: The file is not a task.
        """
        path = self.folder / f"{name}.json"
        if not _NAME.fullmatch(name) or ".." in name or not path.is_file():
            raise UnknownTaskError("waa", name, difflib.get_close_matches(name, self.names(), 3))
        return read_task_file(path)


def read_task_file(path: Path) -> dict[str, Any]:
    """Return the task in a file, unchanged.

    Raises:
        BadTaskError: The file is not a task.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise BadTaskError(f"{path} has more than {_MAX_BYTES} bytes, which no task has")
    try:
        task = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadTaskError(f"{path} is not JSON: {error}") from error
    if not isinstance(task, dict):
        raise BadTaskError(f"{path} holds {type(task).__name__}, not an object")
    return task


def check_task(task: Mapping[str, Any]) -> None:
    """Refuse a task that could reach outside the folder it is evaluated in.

    Errors that vanilla itself would raise (a missing `id` or `evaluator`, unknown names) pass: reporting
    them is up to the evaluator.

    Raises:
        BadTaskError: Names the field and its value.
    """
    _check_name("id", task.get("id"))
    evaluator = task.get("evaluator")
    if isinstance(evaluator, dict):
        for key in ("result", "expected"):
            _check_getters(f"evaluator.{key}", evaluator.get(key))
        _check_steps("evaluator.postconfig", evaluator.get("postconfig"))
    _check_steps("config", task.get("config"))


def _check_getters(where: str, value: object) -> None:
    for getter in value if isinstance(value, list) else [value]:
        if isinstance(getter, dict):
            _check_names(f"{where}.dest", getter.get("dest"))
            if getter.get("type") == "cache_file":
                _check_names(f"{where}.path", getter.get("path"))


def _check_steps(where: str, value: object) -> None:
    for step in value if isinstance(value, list) else []:
        parameters = step.get("parameters") if isinstance(step, dict) else None
        if isinstance(parameters, dict):
            for key in ("stdout", "stderr"):
                _check_name(f"{where}.{key}", parameters.get(key))


def _check_names(where: str, value: object) -> None:
    for each in value if isinstance(value, list) else [value]:
        _check_name(where, each)


def _check_name(where: str, value: object) -> None:
    """Refuse anything but the name of one entry of a folder, on any system."""
    if not isinstance(value, str) or value == "":
        return  # absent, or a type on which vanilla itself fails
    if value in (".", "..") or any(each in value for each in "/\\\0") or value[1:2] == ":":
        raise BadTaskError(
            f"{where} is {value[:200]!r}: it names a file of the evaluation's own folder and must "
            f"not contain a path"
        )
