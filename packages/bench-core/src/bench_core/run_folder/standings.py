"""The standing of a run's trials: which are done, and where their last results begin."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from bench_core.errors import RunFolderError
from bench_core.records import SUCCESS_SCORE, Status, TrialKey, TrialResult
from bench_core.records.base import share_names

_MOST_PLANNED = 10_000_000


class Standing(NamedTuple):
    """The part of a trial's last result that the state of the run depends on."""

    status: Status
    success: bool | None
    suspect: bool


class ResultPart(msgspec.Struct, gc=False):
    """The part of a result's line that reading a run looks at."""

    benchmark: str
    task_id: str
    status: Status
    trial: Annotated[int, msgspec.Meta(ge=1)] = 1
    score: float | None = None
    success: bool | None = None
    suspect: tuple[str, ...] = ()
    sequence: int | None = None
    previous: str | None = None
    checksum: str | None = None
    schema_version: Literal[1] = 1


P = TypeVar("P", bound=ResultPart)
_RESULT = msgspec.json.Decoder(ResultPart)


def result_part(line: bytes, read: Callable[[bytes], P] = _RESULT.decode) -> P:  # type: ignore[assignment]  # a part by default
    """Return the needed parts of a result's line that has a checksum, which marks it as written by us.

    Args:
        line: The line.
        read: Reads it, or more of it than is kept.

    Raises:
        msgspec.DecodeError: It has none, or is another line: all of it has to be decoded.
    """
    part = read(line)
    success = None if part.score is None else part.score >= SUCCESS_SCORE
    if (
        part.checksum is None
        or part.status.scored is (part.score is None)
        or part.success is not success
    ):
        raise msgspec.DecodeError
    return part


class TrialStandings:
    """The state of each planned trial, in 25 bytes each: a run has up to ten million.

    A trial's place is its index in the plan, which runs all tasks once before any is repeated.

    Attributes:
        planned: How many trials are planned.
    """

    def __init__(self, task_ids: Sequence[str], trials: int) -> None:
        """Begin without results; raises the errors of `extend`."""
        self._task_ids = task_ids
        self._place_of = {task_id: place for place, task_id in enumerate(task_ids)}
        self.planned = 0
        self._states = bytearray()
        self._sequences = array("q")
        self._starts = array("q")
        self._order = array("q")
        self._to_rerun: set[int] = set()
        self.extend(trials)

    def __len__(self) -> int:
        """Return how many trials have a result."""
        return len(self._order)

    def __iter__(self) -> Iterator[Standing]:
        """Yield how each trial stands that has a result, in the order of first results."""
        states = self._states
        return (_STANDINGS[states[place]] for place in self._order)

    def extend(self, trials: int) -> None:
        """Plan this many trials of each task; never fewer than before.

        Raises:
            RunFolderError: There are more than ten million: summaries would count to any number.
        """
        if len(self._task_ids) * trials > _MOST_PLANNED:
            raise RunFolderError(
                f"{trials:,} trials of {len(self._task_ids):,} tasks are planned: up to "
                f"{_MOST_PLANNED:,} can be handled"
            )
        more = len(self._task_ids) * trials - self.planned
        if more > 0:
            self.planned += more
            self._states.extend(bytes(more))
            for numbers in (self._sequences, self._starts):
                numbers.frombytes(bytes(more * numbers.itemsize))

    def note(self, result: ResultPart | TrialResult, start: int = 0) -> bool:
        """Count `result`, whose line begins at byte `start`, as its trial's last; False if not planned."""
        place = self.place(result.task_id, result.trial)
        if place is None:
            return False
        if not self._states[place]:
            self._order.append(place)
        self._states[place] = _STATES[result.status, result.success, bool(result.suspect)]
        self._sequences[place] = result.sequence or 0
        self._starts[place] = start
        if self._to_rerun:
            self._to_rerun.discard(place)
        return True

    def get(self, key: TrialKey) -> Standing | None:
        """Return how a trial stands; None if it has no result."""
        place = self.place(key.task_id, key.trial)
        return None if place is None else _STANDINGS.get(self._states[place])

    def start(self, key: TrialKey) -> int:
        """Return where the line of a trial's last result begins."""
        place = self.place(key.task_id, key.trial)
        return -1 if place is None or not self._states[place] else self._starts[place]

    def starts(self) -> array[int]:
        """Return where the last result of each trial begins, in the order of first results."""
        return array("q", map(self._starts.__getitem__, self._order))

    def keys(self) -> Iterator[TrialKey]:
        """Yield the trials that have a result, in the order of first results."""
        return map(self._key, self._order)

    def plan(self) -> Iterator[TrialKey]:
        """Yield every trial of the plan."""
        return map(self._key, range(self.planned))

    def remaining(self) -> list[TrialKey]:
        """Return the planned trials without a lasting result, and those to run again, in plan order."""
        again = self._to_rerun
        return [
            self._key(place)
            for place, state in enumerate(self._states)
            if state not in _DONE or place in again
        ]

    def is_done(self, key: TrialKey) -> bool:
        """Return whether a trial has a lasting result and is not to run again."""
        place = self.place(key.task_id, key.trial)
        return place is not None and self._states[place] in _DONE and place not in self._to_rerun

    def run_again(self, trials: Iterable[TrialKey], *, after: int | None = None) -> None:
        """Count `trials` as not done until each has a new result.

        Args:
            trials: Some of the plan.
            after: Leave out those whose result has a later line than this.
        """
        for key in trials:
            place = self.place(key.task_id, key.trial)
            if place is not None and (after is None or self._sequences[place] <= after):
                self._to_rerun.add(place)

    @property
    def to_rerun(self) -> frozenset[TrialKey]:
        """The trials that are to run again."""
        return frozenset(map(self._key, self._to_rerun))

    def sequence(self, key: TrialKey) -> int | None:
        """Return the line number of the result to which the files in a trial's folder belong."""
        place = self.place(key.task_id, key.trial)
        return None if place is None else self._sequences[place] or None

    def begin_attempt(self, key: TrialKey) -> None:
        """Note that the files in the trial's folder belong to no result from now on."""
        place = self.place(key.task_id, key.trial)
        if place is not None:
            self._sequences[place] = 0

    def place(self, task_id: str, trial: int) -> int | None:
        """Return a trial's place in the plan; None if it is not planned."""
        place = self._place_of.get(task_id)
        if place is None:
            return None
        place += (trial - 1) * len(self._task_ids)
        return place if place < self.planned else None

    def _key(self, place: int) -> TrialKey:
        trial, task = divmod(place, len(self._task_ids))
        key = TrialKey(task_id=self._task_ids[task], trial=trial + 1)
        share_names(key)
        return key


_STANDINGS = dict(
    enumerate(
        (
            Standing(status, success, suspect)
            for status in Status
            for success in (None, False, True)
            for suspect in (False, True)
        ),
        start=1,  # 0: no result
    )
)
_STATES = {tuple(standing): state for state, standing in _STANDINGS.items()}
_DONE = frozenset(state for state, standing in _STANDINGS.items() if standing.status.done)
