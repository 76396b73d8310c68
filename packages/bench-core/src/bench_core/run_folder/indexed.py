"""Results and events that stay in their files: only the start of each line is kept in memory.

A line takes some hundred bytes on the disk and twenty times as much as records in memory; a run has
millions of them. So reading a run goes over its files once, checks every line and keeps a few numbers of
each; records are made from the lines when they are asked for, one after another.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from datetime import datetime, timezone
from itertools import compress, islice
from pathlib import Path
from typing import Annotated, Generic, TypeVar, overload

import msgspec
from pydantic import ValidationError

from bench_core.errors import RecordError, RunFolderError
from bench_core.files.inside import open_inside
from bench_core.records import Event, Record, TrialKey, TrialResult
from bench_core.records.base import share_names
from bench_core.records.codec import decode
from bench_core.run_folder.checked_log import CheckedLines, Seal
from bench_core.run_folder.jsonl import collector_paused
from bench_core.run_folder.standings import TrialStandings

R = TypeVar("R", bound=Record)
Q = TypeVar("Q")

CountPart = Annotated[int, msgspec.Meta(ge=0, le=10**15)]
"""The JSON type of `Count`, with its limits."""

_KEPT = 2_000
"""Most records of a file that stay in memory once they were read: reports read them many times."""


class StoredRecords(Sequence[R], Generic[R]):
    """The records of a file as a sequence that holds only the positions of their lines.

    Iterating reads the file, in constant memory; again each time if there are more than two
    thousand. Lines that are appended during it are not in it.
    """

    def __init__(
        self, path: Path, model: type[R], starts: array[int], *, written_by: str | None = None
    ) -> None:
        """Take `starts`, the first byte of each record's line, in the order of the sequence."""
        self._path = path
        self._model = model
        self._validate: Callable[[bytes], R] = model.__pydantic_validator__.validate_json
        self._starts = starts
        self._written_by = written_by
        self._kept: list[R] | None = None

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[R]: ...
    def __getitem__(self, place: int | slice) -> R | Sequence[R]:
        if self._kept is not None:
            return self._kept[place]
        if isinstance(place, slice):
            starts = self._starts[place]
            return StoredRecords(self._path, self._model, starts, written_by=self._written_by)
        return self.read_at(self._starts[place])

    def __iter__(self) -> Iterator[R]:
        if len(self._starts) > _KEPT:
            return map(self._record, self._lines(self._starts))
        if self._kept is None:
            self._kept = self.in_memory()
        return iter(self._kept)

    def in_memory(self) -> list[R]:
        """Return all records at once, for callers that read them many times; some kilobytes of memory each."""
        with collector_paused():
            records = list(map(self._record, self._lines(self._starts)))
            for each in records:
                share_names(each)
        return records

    def starts(self) -> Sequence[int]:
        """Return the first byte of each record's line."""
        return self._starts

    def read_at(self, start: int) -> R:
        """Return the record whose line begins at byte `start`."""
        return self._record(next(self._lines([start])))

    def lines(self) -> Iterator[bytes]:
        """Yield the line of each record, without its line feed, for callers with their own decoder.

        Raises:
            RunFolderError: The file has changed since it was indexed.
        """
        return self._lines(self._starts)

    def parts(self, read: Callable[[bytes], Q]) -> Iterator[Q | R]:
        """Yield the value of `read` for each line, or the whole record if that raises a `DecodeError`."""

        def part(line: bytes) -> Q | R:
            try:
                return read(line)
            except msgspec.DecodeError:  # an older bench-core wrote it
                return self._record(line)

        return map(part, self.lines())

    def _record(self, line: bytes) -> R:
        try:
            return self._validate(line)
        except ValidationError:
            return self._migrated(line)

    def _migrated(self, line: bytes) -> R:
        try:
            return decode(self._model, line, written_by=self._written_by)
        except RecordError as error:
            raise RunFolderError(
                f"{self._path} has a line that is {error}: restore the file from a copy"
            ) from None

    def _lines(self, starts: Iterable[int]) -> Iterator[bytes]:
        if not self._starts:
            return
        with open_inside(self._path.parent, self._path.name) as file:
            place = 0
            for start in starts:
                if start != place:  # a trial that was repeated
                    file.seek(start)
                line = file.readline()
                place = start + len(line)
                yield line.removesuffix(b"\n")


class StoredEvents(StoredRecords[Event]):
    """The events of a run, in order.

    Attributes:
        log: Changes to the file since it was written, and its end.
        bad: Lines that are not events.
    """

    def __init__(self, path: Path, seals: Sequence[Seal] = ()) -> None:
        """Index the file, which was closed with `seals`, in one pass; a missing one is empty.

        Raises:
            RunFolderError: More than 10,000 lines are not events.
        """
        super().__init__(path, Event, array("q"))
        self.log = CheckedLines(path, Event, seals)
        self.bad = self.log.bad
        self._times = array("d")
        self._kinds = array("L")
        self._names: dict[str, int] = {}
        for _, start, found in self.log.walk(_EVENT.decode):
            self._starts.append(start)
            self._times.append(found.time.timestamp())
            self._kinds.append(self._names.setdefault(found.kind, len(self._names)))

    def of_kinds(self, *kinds: str) -> Iterator[Event]:
        """Yield the events of some kinds; the others are not read."""
        return map(self._record, self.lines_of(*kinds))

    def lines_of(self, *kinds: str) -> Iterator[bytes]:
        """Yield the lines of the events of some kinds."""
        wanted = {self._names.get(kind) for kind in kinds}
        return self._lines(compress(self._starts, map(wanted.__contains__, self._kinds)))

    def last_times(self, begins: Sequence[datetime]) -> list[datetime | None]:
        """Return the last date of the events before the first of `begins`, which are in order, and from each on."""
        parts = [begin.timestamp() for begin in begins]
        last: list[float | None] = [None] * (len(parts) + 1)
        for time in self._times:
            part = bisect_right(parts, time)
            last[part] = max(time, last[part] or time)
        return [
            None if each is None else datetime.fromtimestamp(each, timezone.utc) for each in last
        ]


class ResultsByTrial(Mapping[TrialKey, TrialResult]):
    """The last result of each trial that had one when the file was indexed, read on demand.

    The standings may go on with the lines a run appends: a trial that got another result is no longer here.
    """

    def __init__(self, latest: StoredRecords[TrialResult], standings: TrialStandings) -> None:
        self._latest = latest
        self._standings = standings
        self._newest = max(latest.starts(), default=-1)

    def __len__(self) -> int:
        return len(self._latest)

    def __iter__(self) -> Iterator[TrialKey]:
        return islice(self._standings.keys(), len(self._latest))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, TrialKey) and 0 <= self._standings.start(key) <= self._newest

    def __getitem__(self, key: TrialKey) -> TrialResult:
        if key not in self:
            raise KeyError(key)
        return self._latest.read_at(self._standings.start(key))

    def values(self) -> _Values:
        """Return the results, which are read one after another."""
        return _Values(self)

    def items(self) -> _Items:
        """Return the results with their keys, read one after another."""
        return _Items(self)


class _Values(ValuesView[TrialResult]):
    """Reads the file once, as a look-up of each key would open it each time."""

    _mapping: ResultsByTrial

    def __iter__(self) -> Iterator[TrialResult]:
        return iter(self._mapping._latest)


class _Items(ItemsView[TrialKey, TrialResult]):
    """The same with the keys."""

    _mapping: ResultsByTrial

    def __iter__(self) -> Iterator[tuple[TrialKey, TrialResult]]:
        return zip(self._mapping, self._mapping._latest, strict=True)


class UsagePart(msgspec.Struct, gc=False):
    """The fields of `Usage`, in their order, as lines have them."""

    requests: CountPart = 0
    retries: CountPart = 0
    input_tokens: CountPart = 0
    cached_input_tokens: CountPart = 0
    cache_write_tokens: CountPart = 0
    image_tokens: CountPart = 0
    output_tokens: CountPart = 0
    reasoning_tokens: CountPart = 0


class _EventPart(msgspec.Struct, gc=False):
    """The parts of an event that are kept, of the types that `Event` asks for."""

    time: datetime
    kind: Annotated[str, msgspec.Meta(min_length=1)]
    sequence: Annotated[int, msgspec.Meta(gt=0)] | None = None
    previous: str | None = None
    checksum: str | None = None


_EVENT = msgspec.json.Decoder(_EventPart)
