"""Which results may be averaged, and their scores by task."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import msgspec

from bench_core.errors import InputError
from bench_core.records import SUCCESS_SCORE, ErrorInfo, Status, TrialResult, Usage
from bench_core.run_folder.indexed import CountPart, StoredRecords, UsagePart
from bench_core.run_folder.standings import ResultPart, result_part
from bench_core.run_folder.view import RunView, read_run
from bench_core.statistics.costs import duration_s

Identity = Literal["benchmark", "agent", "model", "world", "profile"]
IDENTITY: tuple[Identity, ...] = ("benchmark", "agent", "model", "world", "profile")
"""The fields that must agree for results to be averaged."""

_UNSPECIFIED = "unspecified"
_AT_ONCE = 1_000


class EndedTrial(NamedTuple):
    """The fields of a result that statistics need, without its evidence.

    Statistics go over all results many times: these are flat, while results are nested records.
    `usage` has the fields of `Usage` in their order.
    """

    benchmark: str
    agent: str
    model: str | None
    world: str
    profile: str
    task_id: str
    trial: int
    model_reported: str | None
    status: Status
    score: float | None
    success: bool | None
    confidence: float | None
    failure_mode: str | None
    method: str | None
    flags: tuple[str, ...]
    suspect: tuple[str, ...]
    steps: int
    cost_usd: float | None
    error: ErrorInfo | None
    usage: tuple[int, ...]
    input_tokens: int
    output_tokens: int
    tokens: int | None
    time_s: float | None
    attempts: int


_COUNTED = tuple(Usage.model_fields)
_REAL = ("time_s", "score", "confidence", "cost_usd")
_SHARED = (*IDENTITY, "task_id", "model_reported", "status", "success", "failure_mode", "method", "flags", "suspect", "error")  # fmt: skip
"""The columns that have few distinct values in a run."""
_SHARED_OF = attrgetter(*_SHARED)
# the columns taken from results, and from lines, which have fields of the same names
_NUMBERS: dict[str, Callable[[Any], float | None]] = {
    **{name: attrgetter(name) for name in ("trial", "steps")},
    "attempts": lambda each: len(each.attempts),
    "time_s": lambda each: duration_s(each.timings_s),
    **{name: attrgetter(name) for name in _REAL[1:]},
    **{name: attrgetter(f"usage.{name}") for name in _COUNTED},
}


class _Line(ResultPart, gc=False, kw_only=True):
    """The part of a result's line that statistics need."""

    agent: str
    schema_version: Literal[1]  # of others, fields may have had another meaning
    model: str | None = None
    world: str = "real"
    profile: str = "official"
    model_reported: str | None = None
    confidence: float | None = None
    failure_mode: str | None = None
    method: str | None = None
    flags: tuple[str, ...] = ()
    steps: CountPart = 0
    cost_usd: float | None = None
    error: dict[str, str | None] | None = None
    usage: UsagePart = msgspec.field(default_factory=UsagePart)
    timings_s: dict[str, float] = msgspec.field(default_factory=dict)
    attempts: tuple[msgspec.Raw, ...] = ()


_LINE = msgspec.json.Decoder(_Line)


def _line(text: bytes) -> _Line:
    """Decode the fields of a line for statistics; raise a `DecodeError` if it has another form."""
    line = _LINE.decode(text)
    if line.error is not None:
        line.error = ErrorInfo.model_validate(line.error)  # type: ignore[assignment]
    return line


class _Numbers(dict[tuple[Any, ...], int]):
    """A number for each distinct value, in the order in which they are looked up."""

    def __missing__(self, key: tuple[Any, ...]) -> int:
        return self.setdefault(key, len(self))


class EndedTrials(Sequence[EndedTrial]):
    """Ended trials, each once, in columns of some 130 bytes for each; `ended_trials` makes them."""

    def __init__(self) -> None:
        self._shared = _Numbers()
        self._which = array("L")
        self._numbers: dict[str, array[Any]]
        self._numbers = {name: array("d" if name in _REAL else "q") for name in _NUMBERS}

    @classmethod
    def of(cls, results: Iterable[TrialResult]) -> EndedTrials:
        """Take them from results that are of a trial each; those of a run folder are not made for it."""
        stored = isinstance(results, StoredRecords)
        parts = iter(results.parts(_line) if stored else results)  # type: ignore[attr-defined]  # stored
        made = cls()
        while some := list(islice(parts, _AT_ONCE)):
            made.extend(some)
        return made

    def extend(self, some: Collection[TrialResult | _Line]) -> None:
        """Add results of other trials."""
        self._which.extend(map(self._shared.__getitem__, map(_SHARED_OF, some)))
        for name, take in _NUMBERS.items():
            unknown = math.nan if name in _REAL else 0
            self._numbers[name].extend([unknown if v is None else v for v in map(take, some)])

    def column(self, name: str) -> Iterable[Any]:
        """Return one field of each."""
        if name in _SHARED:
            values = [each[_SHARED.index(name)] for each in self._shared]
            return map(values.__getitem__, self._which)
        if name in _REAL:
            return (None if math.isnan(each) else each for each in self._numbers[name])
        if name == "tokens":
            both = zip(self.column("input_tokens"), self.column("output_tokens"), strict=True)
            return (took + gave or None for took, gave in both)
        if name == "usage":
            return zip(*map(self.column, _COUNTED), strict=True)
        return self._numbers[name]

    def taken(self, places: Sequence[int]) -> EndedTrials:
        """Return those at some places, in that order."""
        made = EndedTrials()
        made._shared = self._shared
        made._which.extend(map(self._which.__getitem__, places))
        for name, column in self._numbers.items():
            made._numbers[name].extend(map(column.__getitem__, places))
        return made

    def __len__(self) -> int:
        return len(self._which)

    def __iter__(self) -> Iterator[EndedTrial]:
        columns = map(self.column, EndedTrial._fields)
        return map(EndedTrial._make, zip(*columns, strict=True))

    @overload
    def __getitem__(self, place: int) -> EndedTrial: ...
    @overload
    def __getitem__(self, place: slice) -> EndedTrials: ...
    def __getitem__(self, place: int | slice) -> EndedTrial | EndedTrials:
        if isinstance(place, slice):
            return self.taken(range(len(self))[place])
        return next(iter(self.taken([place])))


class _Reading:
    """Reads the parts of lines that `read_run` needs and keeps the fields that statistics need."""

    def __init__(self) -> None:
        self._ended, self._some = EndedTrials(), list[_Line]()
        self._starts, self._place = array("q"), 0

    def part(self, line: bytes) -> _Line:
        """Read a line, of which each is given once, in order; raises a `DecodeError` as `result_part` does."""
        start, self._place = self._place, self._place + len(line)
        part = result_part(line, _line)
        self._some.append(part)
        self._starts.append(start)
        if len(self._some) == _AT_ONCE:
            self._flush()
        return part

    def taken(self, latest: StoredRecords[TrialResult]) -> EndedTrials:
        """Return the fields that were kept of some results' lines."""
        self._flush()
        starts = latest.starts()
        if starts == self._starts:
            return self._ended
        place_of = dict(zip(self._starts, range(len(self._starts)), strict=True))
        try:
            return self._ended.taken([place_of[start] for start in starts])
        except KeyError:  # an older bench-core wrote some
            return EndedTrials.of(latest)

    def _flush(self) -> None:
        self._ended.extend(self._some)
        self._some.clear()


def read_ended(path: Path) -> tuple[RunView, EndedTrials]:
    """Read a run as `read_run` does, with the statistics' fields of its last results, each line once.

    Raises:
        RunFolderError, SchemaVersionError: As `read_run`.
    """
    reading = _Reading()
    view = read_run(path, part=reading.part)
    return view, reading.taken(view.latest)


def ended_trials(results: Iterable[TrialResult] | EndedTrials) -> EndedTrials:
    """Read each result once, for `summarise`; the last one of each trial counts.

    >>> len(ended_trials([]))
    0
    """
    if isinstance(results, EndedTrials):
        return results
    ended = EndedTrials.of(results)
    if isinstance(results, StoredRecords):  # which has each trial once
        return ended
    trials = zip(*map(ended.column, (*IDENTITY, "task_id", "trial")), strict=True)
    return ended.taken([*dict(zip(trials, range(len(ended)), strict=True)).values()])


def identity_of(
    results: EndedTrials, *, allow_mixed: Collection[Identity] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the identity of results, refusing to mix those that must not be averaged.

    Raises:
        InputError: A field not in `allow_mixed` has more than one value.

    >>> identity_of(EndedTrials())["world"]
    ()
    """
    found: dict[str, tuple[str, ...]] = {}
    for field in IDENTITY:
        values = set(results.column(field))
        if values == {None}:
            values = set()
        found[field] = tuple(sorted(value or _UNSPECIFIED for value in values))
        if len(found[field]) > 1 and field not in allow_mixed:
            raise InputError(
                f"results of different {field}s cannot be averaged: {', '.join(found[field])}; "
                f"summarise them apart, or allow it with allow_mixed={{{field!r}}}"
            )
    return found


def task_scores(
    results: Iterable[TrialResult], *, errors_as_failures: bool = False
) -> dict[str, list[float]]:
    """Return task id to the scores of its trials, in the order of trials, of one configuration.

    Trials without a score are left out, or 0 when `errors_as_failures`.

    >>> task_scores([])
    {}
    """
    trial_of = attrgetter(*IDENTITY, "task_id", "trial")
    last = {trial_of(each): each for each in results}
    latest = sorted(last.values(), key=lambda each: (each.task_id, each.trial))
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for result in latest:
        if result.score is not None:
            scores[result.task_id].append(result.score)
        elif errors_as_failures:
            scores[result.task_id].append(0.0)
    return dict(scores)


def task_successes(
    results: Iterable[TrialResult], *, errors_as_failures: bool = False
) -> dict[str, list[float]]:
    """Return task id to its trials' outcomes, 1 for success and 0 for failure, in order.

    >>> task_successes([])
    {}
    """
    scores = task_scores(results, errors_as_failures=errors_as_failures)
    return {key: [float(each >= SUCCESS_SCORE) for each in scores[key]] for key in scores}
