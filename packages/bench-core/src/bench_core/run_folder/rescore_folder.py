"""Later evaluations of a run, stored beside its first results and never over them.

::

    <run>/rescores/<id>/
      rescore.json               with what the trials were evaluated again
      results.jsonl              one result per line, the last line of a trial wins
      trials/<trial>/<task>/     what the evaluation left
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue

from bench_core.closing import Closing
from bench_core.errors import RecordError, RunFolderError, SchemaVersionError
from bench_core.files.append_log import AppendLog, GroupSync
from bench_core.files.atomic import folder_name, sweep_temporary_below, write_atomic
from bench_core.files.inside import read_inside, refuse_linked, refuse_unusual
from bench_core.files.locks import lock_for_writing
from bench_core.records import Record, TrialKey, TrialResult
from bench_core.records.codec import IDENTITY, decode, encode_sealed
from bench_core.redaction import Redactor
from bench_core.run_folder.jsonl import read_lines, set_aside_torn
from bench_core.run_folder.provenance import package_versions
from bench_core.run_folder.view import read_run, trial_path

if TYPE_CHECKING:
    from pathlib import Path


_INFO = "rescore.json"
_RESULTS = "results.jsonl"


class RescoreInfo(Record):
    """`rescore.json`: with what a run was evaluated again.

    Attributes:
        rescore_id: The name of this evaluation, the folder's.
        run_id: The run it is of.
        reason: Why it was done.
        profile: Which rules scored it.
        config: The options of this evaluation.
        versions: The distributions that did it.
        finished: When every trial had been evaluated; None until then.
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


class RescoreFolder(Closing):
    """The single writer of one later evaluation; a context manager.

    Opening the same id again goes on where it stopped, with the same rules only.
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
        self._log = AppendLog(self.path / _RESULTS, self._sync)

    def append(self, result: TrialResult) -> None:
        """Add the new result of a trial."""
        if result.key not in self.run.results:
            raise RunFolderError(
                f"{self.run.path} has no trial {result.trial} of task {result.task_id!r} to rescore"
            )
        numbered = result.model_copy(update={"sequence": self._lines + 1})
        self._log.append(encode_sealed(numbered, self._redactor))
        self._lines += 1
        self._done.add(result.key)

    def remaining(self) -> list[TrialKey]:
        """Return the trials with an end state that were not evaluated again yet."""
        return [
            key
            for key, result in self.run.results.items()
            if result.status.done and key not in self._done
        ]

    def trial_folder(self, key: TrialKey) -> Path:
        """Return the folder for what the new evaluation of a trial leaves, made when missing."""
        folder = trial_path(self.path, key)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        """Sync and close; finished when nothing remains."""
        try:
            self._log.close()
            if self.info.finished is None and not self.remaining():
                finished = datetime.now(timezone.utc)
                self.info = self.info.model_copy(update={"finished": finished})
                self._write_info(self.info)
        finally:
            self._sync.close()
            self._lock.release()

    def _begin(self, info: RescoreInfo) -> RescoreInfo:
        sweep_temporary_below(self.path)
        self._lines = 0
        if not (self.path / _INFO).exists():
            self._done: set[TrialKey] = set()
            self._write_info(info)
            return info
        before = _read_info(self.path)
        if (before.profile, before.config) != (info.profile, info.config):
            raise RunFolderError(
                f"{self.path} was begun with the profile {before.profile!r} and other options: "
                f"use another id"
            )
        lines = read_lines(self.path / _RESULTS, TrialResult)
        lines.refuse_damage(self.path)
        set_aside_torn(lines.path, lines.bad)
        self._done = {result.key for result in lines.records}
        self._lines = len(lines.records)
        return before

    def _write_info(self, info: RescoreInfo) -> None:
        text = self._redactor.redact_line(info.model_dump_json(indent=2), keep=IDENTITY)
        write_atomic(self.path / _INFO, f"{text}\n".encode())


class RescoreView:
    """What a later evaluation holds: `info`, and the last result of each trial."""

    def __init__(self, info: RescoreInfo, results: dict[TrialKey, TrialResult]) -> None:
        self.info = info
        self.results = results


def read_rescore(run: Path, rescore_id: str) -> RescoreView:
    """Read a later evaluation, also while it is written.

    Raises:
        RunFolderError: There is none of that id, or it is damaged.
    """
    folder = refuse_linked(run, _path(run, rescore_id).relative_to(run).as_posix())
    info = _read_info(folder)
    lines = read_lines(folder / _RESULTS, TrialResult, written_by=info.versions.get("bench-core"))
    lines.refuse_damage(folder)
    return RescoreView(info, {result.key: result for result in lines.records})


def _path(run: Path, rescore_id: str) -> Path:
    return run / "rescores" / folder_name(rescore_id)


def _read_info(folder: Path) -> RescoreInfo:
    try:
        return decode(RescoreInfo, read_inside(folder, _INFO))
    except FileNotFoundError:
        raise RunFolderError(f"{folder} is no later evaluation: it has no {_INFO}") from None
    except SchemaVersionError as error:
        raise error.in_file(folder / _INFO) from None
    except RecordError as error:
        raise RunFolderError(f"{folder / _INFO} is {error}") from error
