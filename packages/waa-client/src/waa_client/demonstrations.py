"""Demonstrations: texts on how a task was done once, given to the agent before it starts.

A single file is for every task; in a folder, a task's file is the one named after it: `<domain>/<stem>.txt`,
`<domain>_<stem>.txt` or `<stem>.txt`, also with only the beginning of the stem, as in
`notepad_366de66e.txt`. The demonstration is recorded with the trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from bench_core.errors import InputError
from bench_core.records import Record, Task

_KINDS = frozenset({".txt", ".md", ".json"})
_MOST_CHARACTERS = 100_000
_SHORTEST = 6  # shorter beginnings could name several tasks


class Demonstration(Record):
    """A demonstration for a task."""

    source: str
    sha256: str
    text: str

    @property
    def named(self) -> dict[str, str]:
        """Its name and digest, as a result records them."""
        return {"source": self.source, "sha256": self.sha256}


class Demonstrations:
    """The demonstrations of a file or folder.

    Raises:
        InputError: The file or folder has none, or one is not text.
    """

    def __init__(self, place: Path | str) -> None:
        path = Path(place)
        if not path.exists():
            raise InputError(f"there is no demonstration {path}")
        self._single = _read(path, path.name) if path.is_file() else None
        self._by_name = {} if self._single else dict(_folder(path))
        if not self._single and not self._by_name:
            raise InputError(f"{path} has no demonstrations: name them <domain>/<id>.txt")

    def find(self, task: Task) -> Demonstration | None:
        """Return the demonstration of `task`: the one file, or the file that names it most exactly."""
        if self._single is not None:
            return self._single
        domain, _, stem = task.task_id.casefold().partition("/")
        exact = [f"{domain}/{stem}", f"{domain}_{stem}", stem]
        for name in exact:
            if name in self._by_name:
                return self._by_name[name]
        starts = [
            name for name in self._by_name
            if any(full.startswith(name) and len(name) - (len(full) - len(stem)) >= _SHORTEST
                   for full in exact)
        ]  # fmt: skip
        return self._by_name[max(starts, key=len)] if starts else None

    @property
    def sha256(self) -> str:
        """One digest of all demonstrations, which distinguishes runs with different ones."""
        found = [self._single] if self._single else sorted(self._by_name.values(), key=_digest)
        joined = "\n".join(_digest(each) for each in found)
        return hashlib.sha256(joined.encode()).hexdigest()


def _digest(demonstration: Demonstration) -> str:
    return demonstration.sha256


def _folder(path: Path) -> Iterator[tuple[str, Demonstration]]:
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.suffix in _KINDS:
            source = file.relative_to(path).as_posix()
            yield source.removesuffix(file.suffix).casefold(), _read(file, source)


def _read(path: Path, source: str) -> Demonstration:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"the demonstration {path} is not UTF-8 text: {error.reason}") from error
    if not text:
        raise InputError(f"the demonstration {path} is empty")
    if len(text) > _MOST_CHARACTERS:
        raise InputError(f"the demonstration {path} has more than {_MOST_CHARACTERS} characters")
    return Demonstration(source=source, sha256=hashlib.sha256(text.encode()).hexdigest(), text=text)
