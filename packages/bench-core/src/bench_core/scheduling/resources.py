"""Which waiting item may start now: shared and exclusive resources, all of an item's at once.

A plain data structure without clock, thread or event loop, so that its laws can be tested.

An item gets everything it claims in one step or nothing, so no item holds one resource while
waiting for another and nothing can deadlock. No item starves either: items that claim the same wait
in one lane, in order, and a lane that was passed over `patience` times by lanes it conflicts with
reserves its claims until it had its turn.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from bench_core.records import Resource

PATIENCE = 64
"""How often a lane may be passed over: long enough that readers of a site run in large groups."""

_Item = TypeVar("_Item")

_EXCLUSIVE = -1


@dataclass(frozen=True)
class Claim:
    """The names an item wants to share and those it wants alone."""

    shared: frozenset[str] = frozenset()
    exclusive: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """All names."""
        return self.shared | self.exclusive


def claim_of(resources: Iterable[Resource]) -> Claim:
    """Return the claim of a task's resources; a name declared twice is claimed alone if ever."""
    declared = [(each.name, each.mode) for each in resources]
    exclusive = frozenset(name for name, mode in declared if mode == "exclusive")
    return Claim(frozenset(name for name, _ in declared) - exclusive, exclusive)


def conflict(one: Claim, other: Claim) -> bool:
    """Whether two claims cannot be held at the same time."""
    return not (one.exclusive.isdisjoint(other.names) and one.shared.isdisjoint(other.exclusive))


@dataclass(eq=False)
class _Lane(Generic[_Item]):
    """Waiting items with the same claim, in the order they came."""

    claim: Claim
    items: deque[tuple[int, _Item]] = field(default_factory=deque)
    passed_over: int = 0
    impatient_since: int | None = None


def _impatient(lanes: Iterable[_Lane[_Item]]) -> list[_Lane[_Item]]:
    waiting = [lane for lane in lanes if lane.impatient_since is not None]
    return sorted(waiting, key=lambda lane: lane.impatient_since or 0)


class ResourceQueue(Generic[_Item]):
    """Items waiting for resources, and the holders of these.

    If several items could start, the one whose resource has the longest queue of exclusive
    claims goes first: that queue bounds the run's duration. Ties go to the first in the queue.

    Example:
        >>> queue = ResourceQueue()
        >>> gitlab = Claim(exclusive=frozenset({"gitlab"}))
        >>> queue.add("first", gitlab)
        >>> queue.add("second", gitlab)
        >>> queue.start_next(), queue.start_next()
        ('first', None)
        >>> queue.release(gitlab)
        >>> queue.start_next()
        'second'
    """

    def __init__(self, patience: int = PATIENCE) -> None:
        self._patience = patience
        self._lanes: dict[Claim, _Lane[_Item]] = {}
        self._holders: dict[str, int] = {}
        self._load: Counter[str] = Counter()
        self._ticks = 0

    def __len__(self) -> int:
        return sum(len(lane.items) for lane in self._lanes.values())

    def __bool__(self) -> bool:
        return bool(self._lanes)

    def add(self, item: _Item, claim: Claim) -> None:
        """Put an item at the end of its lane."""
        lane = self._lanes.setdefault(claim, _Lane(claim))
        lane.items.append((self._tick(), item))
        self._load.update(claim.exclusive)

    def start_next(self, may_start: Callable[[Claim], bool] = lambda _: True) -> _Item | None:
        """Return the next item that may start and hold its claims, or None.

        `release` its claim when it is over. Items of claims that `may_start` refuses wait.
        """
        lane = self._next_lane([each for each in self._lanes.values() if may_start(each.claim)])
        if lane is None:
            return None
        _, item = lane.items.popleft()
        self._load.subtract(lane.claim.exclusive)
        self._hold(lane.claim)
        self._note_start(lane)
        if not lane.items:
            del self._lanes[lane.claim]
        return item

    def release(self, claim: Claim) -> None:
        """Give back an item's claims."""
        for name in claim.exclusive:
            del self._holders[name]
        for name in claim.shared:
            self._holders[name] -= 1
            if not self._holders[name]:
                del self._holders[name]

    def take(self, which: Callable[[Claim], bool]) -> list[_Item]:
        """Forget and return the waiting items of certain claims."""
        lanes = [lane for lane in self._lanes.values() if which(lane.claim)]
        for lane in lanes:
            del self._lanes[lane.claim]
            for name in lane.claim.exclusive:
                self._load[name] -= len(lane.items)
        return [item for lane in lanes for _, item in lane.items]

    def clear(self) -> list[_Item]:
        """Forget and return all waiting items; held claims stay held."""
        waiting = [item for lane in self._lanes.values() for _, item in lane.items]
        self._lanes.clear()
        self._load.clear()
        return waiting

    def held(self) -> dict[str, int | None]:
        """Return the held names with their number of sharers, None if one holds it alone."""
        return {n: None if count == _EXCLUSIVE else count for n, count in self._holders.items()}

    def _next_lane(self, lanes: Collection[_Lane[_Item]]) -> _Lane[_Item] | None:
        reserved: list[Claim] = []
        for lane in _impatient(lanes):
            if self._is_free(lane.claim) and not _conflicts(lane.claim, reserved):
                return lane
            reserved.append(lane.claim)  # so that no lane behind it can starve it
        startable = [
            lane
            for lane in lanes
            if lane.impatient_since is None
            and self._is_free(lane.claim)
            and not _conflicts(lane.claim, reserved)
        ]
        return min(startable, key=self._rank, default=None)

    def _rank(self, lane: _Lane[_Item]) -> tuple[int, int]:
        longest = max((self._load[name] for name in lane.claim.names), default=0)
        return -longest, lane.items[0][0]  # the bottleneck first

    def _is_free(self, claim: Claim) -> bool:
        holders = self._holders
        return all(name not in holders for name in claim.exclusive) and all(
            holders.get(name) != _EXCLUSIVE for name in claim.shared
        )

    def _hold(self, claim: Claim) -> None:
        for name in claim.exclusive:
            self._holders[name] = _EXCLUSIVE
        for name in claim.shared:
            self._holders[name] = self._holders.get(name, 0) + 1

    def _note_start(self, started: _Lane[_Item]) -> None:
        started.passed_over, started.impatient_since = 0, None
        for lane in self._lanes.values():
            if lane is not started and conflict(lane.claim, started.claim):
                lane.passed_over += 1
                if lane.passed_over >= self._patience and lane.impatient_since is None:
                    lane.impatient_since = self._tick()

    def _tick(self) -> int:
        self._ticks += 1
        return self._ticks


def _conflicts(claim: Claim, reserved: Iterable[Claim]) -> bool:
    return any(conflict(claim, each) for each in reserved)
