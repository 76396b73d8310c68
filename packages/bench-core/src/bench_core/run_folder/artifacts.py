"""Write and read the files of a trial's folder, with keys removed on the way."""

from __future__ import annotations

import gzip
import json
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench_core.errors import InputError, RecordError, RefusedFileError
from bench_core.files.atomic import is_temporary, write_atomic
from bench_core.files.checksums import open_sha256
from bench_core.files.inside import open_inside, plain_files, read_inside
from bench_core.records import Artifact, ArtifactFile, Step, StepView
from bench_core.records.codec import encode
from bench_core.redaction import Redactor

FINISH_STATE = "finish_state.json.gz"
"""The end state of the environment."""
TRAJECTORY = "trajectory.jsonl"
"""One `Step` per line."""
OBSERVATIONS = "observations.jsonl"
"""One `StepView` per line."""

DIGESTS_S = 120.0
"""Most seconds that the digests of one trial's files may take."""

_ARTIFACT = TypeAdapter(Artifact)


class TrialArtifacts:
    """Writes a trial's files, each entirely or not at all, and remembers their names.

    Text passes the redactor. *Evidence* is the input of scoring (HAR, states, the agent's
    response): it loses the values of known keys only, never text that merely looks like a key.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     artifacts = TrialArtifacts(Path(folder))
        ...     name = artifacts.write_state({"cart": [1, 2]})
        ...     print(name, read_json(Path(folder) / name), artifacts.names)
        finish_state.json.gz {'cart': [1, 2]} ('finish_state.json.gz',)
    """

    def __init__(self, folder: Path, redactor: Redactor | None = None) -> None:
        self.folder = folder
        self.redactor = redactor or Redactor.from_environment()
        self._names: dict[str, None] = {}

    @property
    def names(self) -> tuple[Artifact, ...]:
        """The written files, for `TrialResult.artifacts`."""
        return tuple(self._names)

    def path(self, name: str) -> Path:
        """Return the path of the artifact `name`, its folder made, for others to write to.

        Raises:
            InputError: The name is absolute or climbs out of the trial's folder.
        """
        path = self.folder / checked_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def add(self, name: str) -> Artifact:
        """Remember a file that other code wrote to `path(name)`."""
        self._names[checked_name(name)] = None
        return name

    def write_bytes(self, name: str, data: bytes) -> Artifact:
        """Write `data`, a picture say, as it is."""
        write_atomic(self.path(name), data)
        return self.add(name)

    def write_text(self, name: str, text: str, *, evidence: bool = False) -> Artifact:
        """Write `text` without secrets."""
        clean = self.redactor.redact(text, evidence=evidence)
        # Texts of agents and sites can hold half a surrogate pair, which UTF-8 cannot encode.
        return self.write_bytes(name, clean.encode("utf-8", "backslashreplace"))

    def write_json(self, name: str, value: Any, *, evidence: bool = False) -> Artifact:
        """Write the JSON `value` without secrets, compressed when the name ends in `.gz`."""
        clean = self.redactor.redact_json(value, evidence=evidence)
        if name.endswith(".gz"):
            text = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
            # no time in the header: the same state makes the same file
            data = gzip.compress(text.encode("utf-8", "backslashreplace"), mtime=0)
        else:
            text = json.dumps(clean, ensure_ascii=False, indent=2)
            data = f"{text}\n".encode("utf-8", "backslashreplace")
        return self.write_bytes(name, data)

    def write_state(self, state: Any, name: str = FINISH_STATE) -> Artifact:
        """Write an end state, compressed, as evidence."""
        return self.write_json(name, state, evidence=True)

    def append_step(self, step: Step) -> Artifact:
        """Add one line to `trajectory.jsonl`."""
        # Unbuffered: a trial whose process is killed keeps the steps it has done.
        with self.path(TRAJECTORY).open("ab", buffering=0) as file:
            file.write(encode(step, self.redactor) + b"\n")
        return self.add(TRAJECTORY)

    def append_view(self, view: StepView) -> Artifact:
        """Add one line to `observations.jsonl`."""
        with self.path(OBSERVATIONS).open("ab", buffering=0) as file:
            file.write(encode(view, self.redactor) + b"\n")
        return self.add(OBSERVATIONS)


def list_artifacts(folder: Path) -> tuple[Artifact, ...]:
    """Return the names of all plain files below a trial's folder, sorted.

    Left out are unfinished files, links, pipes and devices, and names that no record can
    have.
    """
    return tuple(filter(_is_artifact, plain_files(folder)))


def _is_artifact(name: str) -> bool:
    try:
        name.encode()
        checked_name(name)
    except (UnicodeEncodeError, InputError):
        return False
    return not is_temporary(name.rpartition("/")[2])


def describe_artifacts(folder: Path, *, within_s: float = DIGESTS_S) -> tuple[ArtifactFile, ...]:
    """Return all files below a trial's folder with their sizes and digests, sorted by name.

    Files that no reader would open are left out. Those that cannot be read within the time have no digest.
    """
    until = time.monotonic() + within_s
    described = []
    for name in list_artifacts(folder):
        try:
            with open_inside(folder, name) as file:
                digest = None if time.monotonic() > until else open_sha256(file)
                # of a file that grows, only its stated length has that digest
                size = os.fstat(file.fileno()).st_size if digest is None else file.tell()
        except OSError:  # refused, or gone meanwhile
            continue
        described.append(ArtifactFile(path=name, size=size, sha256=digest))
    return tuple(described)


def changed_artifacts(folder: Path, artifacts: Iterable[ArtifactFile]) -> Iterator[str]:
    """Yield each of a trial's `artifacts` that has changed since, as `NAME is ...`."""
    for each in dict.fromkeys(artifacts):  # a stranger's list may name one file thousands of times
        if problem := _change_of(folder, each):
            yield f"{each.path} {problem}: restore it from a copy"


def _change_of(folder: Path, described: ArtifactFile) -> str | None:
    try:
        with open_inside(folder, described.path) as file:
            same = described.size in {None, os.fstat(file.fileno()).st_size} and (
                described.sha256 is None or described.sha256 == open_sha256(file)
            )
            return None if same else "is not what the trial left"
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    except RefusedFileError as refused:
        return refused.problem


def read_json(path: Path) -> Any:
    """Read a JSON artifact, compressed or not.

    Raises:
        RecordError: It is not JSON, its compression is damaged, it is not a plain file, or it holds more
            than 256 MB after unpacking.
        FileNotFoundError: It is missing.
    """
    try:
        return json.loads(read_inside(path.parent, path.name, unpack=path.name.endswith(".gz")))
    except FileNotFoundError:
        raise
    # gzip raises OSError, EOFError or zlib.error, depending on where it is damaged.
    except (ValueError, RecursionError, EOFError, OSError, zlib.error) as error:
        raise RecordError(f"{path} is not readable JSON: {error}") from error


def checked_name(name: str) -> str:
    """Return `name` if it can be that of an artifact.

    Raises:
        InputError: It is absolute or leads out of the trial's folder, on any system.
    """
    try:
        return _ARTIFACT.validate_python(name)
    except ValidationError:
        raise InputError(f"{name!r} is not a relative path inside the trial's folder") from None
