"""Leases of a cluster: the laws of their table, and what holds by them, on a clock of the tests' own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from memory_broker import MemoryBroker
from virtual_time import VirtualClock, run_in_virtual_time

from bench_core.errors import EnvironmentFaultError
from bench_core.records import Resource
from bench_core.scheduling import FileLocks, NoLocks
from bench_core.scheduling.leased_locks import LeasedLocks
from bench_core.scheduling.leases import LEASE_TTL_S, LeaseTable
from bench_core.scheduling.resources import Claim, conflict
from bench_core.workers.attempt import WorkerLimits

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

Result = TypeVar("Result")
ALONE = Claim(exclusive=frozenset({"gitlab"}))
SHARED = Claim(shared=frozenset({"gitlab"}))
WRITE = (Resource(name="gitlab"),)


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def table(time: Time) -> LeaseTable:
    return LeaseTable(60.0, monotonic=time, wall=lambda: 1.0)


def test_what_one_holds_alone_no_other_gets(table: LeaseTable) -> None:
    assert table.ask("a", "run", ALONE) is not None
    assert table.ask("b", "run", ALONE) is None
    assert table.ask("c", "run", SHARED) is None


def test_readers_share(table: LeaseTable) -> None:
    assert table.ask("a", "run", SHARED)
    assert table.ask("b", "other", SHARED)


def test_a_question_put_again_gets_the_same_answer(table: LeaseTable) -> None:
    assert table.ask("a", "run", ALONE) == table.ask("a", "run", ALONE)


def test_who_waits_alone_is_not_passed_by_readers_that_came_later(table: LeaseTable) -> None:
    first = table.ask("a", "run", SHARED)
    assert table.ask("b", "run", ALONE) is None
    assert table.ask("c", "run", SHARED) is None
    table.release("a", first)
    assert table.ask("c", "run", SHARED) is None
    assert table.ask("b", "run", ALONE)


def test_who_stops_asking_keeps_no_one_waiting(table: LeaseTable, time: Time) -> None:
    table.ask("a", "run", SHARED)
    assert table.ask("b", "run", ALONE) is None
    time.now += 15.0
    assert table.ask("c", "run", SHARED)


def test_a_lease_runs_out_at_its_time_and_not_before(table: LeaseTable, time: Time) -> None:
    first = table.ask("a", "run", ALONE)
    assert first is not None
    time.now += 59.0
    assert table.renew("a", "run", ALONE, first)
    time.now += 59.0
    assert table.ask("b", "run", ALONE) is None
    time.now += 1.0
    second = table.ask("b", "run", ALONE)
    assert second is not None
    assert second > first
    assert not table.renew("a", "run", ALONE, first)
    table.release("a", first)  # which takes nothing from the other
    assert [each.name for each in table.leases()] == ["b"]


def test_who_was_away_does_not_hold_by_its_old_generation(table: LeaseTable, time: Time) -> None:
    first = table.ask("a", "run", ALONE)
    assert first is not None
    time.now += 60.0
    second = table.ask("a", "run", ALONE)
    assert second is not None
    assert not table.renew("a", "run", ALONE, first)
    table.release("a", first)
    assert table.renew("a", "run", ALONE, second)


def test_after_a_restart_nothing_is_given_until_all_old_leases_have_run_out(time: Time) -> None:
    table = LeaseTable(60.0, restarted=True, monotonic=time, wall=lambda: 1.0)
    assert table.ask("b", "run", ALONE) is None
    assert table.renew("a", "old", ALONE, 5000)  # held under the table that was lost
    assert not table.renew("c", "liar", ALONE, 4000)
    time.now += 59.0
    assert table.ask("b", "run", ALONE) is None
    time.now += 1.0
    given = table.ask("b", "run", ALONE)
    assert given is not None
    assert given > 5000
    assert not table.renew("a", "old", ALONE, 5000)


def test_a_lease_outlives_the_workers_of_a_run_that_is_gone() -> None:
    # its last renewal may be a sixth of the time of a lease before its end; workers count eighths
    assert WorkerLimits().lease_s * (1 + 1 / 8) + 10.0 < LEASE_TTL_S * (1 - 1 / 6)


class Histories(RuleBasedStateMachine):
    """Any order of questions, renewals, releases and time."""

    def __init__(self) -> None:
        super().__init__()
        self.time = Time()
        self.table = LeaseTable(60.0, monotonic=self.time, wall=self.time)
        self.given: dict[str, tuple[Claim, int, float]] = {}
        self.generations: list[int] = []

    names = st.sampled_from("abcde")
    claims = st.builds(
        Claim,
        st.frozensets(st.sampled_from("xy"), max_size=2),
        st.frozensets(st.sampled_from("z"), max_size=1),
    ) | st.builds(Claim, st.just(frozenset()), st.frozensets(st.sampled_from("xyz"), min_size=1))

    @rule(name=names, claim=claims)
    def ask(self, name: str, claim: Claim) -> None:
        had = self.given.get(name)
        generation = self.table.ask(name, "run", claim)
        if generation is None:
            return
        if had is None or had[2] <= self.time.now:
            assert generation > max(self.generations, default=0)
            self.generations.append(generation)
        else:
            claim = had[0]
        self.given[name] = (claim, generation, self.time.now + 60.0)

    @rule(name=names)
    def renew(self, name: str) -> None:
        if name in self.given:
            claim, generation, until = self.given[name]
            renewed = self.table.renew(name, "run", claim, generation)
            assert renewed == (until > self.time.now)
            if renewed:
                self.given[name] = (claim, generation, self.time.now + 60.0)

    @rule(name=names)
    def release(self, name: str) -> None:
        if name in self.given:
            self.table.release(name, self.given.pop(name)[1])

    @rule(seconds=st.sampled_from([1.0, 14.0, 30.0, 60.0]))
    def wait(self, seconds: float) -> None:
        self.time.now += seconds

    @invariant()
    def no_two_hold_what_one_has_alone(self) -> None:
        alive = [claim for claim, _, until in self.given.values() if until > self.time.now]
        assert len(self.table.leases()) == len(alive)
        for number, one in enumerate(alive):
            assert not any(conflict(one, other) for other in alive[number + 1 :])


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def run_virtually(main: Coroutine[Any, Any, Result]) -> Result:
    return run_in_virtual_time(main, VirtualClock())


class LoopClock:
    def now(self) -> Any:
        raise NotImplementedError

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def locks(broker: MemoryBroker, owner: str = "run", here: Any = None) -> LeasedLocks:
    return LeasedLocks(broker, owner, here or NoLocks(), clock=LoopClock())


def test_two_runs_on_two_machines_do_not_share_a_site() -> None:
    async def both() -> None:
        broker, waited = MemoryBroker(), []
        async with locks(broker, "one") as one, locks(broker, "two") as two:
            first = await one.acquire(WRITE, waited.append)
            second = asyncio.ensure_future(two.acquire(WRITE, waited.append))
            await asyncio.sleep(1000.0)  # renewed all the time
            assert not second.done()
            assert waited == list(WRITE)
            first.release()
            (await second).release()

    run_virtually(both())


def test_a_site_of_a_run_that_is_gone_is_free_when_its_lease_has_run_out() -> None:
    async def gone() -> float:
        broker = MemoryBroker()
        dead = locks(broker, "dead")  # never renews: its loop is gone
        await dead.acquire(WRITE, lambda _: None)
        began = asyncio.get_running_loop().time()
        async with locks(broker) as alive:
            (await alive.acquire(WRITE, lambda _: None)).release()
            return asyncio.get_running_loop().time() - began

    assert LEASE_TTL_S <= run_virtually(gone()) <= LEASE_TTL_S + 1.0


def test_what_is_waited_for_on_this_machine_is_not_held_in_the_cluster(tmp_path: Path) -> None:
    async def wait() -> list[object]:
        broker = MemoryBroker()
        local = await FileLocks(tmp_path).acquire(WRITE, lambda _: None)  # a run without Ray
        async with LeasedLocks(broker, "run", FileLocks(tmp_path)) as held:
            waiting = asyncio.ensure_future(held.acquire(WRITE, lambda _: None))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            before = list(broker.table.leases())
            local.release()
            (await waiting).release()
        return before

    assert asyncio.run(wait()) == []


def test_nothing_is_renewed_after_the_end() -> None:
    async def end() -> set[asyncio.Task[Any]]:
        async with locks(MemoryBroker()):
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(end()) == set()


def test_who_cannot_renew_knows_before_another_gets_it() -> None:
    async def cut() -> tuple[float, bool]:
        broker, lost = MemoryBroker(), asyncio.Event()
        async with locks(broker) as held:
            began = asyncio.get_running_loop().time()
            (await held.acquire(WRITE, lambda _: None)).when_lost(lost.set)
            broker.cut_off = True
            await lost.wait()
            return asyncio.get_running_loop().time() - began, bool(broker.table.leases())

    after, still_held = run_virtually(cut())
    assert still_held
    assert after <= LEASE_TTL_S * 0.75


def test_a_broker_that_is_back_in_time_costs_nothing() -> None:
    async def cut() -> bool:
        broker, lost = MemoryBroker(), asyncio.Event()
        async with locks(broker) as held:
            (await held.acquire(WRITE, lambda _: None)).when_lost(lost.set)
            broker.cut_off = True
            await asyncio.sleep(LEASE_TTL_S / 3)
            broker.cut_off = False
            await asyncio.sleep(LEASE_TTL_S * 3)
        return lost.is_set()

    assert run_virtually(cut()) is False


def test_a_lease_that_counts_no_longer_is_lost() -> None:
    async def refused() -> None:
        broker, lost = MemoryBroker(), asyncio.Event()
        async with locks(broker) as held:
            leased = await held.acquire(WRITE, lambda _: None)
            leased.when_lost(lost.set)
            for each in broker.table.leases():
                broker.table.release(each.name)
            await asyncio.wait_for(lost.wait(), LEASE_TTL_S / 3)
            late = asyncio.Event()
            leased.when_lost(late.set)  # also who asks only now
            assert late.is_set()

    run_virtually(refused())


def test_a_broker_that_gives_no_answer_is_an_error_after_a_minute_of_patience() -> None:
    async def silent() -> float:
        broker = MemoryBroker()
        broker.cut_off = True
        async with locks(broker) as held:
            with pytest.raises(EnvironmentFaultError, match="no answer"):
                await held.acquire(WRITE, lambda _: None)
        return asyncio.get_running_loop().time()

    assert 60.0 <= run_virtually(silent()) <= 70.0


def test_who_gives_up_waiting_keeps_no_one_waiting() -> None:
    async def give_up() -> None:
        broker = MemoryBroker()
        async with locks(broker) as held:
            read = (Resource(name="gitlab", mode="shared"),)
            await held.acquire(read, lambda _: None)
            writer = asyncio.ensure_future(held.acquire(WRITE, lambda _: None))
            await asyncio.sleep(1.0)
            writer.cancel()
            await asyncio.sleep(0.1)
            await asyncio.wait_for(held.acquire(read, lambda _: None), 1.0)

    run_virtually(give_up())
