"""A journal of started evaluations and their answers, written to disk before an answer leaves.

Evaluating changes the VM (it presses Ctrl+S, kills browsers), so each key is evaluated once. One line
records that a key was started, another its verdict; both are synced. After a crash, a key that was
started without a verdict stays refused: how far its evaluation got is unknown.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench_core.errors import InputError
from bench_core.files import AppendLog, FileLock, GroupSync
from bench_core.records.codec import decode_json
from bench_core.run_folder import BadLine, set_aside_torn

ANONYMOUS = "auto-"
"""The prefix of keys that the server makes itself; clients never ask for these again."""

Refusal = Literal["in_use", "other_body", "interrupted"]
_WHY: dict[Refusal, str] = {
    "in_use": "is being evaluated now: ask again with the same key and body until it has a verdict",
    "other_body": "was used with another task, history or action: use a new key for a new evaluation",
    "interrupted": (
        "was started, and the server ended before its verdict was stored: the VM may be half "
        "evaluated, so it is never evaluated again; set the task up anew and use a new key"
    ),
}


class KeyRefusedError(InputError):
    """The idempotency key cannot be used."""

    def __init__(self, key: str, refusal: Refusal) -> None:
        self.key = key
        self.refusal = refusal
        super().__init__(f"the idempotency key {key[:100]!r} {_WHY[refusal]}")


@dataclass
class _Entry:
    digest: str
    state: Literal["running", "done", "interrupted"]
    line: tuple[int, int] = (0, 0)  # start and length of the verdict's line


@dataclass(frozen=True)
class KeyClaim:
    """The right to evaluate a key, or the stored answer of an earlier evaluation."""

    key: str
    digest: str
    answer: dict[str, Any] | None = None


class EvaluationJournal:
    """The only writer of `journal.jsonl` in `folder`; keeps offsets in memory, not verdicts.

    Raises:
        InputError: Another server uses the folder, or the journal is damaged.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "journal.jsonl"
        self._file_lock = FileLock(folder / "journal.lock", queue=False)
        if not self._file_lock.try_acquire():
            raise InputError(
                f"another server uses the cache {folder}: give each server its own --cache"
            )
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        try:
            # read the entries of earlier servers
            for start, line in _lines(self.path):
                record = _parsed(line)
                if record is None:
                    self._set_aside(start, line)
                    break
                state = record["state"]
                if state == "started":
                    self._set_entry(record["key"], _Entry(record["digest"], "interrupted"))
                elif state == "done":
                    place = (start, len(line.rstrip(b"\n")))
                    self._set_entry(record["key"], _Entry(record["digest"], "done", place))
                else:
                    self._entries.pop(record["key"], None)
            self._size = self.path.stat().st_size if self.path.exists() else 0
            self._sync = GroupSync()
            self._log = AppendLog(self.path, self._sync)
        except BaseException:
            self._file_lock.release()
            raise

    def claim(self, key: str, digest: str) -> KeyClaim:
        """Claim `key` for evaluating the request with this digest.

        Returns once the claim is on the disk.

        Raises:
            KeyRefusedError: The key is in use, belongs to another request, or was interrupted.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                # synced before the VM is contacted: after a crash from here on, the key stays refused
                self._write({"key": key, "digest": digest, "state": "started"})
                self._entries[key] = _Entry(digest, "running")
                return KeyClaim(key, digest)
            if entry.digest != digest:
                raise KeyRefusedError(key, "other_body")
            if entry.state == "done":
                start, length = entry.line
                with self.path.open("rb") as file:
                    file.seek(start)
                    answer: dict[str, Any] = json.loads(file.read(length))["answer"]
                return KeyClaim(key, digest, answer)
            raise KeyRefusedError(key, "in_use" if entry.state == "running" else "interrupted")

    def finish(self, claim: KeyClaim, answer: dict[str, Any], **more: Any) -> None:
        """Store the answer; it is on the disk when this returns."""
        with self._lock:
            line = self._write(
                {
                    "key": claim.key,
                    "digest": claim.digest,
                    "state": "done",
                    "answer": answer,
                    **more,
                }
            )
            self._set_entry(claim.key, _Entry(claim.digest, "done", line))

    def release(self, claim: KeyClaim) -> None:
        """Give back a key whose evaluation never began, because the VM did not answer."""
        with self._lock:
            self._write({"key": claim.key, "digest": claim.digest, "state": "released"})
            self._entries.pop(claim.key, None)

    def abandon(self, claim: KeyClaim) -> None:
        """Note that an evaluation ended without an answer; its key stays refused."""
        with self._lock:
            if claim.key in self._entries:
                self._entries[claim.key].state = "interrupted"

    def close(self) -> None:
        """Sync and close; safe to call twice."""
        self._log.close()
        self._sync.close()
        self._file_lock.release()

    def _set_entry(self, key: str, entry: _Entry) -> None:
        # such a key is never asked for again: forgetting it saves memory
        if key.startswith(ANONYMOUS):
            self._entries.pop(key, None)
        else:
            self._entries[key] = entry

    def _write(self, record: dict[str, Any]) -> tuple[int, int]:
        line = json.dumps(record, separators=(",", ":")).encode()
        self._log.append(line)
        self._log.sync()
        start, self._size = self._size, self._size + len(line) + 1
        return start, len(line)

    def _set_aside(self, start: int, line: bytes) -> None:
        end = start + len(line)
        if end != self.path.stat().st_size:
            raise InputError(
                f"{self.path} is damaged at byte {start}: move it away to start without what was "
                f"evaluated before"
            )
        set_aside_torn(self.path, [BadLine(self.path, 0, start, end, "torn", torn=True)])


def stored_verdicts(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the journal's records of finished evaluations, without opening it for writing."""
    for _, line in _lines(folder / "journal.jsonl"):
        record = _parsed(line)
        if record is not None and record["state"] == "done":
            yield record


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    if not path.exists():
        return
    start = 0
    with path.open("rb") as file:
        for line in file:
            yield start, line
            start += len(line)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = decode_json(line)
    except ValueError:
        return None
    fits = isinstance(record, dict) and {"key", "digest", "state"} <= set(record)
    return record if fits and line.endswith(b"\n") else None
