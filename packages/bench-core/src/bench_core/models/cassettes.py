"""Record model calls once, replay them without key or network.

A cassette is a JSONL file of requests and replies at the adapters' interface: no headers, no keys,
pictures by their hash. Judges are matched by the hash of the request, agents - whose pixels vary
from run to run - by sequence.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from bench_core.errors import InputError, RecordError
from bench_core.files import read_inside
from bench_core.models.records import ModelRequest, Reply
from bench_core.records import Record
from bench_core.records.problems import problems_of
from bench_core.redaction import Redactor

Mode = Literal["record", "replay", "auto"]
Match = Literal["hash", "sequence"]
WrittenBy = Literal["recording", "hand"]
_DIFF_LINES = 20


class CassetteMissError(InputError):
    """The cassette holds no reply to this request."""


class CassetteEntry(Record):
    """One line of a cassette; `written_by` is `hand` if no provider was asked."""

    schema_version: Literal[1] = 1
    key: str
    model: str
    request: dict[str, Any]
    reply: Reply
    written_by: WrittenBy = "recording"


def request_key(model: str, request: ModelRequest) -> str:
    """Return the SHA-256 that names a request to a model, trial included.

    Headers are left out: their effect is the provider's business, and they may hold secrets.
    """
    content = {key: value for key, value in request.canonical().items() if key != "headers"}
    text = json.dumps({"model": model, **content}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class Cassette:
    """A file of recorded calls.

    Args:
        mode: `replay` never calls a model, `record` always does and starts a new file, `auto`
            replays what is there and records the rest.
        match: `hash` finds a request wherever it stands, `sequence` takes the next line.
        redact: Removes secrets from every line before it is written; by default the values of the
            environment's key variables and anything that looks like a key.
        written_by: `hand` labels replies that no provider gave, e.g. those of `ModelServer`.
    """

    def __init__(
        self,
        path: Path | str,
        mode: Mode = "replay",
        match: Match = "hash",
        *,
        redact: Callable[[str], str] | None = None,
        written_by: WrittenBy = "recording",
    ) -> None:
        self.path = Path(path)
        self.mode = mode
        self.match = match
        self._written_by: WrittenBy = written_by
        self._redact = redact or Redactor.from_environment().redact
        self._entries = [] if mode == "record" else _read(self.path, required=mode == "replay")
        self._position = 0
        self._used: dict[str, int] = {}
        if mode == "record":
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("", encoding="utf-8")

    @property
    def models(self) -> tuple[str, ...]:
        """The models recorded in it, `provider:name`, in order of appearance."""
        return tuple(dict.fromkeys(entry.model for entry in self._entries))

    def find(self, model: str, request: ModelRequest) -> Reply | None:
        """Return the recorded reply, None if the model must be asked.

        Raises:
            CassetteMissError: In replay mode, with the difference to the nearest recorded request.
        """
        found = self._next(model, request)
        if found is not None:
            return found.reply.model_copy(update={"replayed": True})
        if self.mode == "replay":
            raise CassetteMissError(self._miss(request))
        return None

    def add(self, model: str, request: ModelRequest, reply: Reply) -> None:
        """Append one call; durable when this returns."""
        entry = CassetteEntry(
            key=request_key(model, request),
            model=model,
            request={k: v for k, v in request.canonical().items() if k != "headers"},
            reply=reply,
            written_by=self._written_by,
        )
        line = self._redact(json.dumps(entry.model_dump(mode="json"), ensure_ascii=False))
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            # the call was paid for: a crash must not lose it
            os.fsync(file.fileno())
        if self.match == "sequence":
            self._position += 1
            self._entries.append(entry)

    def _next(self, model: str, request: ModelRequest) -> CassetteEntry | None:
        if self.match == "sequence":
            if self._position < len(self._entries):
                self._position += 1
                return self._entries[self._position - 1]
            return None
        key = request_key(model, request)
        matching = [entry for entry in self._entries if entry.key == key]
        if not matching:
            return None
        # The same question asked twice gets its two answers in turn, then the last one again.
        turn = self._used.get(key, 0)
        self._used[key] = turn + 1
        return matching[min(turn, len(matching) - 1)]

    def _miss(self, request: ModelRequest) -> str:
        way_out = "record it again with mode `record`, or use mode `auto`"
        if not self._entries:
            return f"{self.path}: the cassette is empty; {way_out}"
        if self.match == "sequence":
            count = len(self._entries)
            return f"{self.path}: all {count} recorded calls are used up; {way_out}"
        wanted = _lines({k: v for k, v in request.canonical().items() if k != "headers"})
        recorded = (_lines(each.request) for each in self._entries)
        nearest = max(recorded, key=lambda each: len(set(each) & set(wanted)))
        diff = list(difflib.unified_diff(nearest, wanted, "recorded", "asked", lineterm="", n=1))
        shown = "\n".join(diff[:_DIFF_LINES])
        more = f"\n... {len(diff) - _DIFF_LINES} more lines" if len(diff) > _DIFF_LINES else ""
        return f"{self.path}: no reply recorded for this request; {way_out}\n{shown}{more}"


def _lines(request: dict[str, Any]) -> list[str]:
    return json.dumps(request, indent=1, sort_keys=True, ensure_ascii=False).splitlines()


def _read(path: Path, *, required: bool) -> list[CassetteEntry]:
    try:
        lines = read_inside(path.parent, path.name).decode("utf-8").splitlines()
    except FileNotFoundError as error:
        if not required:
            return []
        raise InputError(f"{path}: there is no such cassette; record one first") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read the cassette: {error}") from error
    return [_entry(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _entry(path: Path, number: int, line: str) -> CassetteEntry:
    try:
        return CassetteEntry.model_validate_json(line)
    except ValidationError as error:
        raise RecordError(
            f"{path}, line {number}: not a cassette entry: {problems_of(error, CassetteEntry)}; "
            f"remove the line or record the cassette again"
        ) from error
