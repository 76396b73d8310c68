"""Later evaluations of a run, stored next to its first results and never over them.

::

    <run>/rescores/<id>/
      rescore.json               the settings of the later evaluation
      results.jsonl              one result per line, the last line of a trial wins
      trials/<trial>/<task>/     the files of the evaluation
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, NonNegativeInt

from bench_core.closing import Closing
from bench_core.errors import RecordError, RefusedFileError, RunFolderError, SchemaVersionError
from bench_core.files.append_log import GroupSync
from bench_core.files.atomic import folder_name, sweep_temporary_below, write_atomic
from bench_core.files.checksums import checksum_holds, file_sha256
from bench_core.files.inside import read_inside, refuse_linked, refuse_unusual
from bench_core.files.locks import lock_for_writing
from bench_core.records import Record, TrialKey, TrialResult
from bench_core.records.codec import decode, encode_document
from bench_core.redaction import Redactor
from bench_core.run_folder.checked_log import CheckedLines, CheckedLog, Seal, lacks_end
from bench_core.run_folder.jsonl import refuse_damage, set_aside_torn
from bench_core.run_folder.provenance import package_versions
from bench_core.run_folder.same_run import refuse_results_alone
from bench_core.run_folder.view import RunView, read_run, trial_path

_INFO = "rescore.json"
_RESULTS = "results.jsonl"
_CHANGES = "changes.json"


class RescoreInfo(Record):
    """`rescore.json`: the settings with which a run was evaluated again.

    Attributes:
        rescore_id: The name of this evaluation, the folder's.
        run_id: The run it is of.
        reason: Why it was done.
        profile: Which rules scored it.
        config: The options of this evaluation.
        versions: The distributions that did it.
        finished: When every trial had been evaluated; None until then.
        results: How many lines `results.jsonl` had when it was closed; `results_sha256` is their digest.
        changes_sha256: The digest of `changes.json`, which lists the differences from the first results.
    """

    schema_version: Literal[1] = 1
    rescore_id: str = Field(min_length=1)
    run_id: str
    reason: str | None = None
    profile: str = "official"
    config: dict[str, JsonValue] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    started: datetime
    finished: datetime | None = None
    results: NonNegativeInt | None = None
    results_sha256: str | None = None
    changes_sha256: str | None = None
    checksum: str | None = None


class RescoreFolder(Closing):
    """The single writer of one later evaluation; a context manager.

    Opening the same id again continues it, with the same rules only.
    """

    def __init__(
        self,
        run: Path,
        rescore_id: str,
        *,
        profile: str = "official",
        reason: str | None = None,
        config: dict[str, JsonValue] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """Open `<run>/rescores/<rescore_id>` for writing.

        Raises:
            RunFolderBusyError: Another process is writing it.
            RunFolderError: The run cannot be read, the evaluation was begun with other rules, or its
                folder holds a link.
        """
        self.run = read_run(run)
        self.path = _path(run, rescore_id)
        refuse_linked(run, self.path.relative_to(run).as_posix())
        refuse_unusual(self.path, below=True)
        self._redactor = redactor or Redactor.from_environment()
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = lock_for_writing(self.path)
        try:
            self.info = self._begin(
                RescoreInfo(
                    rescore_id=rescore_id,
                    run_id=self.run.info.run_id,
                    reason=reason,
                    profile=profile,
                    config=config or {},
                    versions=package_versions(self.run.info.versions),
                    started=datetime.now(timezone.utc),
                )
            )
        except BaseException:
            self._lock.release()
            raise
        self._sync = GroupSync()
        self._log: CheckedLog[TrialResult] = CheckedLog(
            self.path / _RESULTS, self._sync, self._redactor, self._lines.end
        )

    def append(self, result: TrialResult) -> None:
        """Add the new result of a trial."""
        if result.key not in self.run.results:
            raise RunFolderError(
                f"{self.run.path} has no trial {result.trial} of task {result.task_id!r} to rescore"
            )
        self._log.append(result)
        self._done.add(result.key)

    def remaining(self) -> list[TrialKey]:
        """Return the trials with an end state that were not evaluated again yet."""
        return [
            key
            for key, result in self.run.results.items()
            if result.status.done and key not in self._done
        ]

    def trial_folder(self, key: TrialKey) -> Path:
        """Return the folder for the files of a trial's new evaluation, made if missing."""
        folder = trial_path(self.path, key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def write_changes(self, text: bytes) -> None:
        """Write `changes.json`."""
        write_atomic(self.path / _CHANGES, text)
        digest = file_sha256(self.path / _CHANGES)
        self.info = self.info.model_copy(update={"changes_sha256": digest})

    def close(self) -> None:
        """Sync and close; finished when nothing remains."""
        try:
            lines, digest = self._log.seal()
            update: dict[str, object] = {"results": lines, "results_sha256": digest}
            if self.info.finished is None and not self.remaining():
                update["finished"] = datetime.now(timezone.utc)
            self.info = self.info.model_copy(update=update)
            self._write_info(self.info)
            self._log.close(sealed=True)
        finally:
            self._sync.close()
            self._lock.release()

    def _begin(self, info: RescoreInfo) -> RescoreInfo:
        sweep_temporary_below(self.path)
        self._lines = CheckedLines(self.path / _RESULTS, TrialResult)
        if not (self.path / _INFO).exists():
            refuse_results_alone(self.path, _INFO)
            self._done: set[TrialKey] = set()
            self._write_info(info)
            return info
        before = _read_info(self.path)
        if (before.profile, before.config) != (info.profile, info.config):
            raise RunFolderError(
                f"{self.path} was begun with the profile {before.profile!r} and other options: "
                f"use another id"
            )
        view = _read(self.path)
        if view.problems:
            raise RunFolderError(
                f"{self.path}: {view.problems[0]}; nothing goes on in it: use another id"
            )
        self._lines = view.lines
        set_aside_torn(view.lines.path, view.lines.bad)
        self._done = set(view.results)
        return before

    def _write_info(self, info: RescoreInfo) -> None:
        write_atomic(self.path / _INFO, encode_document(info, self._redactor))


class RescoreView:
    """The content of a later evaluation.

    Attributes:
        info: `rescore.json`.
        results: The last result of each trial.
        problems: The changes since it was written, a sentence each.
        lines: The findings of reading `results.jsonl`.
    """

    def __init__(
        self,
        info: RescoreInfo,
        results: dict[TrialKey, TrialResult],
        lines: CheckedLines[TrialResult],
        changed: Sequence[str],
    ) -> None:
        """Use `read_rescore` instead."""
        self.info = info
        self.results = results
        self.lines = lines
        self.problems = (*changed, *lines.changed, *lines.lost)


def read_rescore(run: Path, rescore_id: str) -> RescoreView:
    """Read a later evaluation, also while it is written.

    Raises:
        RunFolderError: There is none of that id, or it is damaged.
    """
    return _read(refuse_linked(run, _path(run, rescore_id).relative_to(run).as_posix()))


def scored_later(run: RunView) -> tuple[Path | None, int]:
    """Return the newest later evaluation of a run, and how many trials without a score it gave one.

    One that did not finish, or has changed since, is skipped, and so are its findings on
    trials that ran again since.
    """
    found = []
    for folder in (run.path / "rescores").glob("*/"):
        try:
            view = _read(refuse_linked(run.path, folder.relative_to(run.path).as_posix()))
        except (RunFolderError, RecordError):  # `check` tells of it
            continue
        if view.info.finished is not None and not view.problems:
            found.append((view.info.started, folder, view.results))
    if not found:
        return None, 0
    _, newest, results = max(found, key=lambda each: each[:2])
    scored = {key: result.started for key, result in results.items() if result.score is not None}
    gained = (
        first.score is None and key in scored and scored[key] == first.started  # not run again
        for key, first in run.results.items()
    )
    return newest, sum(gained)


def rescore_problems(run: Path) -> Iterator[str]:
    """Yield the changes to the later evaluations of a run since they were written, a sentence each."""
    for folder in sorted((run / "rescores").glob("*/")):
        name = folder.relative_to(run).as_posix()
        try:
            problems = _read(refuse_linked(run, name)).problems
        except (RunFolderError, RefusedFileError) as error:
            problems = (str(error),)
        yield from (f"{name}: {each}" for each in problems)


def _read(folder: Path) -> RescoreView:
    info = _read_info(folder)
    changed = []
    if info.checksum is not None and not checksum_holds(read_inside(folder, _INFO)):
        changed.append(f"{_INFO} was changed after it was written")
    if info.changes_sha256 is not None:
        try:
            same = info.changes_sha256 == hashlib.sha256(read_inside(folder, _CHANGES)).hexdigest()
        except FileNotFoundError:
            same = False
        if not same:
            changed.append(f"{_CHANGES} is missing, or not what the evaluation left")
    seals = []
    if info.results is not None and info.results_sha256 is not None:
        seals.append(Seal(info.results, info.results_sha256, "the evaluation"))
    written_by = info.versions.get("bench-core")
    lines = CheckedLines(folder / _RESULTS, TrialResult, seals, written_by=written_by)
    read = TrialResult.__pydantic_validator__.validate_json
    results = {result.key: result for _, _, result in lines.walk(read)}
    refuse_damage(folder, lines.bad)
    missing = lacks_end(lines.path)
    # asked again: it may have been closed while its lines were read
    if info.results is None and _read_info(folder).results is None:
        changed += missing
    return RescoreView(info, results, lines, changed)


def _path(run: Path, rescore_id: str) -> Path:
    return run / "rescores" / folder_name(rescore_id)


def _read_info(folder: Path) -> RescoreInfo:
    try:
        return decode(RescoreInfo, read_inside(folder, _INFO))
    except FileNotFoundError:
        raise RunFolderError(f"{folder} is not a later evaluation: it has no {_INFO}") from None
    except SchemaVersionError as error:
        raise error.in_file(folder / _INFO) from None
    except RecordError as error:
        raise RunFolderError(f"{folder / _INFO} is {error}") from error
