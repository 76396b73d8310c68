"""The anonymous bundle of a study for reviewers: without keys, names of machines and personal paths.

::

    bundle.json             its contents, with digests, and the kinds of things taken out
    study.yaml, sealed.json, changes.jsonl
    runs/<benchmark>/<arm>/ run folders; files of trials only if they were asked for
    report/                 the reporter's report on just these files

Whoever takes a path out of a record has to write it anew: its checksums are computed again, after the old ones
were found to hold. So a damaged run is refused, because a bundle of it would look whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import socket
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError

from bench_core.errors import InputError
from bench_core.files.append_log import GroupSync
from bench_core.files.atomic import open_atomic
from bench_core.files.checksums import file_sha256
from bench_core.files.inside import file_inside, plain_files, read_inside
from bench_core.records import ArtifactFile, Event, Record, RunInfo, TrialResult
from bench_core.redaction import MARKER, Redactor
from bench_core.run_folder.checked_log import CheckedLog, FileEnd, unsealed
from bench_core.run_folder.folder import write_info
from bench_core.run_folder.jsonl import walk_lines
from bench_core.run_folder.maintenance import check_run
from bench_core.run_folder.provenance import package_versions
from bench_core.run_folder.stored import trial_files
from bench_core.run_folder.view import read_run, trial_path
from bench_core.studies.declaration import (
    CHANGES,
    SEALED,
    STUDY_FILE,
    begun_runs,
    read_changes,
    read_sealed,
    run_folder,
)

__all__ = ["BUNDLE", "REPORT", "RUNS", "Bundle", "arm_folders", "unpack_bundle", "write_bundle"]

BUNDLE = "bundle.json"
REPORT = "report"
RUNS = "runs"
_DATE = (1980, 1, 1, 0, 0, 0)
"""Of each member, so that the same study gives the same bundle."""
_MOST_FILES = 2_000_000
_MOST_BYTES = 256 << 30
_MOST_RATIO = 1000
"""Text that repeats itself packs to a thousandth; a member that packs smaller only serves to fill a disk."""
_RATIO_FROM = 16 << 20
_PIECE = 1 << 20
_LEAST_WORD = 4
_TAKEN_OUT = "REDACTED"
_NOBODY = frozenset(
    {"root", "user", "users", "ubuntu", "admin", "runner", "docker", "shared", "public"}
)
"""Names of accounts that belong to everyone; `/root/` is also a group of a GitLab."""
_HOME = re.compile(r"((?:/home|/Users)/|[A-Za-z]:\\+Users\\+)([^/\\\s\"':]+)")
_HOST = re.compile(r"(?=.*[-.\d]).{6,}")
"""A machine's name that cannot be a word of ordinary text, as `machine` can."""
_ABSOLUTE = re.compile(r"(?:(?<![^=,\s])|^)(?:[A-Za-z]:)?[\\/](?:[^\\/=,\s]+[\\/]+)+(?=[^\\/\s]|$)")
"""Folders of an absolute path in an argument: all before its last part."""

R = TypeVar("R", Event, TrialResult)


class Bundle(Record):
    """`bundle.json`: the contents of a bundle.

    Attributes:
        study: The study's name.
        evidence: Whether the files of trials are in it, by which they can be scored again.
        versions: The distributions that made it.
        files: The other members and their SHA-256.
        anonymised: Files from which something was taken, with the SHA-256 that they had.
        removed: The kinds of values taken out of every bundle.
    """

    schema_version: Literal[1] = 1
    study: str
    evidence: bool = False
    versions: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    anonymised: dict[str, str] = Field(default_factory=dict)
    removed: tuple[str, ...] = (
        "keys", "names of hosts and accounts", "personal paths", "commits", "process numbers"
    )  # fmt: skip


def arm_folders(study: Path) -> Iterator[tuple[str, str, Path]]:
    """Yield benchmark, arm and run folder of each run of a study that was begun, by name.

    Raises:
        InputError: The folder has no runs.
    """
    found = begun_runs(study)
    if not found:
        raise InputError(f"{study} has no runs yet: `bench-core study run {study}` begins them")
    for name in found:
        yield *name, run_folder(study, name)


def write_bundle(study: Path, into: Path, *, evidence: bool, words: Sequence[str] = ()) -> Bundle:
    """Write the anonymous copy of a study into the empty folder `into`, without its report.

    Args:
        study: The study's folder.
        into: Gets the copy; `pack_bundle` makes one file of it.
        evidence: Copy the files that trials left, too.
        words: Further texts to take out, such as the name of a laboratory.

    Raises:
        InputError: Runs are missing, a word is too short, or a run is not as written or goes on.
    """
    for word in words:
        if len(word) < _LEAST_WORD:
            raise InputError(
                f"--remove {word!r} has fewer than {_LEAST_WORD} characters and would be taken out of other "
                f"words: give a longer one"
            )
    arms = list(arm_folders(study))
    if read_sealed(study) is not None:
        read_changes(study)  # both are refused here if they cannot be read
    infos = [_finished(path) for _, _, path in arms]
    clean = _Anonymiser.of(study, infos, words)
    for benchmark, arm, path in arms:
        copy = into / RUNS / clean.plain(benchmark) / clean.plain(arm)
        _copy_run(path, copy, clean, evidence=evidence)
        clean.digests[file_sha256(path / "run.json")] = file_sha256(copy / "run.json")
    anonymised = {}
    for name, anonymous in (
        (STUDY_FILE, _anonymous_file),
        (SEALED, _anonymous_seal),
        (CHANGES, _anonymous_changes),
    ):
        if not file_inside(study, name):
            continue
        data = read_inside(study, name)
        kept = anonymous(data, clean)
        (into / name).write_bytes(kept)
        if kept != data:
            anonymised[name] = hashlib.sha256(data).hexdigest()
    return Bundle(
        study=clean.text(study.resolve().name),
        evidence=evidence,
        versions=package_versions(),
        anonymised=anonymised,
    )


def _anonymous_file(data: bytes, clean: _Anonymiser) -> bytes:
    """Return the bytes of a study's file; which digest they now have is noted."""
    kept = clean.plain(data.decode()).encode()
    clean.digests[hashlib.sha256(data).hexdigest()] = hashlib.sha256(kept).hexdigest()
    return kept


def _anonymous_seal(data: bytes, clean: _Anonymiser) -> bytes:
    """Return a declaration with the digests of the copies; one that did not fit before does not fit now either."""
    sealed: dict[str, Any] = json.loads(data)
    before = sealed["sha256"]
    sealed = clean.json(sealed)
    if sealed["sha256"] != before:
        sealed["declared_sha256"] = before
    kept = json.dumps(sealed, ensure_ascii=False, indent=2).replace(MARKER, _TAKEN_OUT).encode()
    clean.digests[hashlib.sha256(data).hexdigest()] = hashlib.sha256(kept).hexdigest()
    return kept


def _anonymous_changes(data: bytes, clean: _Anonymiser) -> bytes:
    """Return the lines that tell of changes, each with the digest of the copy of the one before."""
    lines = []
    for line in data.splitlines():
        change: dict[str, Any] = json.loads(line)
        source = _anonymous_file(change.pop("source").encode(), clean).decode()
        change = {**clean.json(change), "source": source}
        kept = json.dumps(change, ensure_ascii=False).replace(MARKER, _TAKEN_OUT).encode()
        clean.digests[hashlib.sha256(line).hexdigest()] = hashlib.sha256(kept).hexdigest()
        lines.append(kept + b"\n")
    return b"".join(lines)


def _finished(path: Path) -> RunInfo:
    """Return `run.json` of a run that ended in order and is as it was written."""
    check = check_run(path)
    if check.problems:
        raise InputError(
            f"{path} is not as it was written, and its copy would look as if it were: {check.problems[0]}"
        )
    info = read_run(path).info
    if not info.sessions or info.sessions[-1].outcome == "running":
        raise InputError(
            f"{path} is still being written, or its process was killed: wait for it, or run the study once "
            f"more, which ends it in order"
        )
    return info


class _Anonymiser:
    """Takes known personal values out of text; except from evidence, folders of accounts, too.

    Attributes:
        digests: Of rewritten files, as they were and as they are now.
    """

    def __init__(self, values: Iterable[str]) -> None:
        self.digests: dict[str, str] = {}
        self.redactor = Redactor.from_environment().knowing(values)

    @classmethod
    def of(cls, study: Path, infos: Sequence[RunInfo], words: Sequence[str]) -> _Anonymiser:
        """Know this machine, those that the runs were made on, and the folders that they name."""
        texts = [str(Path.home()), str(Path.cwd()), str(study.resolve())]

        def noted(text: str) -> str:
            texts.append(text)
            return text

        for info in infos:
            _changed(info.model_dump(mode="json"), noted)
        homes = {
            found.group() for text in texts for found in _HOME.finditer(text) if _names(found[2])
        }
        folders = {
            each for each in (str(study.resolve()), str(Path.cwd()), sys.prefix) if _deep(each)
        }
        hosts = {socket.gethostname(), *(info.host or "" for info in infos)}
        hosts |= {session.host or "" for info in infos for session in info.sessions}
        return cls([
            *words, *folders, *homes, *(each for each in hosts if _HOST.search(each) and _names(each))
        ])  # fmt: skip

    def text(self, text: str) -> str:
        """Return text of a record or a file of the study."""
        text = _HOME.sub(
            lambda found: found[1] + (found[2] if not _names(found[2]) else "anonymous"), text
        )
        return self.redactor.redact(text)

    def plain(self, text: str) -> str:
        """Return text in which brackets would mean something: a list in YAML, a pattern in the name of a folder."""
        return self.text(text).replace(MARKER, _TAKEN_OUT)

    def json(self, value: Any) -> Any:
        """Return JSON of a record."""
        return _changed(value, lambda text: self.digests.get(text) or self.text(text))

    def evidence(self, data: bytes) -> bytes:
        """Return a trial's file without known values; files other than text, such as pictures, unchanged."""
        packed = data[:2] == b"\x1f\x8b"
        try:
            text = (gzip.decompress(data) if packed else data).decode()
        except (OSError, EOFError, UnicodeDecodeError):
            return data
        kept = self.redactor.redact(text, evidence=True)
        if kept == text:
            return data
        return gzip.compress(kept.encode(), mtime=0) if packed else kept.encode()


def _names(account: str) -> bool:
    """Whether the name of an account or a machine may tell who it is."""
    return account.lower() not in _NOBODY | {"localhost"}


def _deep(path: str) -> bool:
    """Whether a folder is more than one that each machine has."""
    return len(Path(path).parts) > 2 and _names(Path(path).name)  # the root and one folder


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON with each of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_changed(each, change) for each in value]
    if isinstance(value, dict):
        return {name: _changed(each, change) for name, each in value.items()}
    return value


def _shortened(text: str) -> str:
    """Return a setting in which only the last part of an absolute path is left."""
    return text if "://" in text else _ABSOLUTE.sub("", text)


def _copy_run(source: Path, target: Path, clean: _Anonymiser, *, evidence: bool) -> None:
    """Copy a run folder without personal values, its checksums computed again."""
    run, sync = read_run(source), GroupSync()
    target.mkdir(parents=True)
    left: dict[str, tuple[int, str]] = {}
    try:
        for name, records in (
            ("results.jsonl", _results(run, target, clean, evidence=evidence)),
            ("events.jsonl", _clean_lines(source / "events.jsonl", Event, clean)),
        ):
            log: CheckedLog[Any] = CheckedLog(target / name, sync, clean.redactor, FileEnd())
            for each in records:
                log.append(each)
            left[name] = log.seal()
            log.close(sealed=True)
    finally:
        sync.close()
    tasks = clean.text((source / "tasks.jsonl").read_text("utf-8"))
    (target / "tasks.jsonl").write_bytes(tasks.encode())
    write_info(target, _anonymous_info(run.info, left, target, clean), clean.redactor)


def _anonymous_info(
    info: RunInfo, left: Mapping[str, tuple[int, str]], target: Path, clean: _Anonymiser
) -> RunInfo:
    unnamed = {"git": None, "host": None}
    sessions = [
        each.model_copy(
            update=unnamed | {"pid": None, "command": tuple(map(_shortened, each.command))}
        )
        for each in unsealed(info, left).sessions
    ]
    (results, results_sha256), (events, events_sha256) = left["results.jsonl"], left["events.jsonl"]
    last = {
        "results": results, "results_sha256": results_sha256,
        "events": events, "events_sha256": events_sha256,
    }  # fmt: skip
    sessions[-1] = sessions[-1].model_copy(update=last)
    code = info.agent_code and info.agent_code.model_copy(update={"git": None})
    anonymous = info.model_copy(
        update=unnamed
        | {
            "sessions": tuple(sessions),
            "agent_code": code,
            "config": _changed(info.config, _shortened),
            "tasks_sha256": file_sha256(target / "tasks.jsonl"),
        }
    )
    return RunInfo.model_validate(clean.json(anonymous.model_dump(mode="json")))


def _clean_lines(path: Path, model: type[R], clean: _Anonymiser) -> Iterator[R]:
    read = model.__pydantic_validator__.validate_json
    for _, _, record in walk_lines(path, model, read, []):
        yield model.model_validate(clean.json(record.model_dump(mode="json")))


def _results(
    run: Any, target: Path, clean: _Anonymiser, *, evidence: bool
) -> Iterator[TrialResult]:
    for result in _clean_lines(run.path / "results.jsonl", TrialResult, clean):
        last = run.results.get(result.key)
        files: tuple[ArtifactFile, ...] = ()
        if evidence and last is not None and last.sequence == result.sequence:
            files = tuple(_copy_files(run, last, trial_path(target, result.key), clean))
        code = result.agent_code and result.agent_code.model_copy(update={"git": None})
        yield result.model_copy(
            update={"artifacts": files, "stored": None, "agent_code": code, "machine": None}
        )


def _copy_files(
    run: Any, result: TrialResult, target: Path, clean: _Anonymiser
) -> Iterator[ArtifactFile]:
    with trial_files(run, result) as folder:
        for each in result.artifacts:
            data = clean.evidence(read_inside(folder, each.path))
            place = target / each.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            yield ArtifactFile(
                path=each.path, size=len(data), sha256=hashlib.sha256(data).hexdigest()
            )


def pack_bundle(folder: Path, bundle: Bundle, out: Path) -> Bundle:
    """Make one file of a bundle's folder, the same for the same files, and return its `bundle.json`."""
    names = sorted(plain_files(folder))
    bundle = bundle.model_copy(update={"files": {n: file_sha256(folder / n) for n in names}})
    (folder / BUNDLE).write_text(bundle.model_dump_json(indent=1) + "\n", encoding="utf-8")
    with open_atomic(out) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (BUNDLE, *names):
            member = zipfile.ZipInfo(name, _DATE)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with (
                (folder / name).open("rb") as content,
                archive.open(member, "w", force_zip64=True) as to,
            ):
                while piece := content.read(_PIECE):
                    to.write(piece)
    return bundle


def unpack_bundle(path: Path, into: Path) -> tuple[Bundle, list[str]]:
    """Unpack a bundle into the empty folder `into`; return its `bundle.json`, and the deviations from it.

    Raises:
        InputError: It is not a bundle, or has a member that no bundle has: a link, a name that
            leads out of the folder or is there twice, or one that would fill the disk.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _checked_members(path, archive)
            for member in members:
                _unpack(archive, member, into / member.filename)
    except (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError) as error:
        if isinstance(error, FileExistsError | IsADirectoryError | NotADirectoryError):
            raise InputError(
                f"{path}: its members have one name for a file and a folder, which no export writes; "
                f"nothing was scored"
            ) from None
        if isinstance(error, OSError) and error.filename not in {None, str(path)}:
            raise
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"{path} is not a whole bundle ({reason}): take the file that `bench-core study export` wrote"
        ) from None
    try:
        bundle = Bundle.model_validate_json(read_inside(into, BUNDLE))
    except FileNotFoundError:
        raise InputError(
            f"{path} has no {BUNDLE}: take the file that `bench-core study export` wrote"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "its text"
        raise InputError(f"{path}: {BUNDLE} is not readable at {where}: {first['msg']}") from None
    found = {each.filename for each in members} - {BUNDLE}
    problems = [f"{name} is missing" for name in sorted(bundle.files.keys() - found)]
    problems += [
        f"{name} was added after the export" for name in sorted(found - bundle.files.keys())
    ]
    problems += [
        f"{name} was changed after the export: {BUNDLE} has another digest of it"
        for name in sorted(found & bundle.files.keys())
        if file_sha256(into / name) != bundle.files[name]
    ]
    return bundle, problems


def _checked_members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    members = archive.infolist()
    seen: set[str] = set()
    if len(members) > _MOST_FILES or sum(each.file_size for each in members) > _MOST_BYTES:
        raise InputError(f"{path} holds more than a bundle does: {len(members):,} files")
    for each in members:
        name = each.filename
        if problem := _refused(each, seen):
            shown = name if len(name) < 200 else f"{name[:200]}..."  # as long as a line
            raise InputError(
                f"{path}: its member {shown!r} {problem}, which no export writes; nothing was scored"
            )
        seen.add(name.casefold())
    return members


def _refused(member: zipfile.ZipInfo, seen: set[str]) -> str | None:
    """Return why a member is refused; None if it is a plain file below the folder."""
    name, kind = member.filename, (member.external_attr >> 16) & 0o170000
    parts = PurePosixPath(name)
    # zipfile cuts a name at a NUL, and Windows finds drives and folders in names without `/`
    if member.orig_filename != name or "\\" in name or PureWindowsPath(name).drive:
        return "has a name of another system"
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or str(parts) != name:
        return "has a name that leads out of the folder, or is none"
    # Unix keeps the kind of a file in these bits; zip files of other systems have none there
    if kind not in {0, 0o100000} or name.endswith("/"):
        return "is a link or another kind of file"
    # disks of macOS and Windows take names that differ in case for one file
    if name.casefold() in seen:
        return "is there twice"
    if member.file_size > _RATIO_FROM and member.file_size > _MOST_RATIO * max(
        1, member.compress_size
    ):
        return f"would be {member.file_size >> 20:,} MB of hardly any content"
    return None


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    left = member.file_size
    with archive.open(member) as packed, target.open("xb") as file:
        while piece := packed.read(_PIECE):
            left -= len(piece)
            if left < 0:  # it says to be smaller
                raise zipfile.BadZipFile(f"{member.filename} is larger than it says")
            file.write(piece)
    os.chmod(target, 0o644)  # noqa: PTH101  # of a path that was just made
