"""Laws of the resource queue: exclusivity, progress, fairness."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bench_core.records import Resource
from bench_core.scheduling.resources import Claim, ResourceQueue, claim_of, conflict

PATIENCE = 4
NAMES = ("admin", "gitlab", "reddit")


def alone(*names: str) -> Claim:
    return Claim(exclusive=frozenset(names))


def sharing(*names: str) -> Claim:
    return Claim(shared=frozenset(names))


def started(queue: ResourceQueue[Any]) -> list[Any]:
    items: list[Any] = []
    while (item := queue.start_next()) is not None:
        items.append(item)
    return items


def queue_of(*claims: Claim, patience: int = 64) -> ResourceQueue[Any]:
    queue: ResourceQueue[Any] = ResourceQueue(patience)
    for number, claim in enumerate(claims):
        queue.add(number, claim)
    return queue


def test_items_without_resources_start_in_the_order_they_came() -> None:
    assert started(queue_of(Claim(), Claim(), Claim())) == [0, 1, 2]


def test_readers_share_what_a_writer_holds_alone() -> None:
    queue = queue_of(sharing("gitlab"), sharing("gitlab"), alone("gitlab"))
    assert started(queue) == [0, 1]
    assert queue.held() == {"gitlab": 2}
    queue.release(sharing("gitlab"))
    assert started(queue) == []
    queue.release(sharing("gitlab"))
    assert started(queue) == [2]
    assert queue.held() == {"gitlab": None}


def test_nobody_reads_what_a_writer_holds() -> None:
    assert started(queue_of(alone("gitlab"), sharing("gitlab"))) == [0]


def test_an_item_holds_nothing_until_it_gets_everything() -> None:
    queue = queue_of(alone("gitlab"), alone("gitlab", "reddit"), alone("reddit"))
    assert started(queue) == [0, 2]


def test_the_longest_queue_of_writers_goes_first() -> None:
    queue = queue_of(alone("reddit"), alone("gitlab"), alone("gitlab"))
    assert queue.start_next() == 1


def test_a_writer_is_overtaken_by_patience_readers_at_most() -> None:
    queue = queue_of(sharing("gitlab"), patience=3)
    assert queue.start_next() == 0
    queue.add("writer", alone("gitlab"))
    for number in range(10):
        queue.add(f"reader {number}", sharing("gitlab"))
    assert started(queue) == ["reader 0", "reader 1", "reader 2"]
    for _ in range(4):
        queue.release(sharing("gitlab"))
    assert started(queue) == ["writer"]


def test_readers_are_overtaken_by_patience_writers_at_most() -> None:
    queue = queue_of(*[alone("gitlab")] * 9, sharing("gitlab"), patience=3)
    order = []
    while (item := queue.start_next()) is not None:
        order.append(item)
        queue.release(sharing("gitlab") if item == 9 else alone("gitlab"))
    assert order.index(9) == 3


def test_clearing_returns_what_waited_and_keeps_what_is_held() -> None:
    queue = queue_of(alone("gitlab"), alone("gitlab"))
    queue.start_next()
    assert queue.clear() == [1]
    assert not queue
    assert queue.held() == {"gitlab": None}


def test_a_resource_declared_in_both_modes_is_claimed_alone() -> None:
    both = (Resource(name="gitlab", mode="shared"), Resource(name="gitlab", mode="exclusive"))
    assert claim_of(both) == alone("gitlab")


claims = st.builds(
    lambda modes: Claim(
        shared=frozenset(n for n, mode in modes.items() if mode == "shared"),
        exclusive=frozenset(n for n, mode in modes.items() if mode == "exclusive"),
    ),
    st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["shared", "exclusive"])),
)


class ResourceQueueLaws(RuleBasedStateMachine):
    """Whatever comes and goes: nobody conflicts, somebody moves, everybody gets a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.queue: ResourceQueue[int] = ResourceQueue(PATIENCE)
        self.waiting: dict[int, Claim] = {}
        self.running: dict[int, Claim] = {}
        self.overtaken: Counter[int] = Counter()
        self.count = 0
        self.lanes: set[Claim] = set()

    @rule(claim=claims)
    def add(self, claim: Claim) -> None:
        self.count += 1
        self.waiting[self.count] = claim
        self.lanes.add(claim)
        self.queue.add(self.count, claim)

    @rule()
    def start(self) -> None:
        item = self.queue.start_next()
        if item is None:
            self.check_that_waiting_is_justified()
            return
        claim = self.waiting.pop(item)
        self.check_turn(item, claim)
        self.running[item] = claim

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(sorted(self.running)))
        self.queue.release(self.running.pop(item))

    def check_turn(self, item: int, claim: Claim) -> None:
        same = [other for other, theirs in self.waiting.items() if theirs == claim]
        assert all(other > item for other in same), "items that claim the same overtook each other"
        for other, theirs in self.waiting.items():
            first = all(o >= other for o, c in self.waiting.items() if c == theirs)
            if first and conflict(theirs, claim):
                self.overtaken[other] += 1
        # a lane that lost its patience may wait for others that lost theirs before
        longest = PATIENCE + len(self.lanes)
        assert all(count <= longest for count in self.overtaken.values()), "somebody starves"
        del self.overtaken[item]

    def check_that_waiting_is_justified(self) -> None:
        if not self.running:
            assert not self.waiting, "nobody runs and nobody may start: a deadlock"

    @invariant()
    def nobody_conflicts(self) -> None:
        running = list(self.running.values())
        pairs = [(a, b) for i, a in enumerate(running) for b in running[i + 1 :]]
        assert not any(conflict(a, b) for a, b in pairs)

    @invariant()
    def held_is_what_running_items_claim(self) -> None:
        expected = Counter(name for c in self.running.values() for name in c.shared)
        held = self.queue.held()
        assert {n: count for n, count in held.items() if count is not None} == expected
        exclusive = {name for c in self.running.values() for name in c.exclusive}
        assert {n for n, count in held.items() if count is None} == exclusive

    @invariant()
    def it_counts_what_waits(self) -> None:
        assert len(self.queue) == len(self.waiting)

    def teardown(self) -> None:
        while self.waiting or self.running:
            before = len(self.waiting)
            while (item := self.queue.start_next()) is not None:
                self.running[item] = self.waiting.pop(item)
            assert self.running or not before, "a deadlock"
            for claim in self.running.values():
                self.queue.release(claim)
            self.running.clear()


TestResourceQueueLaws = ResourceQueueLaws.TestCase
