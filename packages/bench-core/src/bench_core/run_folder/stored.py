"""Folders of trials in an object store: how they get there, and how they are read from there.

::

    <url>/<run>/<task>/<trial>/<token>/
      files/...        the files of an attempt
      manifest.json    names, sizes and digests of these; written last

Everything that comes from a store is compared with its record in `results.jsonl`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from bench_core.errors import (
    EnvironmentFaultError,
    InputError,
    MissingExtraError,
    RefusedFileError,
)
from bench_core.files.atomic import folder_name
from bench_core.files.checksums import file_sha256
from bench_core.files.inside import MAX_DOCUMENT_BYTES, MAX_FILE_BYTES, file_inside, plain_files
from bench_core.files.removal import remove_folder
from bench_core.files.temporary import owned_folder
from bench_core.records import ArtifactFile, StoredFolder, TrialResult
from bench_core.run_folder.view import RunView, trial_path

_TOWER = "bench_core.objects"
_URL = re.compile(r"s3://[a-z0-9][a-z0-9.-]*(/[A-Za-z0-9_=+%~-][A-Za-z0-9_=+%~.-]*)*/?")
_FILES, _MANIFEST = "files", "manifest.json"
_PROBES = "probes"
_READABLE = "PROCTOR_ARTIFACTS"
_MOST_MANIFEST = 16 << 20


class _Objects(Protocol):
    """See `bench_core.objects.folder.ObjectFolder`."""

    def write(self, name: str, data: bytes | BinaryIO) -> None: ...

    def sizes(self, below: str) -> dict[str, int]: ...

    def pieces(self, name: str, size: int) -> Iterator[bytes]: ...


def checked_url(url: str) -> str:
    """Return `s3://BUCKET/PREFIX` without a slash at its end.

    Raises:
        InputError: It is none, or there is more in it, such as a key; the message has none of it.
    """
    if _URL.fullmatch(url) is None:
        raise InputError(
            "--artifacts takes s3://BUCKET/PREFIX, of letters, digits and . _ - = + alone: keys are read "
            "from the environment and must not be in it"
        )
    return url.rstrip("/")


def attempt_url(run_url: str, task_id: str, trial: int, token: str) -> str:
    """Return the address for an attempt's files, which no other attempt shares."""
    return "/".join((run_url, *map(folder_name, (task_id, str(trial), token))))


def write_probe(run_url: str, name: str) -> None:
    """Write an object next to those of a run, to find out whether this process may.

    Raises:
        MissingExtraError: The package that writes it is not installed.
        EnvironmentFaultError: The store does not take it.
    """
    _opened(run_url).write(f"{_PROBES}/{name}", b"")


def refuse_other_store(run_url: str, probe: str) -> None:
    """Raise if this process does not see the objects that workers have written.

    Raises:
        InputError: It reads another store than they write to.
        EnvironmentFaultError: It may not read, or reaches no store.
    """
    if probe not in _opened(run_url).sizes(_PROBES):
        raise InputError(
            "what workers write to the object store is not there for this process: AWS_ENDPOINT_URL and "
            "AWS_REGION must be the same everywhere"
        )


def store_folder(folder: Path, url: str) -> StoredFolder:
    """Write all files of a folder to the store, their list last.

    Raises:
        EnvironmentFaultError: The store does not take them.
    """
    objects = _opened(url)
    files = []
    for name in plain_files(folder):
        path = folder / name
        described = {"path": name, "size": path.stat().st_size, "sha256": file_sha256(path)}
        files.append(described)
        with path.open("rb") as file:
            objects.write(f"{_FILES}/{name}", file)
    manifest = json.dumps({"files": files}).encode()
    objects.write(_MANIFEST, manifest)
    return StoredFolder(url=url, manifest_sha256=hashlib.sha256(manifest).hexdigest())


def stored_folder(url: str, claimed: object, artifacts: Iterable[ArtifactFile]) -> StoredFolder:
    """Return the files an attempt stored, if all are there.

    Args:
        url: The address where this attempt was to store them.
        claimed: The address that its worker reports.
        artifacts: The files that its result lists.

    Raises:
        EnvironmentFaultError: It is not whole, or elsewhere.
    """
    try:
        stored = StoredFolder.model_validate(claimed)
        if stored.url != url:
            raise ValueError("they are elsewhere")  # noqa: TRY301  # reported in one way
        objects = _opened(url)
        files = _files_in(_manifest(objects, stored))
        if {name: size for name, (size, _) in files.items()} != objects.sizes(_FILES):
            raise ValueError("names or sizes differ")  # noqa: TRY301  # as above
        for each in artifacts:
            if files.get(each.path) != (each.size, each.sha256):
                raise ValueError(f"{each.path} is another")  # noqa: TRY301  # as above
    except (FileNotFoundError, ValueError) as error:
        raise EnvironmentFaultError(
            f"the files of the attempt are not in the object store as a whole: {error}"
        ) from None
    return stored


@contextlib.contextmanager
def trial_files(
    run: RunView, result: TrialResult, wanted: Callable[[ArtifactFile], bool] | None = None
) -> Iterator[Path]:
    """Provide a trial's folder: its own or, during the block, a copy of its files in an object store.

    The run folder is not written to. Files missing in the store are missing in the copy.

    Args:
        run: The run.
        result: The trial's last result, or an earlier one.
        wanted: The files of the trial to read; all by default.

    Raises:
        RefusedFileError: A file was changed after the trial, or is too large.
        EnvironmentFaultError: The store cannot be read.
        MissingExtraError: The package that reads it is not installed.
    """
    folder = run.trial_folder(result.key)
    files = [each for each in result.artifacts if wanted is None or wanted(each)]
    if result.stored is None or all(file_inside(folder, each.path) for each in files):
        yield folder
        return
    place = owned_folder("proctor")
    try:
        copy = trial_path(place, result.key)  # recordings name their trial by these parts
        copy.mkdir(parents=True)
        _refuse_larger_than_disk(copy, files)
        source = _Source(result.stored)
        for each in files:
            with contextlib.suppress(FileNotFoundError):
                _copy(source, each, copy / each.path)
        yield copy
    finally:
        remove_folder(place)


def read_stored(stored: StoredFolder, file: ArtifactFile) -> bytes:
    """Return the content of a file in the store.

    Raises:
        FileNotFoundError: It is missing.
        RefusedFileError: As for `trial_files`, or it holds more than a document may.
        EnvironmentFaultError: The store cannot be read.
    """
    return b"".join(_Source(stored).pieces(file, most=MAX_DOCUMENT_BYTES))


def changed_objects(stored: StoredFolder, artifacts: Iterable[ArtifactFile]) -> Iterator[str]:
    """Yield the changes to the trial's files in the store; all of them are read.

    Raises:
        EnvironmentFaultError: The store cannot be read.
    """
    try:
        source = _Source(stored)
    except RefusedFileError as refused:
        yield str(refused)
        return
    try:
        _manifest(source.objects, stored)
    except (FileNotFoundError, ValueError):
        yield f"{_MANIFEST} in {stored.url} is missing or is not what the trial left"
    yield from filter(None, (_problem_of(source, each) for each in dict.fromkeys(artifacts)))


def _opened(url: str) -> _Objects:
    try:
        objects: _Objects = importlib.import_module(_TOWER).opened(url)
    except ImportError as error:
        raise MissingExtraError(
            "an object store", str(error.name), "bench-core", "objects"
        ) from error
    return objects


def _manifest(objects: _Objects, stored: StoredFolder) -> bytes:
    data = b"".join(objects.pieces(_MANIFEST, _MOST_MANIFEST))
    if hashlib.sha256(data).hexdigest() != stored.manifest_sha256:
        raise ValueError("the manifest is another")
    return data


def _files_in(manifest: bytes) -> dict[str, tuple[int, str]]:
    try:
        return {
            each["path"]: (each["size"], each["sha256"]) for each in json.loads(manifest)["files"]
        }
    except (KeyError, TypeError, RecursionError):
        raise ValueError("the manifest is none") from None


class _Source:
    """The files of a trial in a store, which are not trusted."""

    def __init__(self, stored: StoredFolder) -> None:
        self.stored = stored
        try:
            url = checked_url(stored.url)
        except InputError:
            problem = "names a place of files that is no s3://BUCKET/PREFIX"
            raise RefusedFileError(Path("results.jsonl"), problem) from None
        # the folder may be a stranger's, and the store is asked with the reader's keys
        if not any(
            f"{url}/".startswith(f"{checked_url(each)}/")
            for each in os.environ.get(_READABLE, "").split()
        ):
            problem = f"names files in {url}, which are read only if {_READABLE} holds s3://BUCKET or a longer part of it"
            raise RefusedFileError(Path("results.jsonl"), problem)
        self.objects = _opened(url)

    def pieces(self, file: ArtifactFile, most: int = MAX_FILE_BYTES) -> Iterator[bytes]:
        """Yield a file's content; the last piece comes only if the whole is as the trial left it."""
        if file.size is None or file.size > most:
            raise RefusedFileError(
                Path(file.path), f"in {self.stored.url} is too large to be read: {file.size} bytes"
            )
        digest, done, last = hashlib.sha256(), 0, b""
        # one byte more than its stated size shows that it goes on
        for piece in self.objects.pieces(f"{_FILES}/{file.path}", file.size + 1):
            digest.update(piece)
            done += len(piece)
            yield last
            last = piece
        if done != file.size or digest.hexdigest() != file.sha256:
            raise RefusedFileError(
                Path(file.path), f"in {self.stored.url} is not what the trial left"
            )
        yield last


def _problem_of(source: _Source, file: ArtifactFile) -> str | None:
    try:
        for _ in source.pieces(file):
            pass
    except FileNotFoundError:
        return f"{file.path} in {source.stored.url} is missing"
    except RefusedFileError as refused:
        return str(refused)
    return None


def _copy(source: _Source, file: ArtifactFile, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        copy = path.open("xb")
    except (FileExistsError, NotADirectoryError):
        raise RefusedFileError(
            Path(file.path), "has the name of another file of its trial"
        ) from None
    try:
        with copy:
            for piece in source.pieces(file):
                copy.write(piece)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _refuse_larger_than_disk(folder: Path, files: Iterable[ArtifactFile]) -> None:
    needed = sum(each.size or 0 for each in files)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise RefusedFileError(
            folder, f"has no room for {needed / 2**30:,.1f} GB of an object store: set TMPDIR"
        )
