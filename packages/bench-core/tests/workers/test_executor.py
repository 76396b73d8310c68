"""What the executor does with workers that do not start or do not stay, without any process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from memory_broker import MemoryBroker

from bench_core.__about__ import __version__
from bench_core.agent_process.messages import PROTOCOL
from bench_core.child_process.framing import decode_line
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.files import FileLock
from bench_core.protocols import TrialContext
from bench_core.records import Task
from bench_core.redaction import Redactor
from bench_core.scheduling import Claim, FileLocks, NoLocks
from bench_core.workers import Bindings, Placement, Recipe, WorkerLostError
from bench_core.workers.attempt import WorkerLimits
from bench_core.workers.executor import WorkerExecutor

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import TrialResult
    from bench_core.scheduling.places import Place

TASK = Task(benchmark="toys", task_id="quick-1", goal="Be quick")


class MortalLink:
    """A worker that gets ready and dies of the first attempt."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self._frames: list[dict[str, Any]] = [
            {"type": "hello", "protocol": PROTOCOL, "bench_core": __version__},
            {"type": "ready", "packages": {}, "agent": None},
        ]

    def send(self, line: bytes) -> None:
        if decode_line(line)["type"] == "run":
            self.alive = False

    async def receive(self) -> dict[str, Any] | None:
        return self._frames.pop(0) if self._frames else None

    def hang_up(self) -> None:
        self.alive = False

    kill = hang_up

    async def how_ended(self) -> str:
        return "ended with exit code 1"


class LateLink(MortalLink):
    """A worker that answers with the result of an attempt that is not the one it was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.told: list[dict[str, Any]] = []

    def send(self, line: bytes) -> None:
        if decode_line(line)["type"] == "run":
            self.alive = False
            stored = {"url": "s3://lab/run/task/1/old", "manifest_sha256": "0" * 64}
            self._frames.append({"type": "result", "token": "old", "stored": stored})
        self.told.append(decode_line(line))


class LostNode:
    """Starts workers, but in the first place, after the first or at once, fails so often."""

    name = "toys"

    def __init__(
        self, broker: MemoryBroker | None = None, failures: int = 1000, *, at_once: bool = False
    ) -> None:
        self.opened: list[int] = []
        self.labels: dict[int, frozenset[str]] = {}
        self._first = 0 if at_once else 1
        self._failures = failures
        self._broker = broker

    async def nodes(self) -> None:
        """Return none: there is one."""

    async def open(
        self, slot: int, folder: Path, labels: frozenset[str] = frozenset()
    ) -> MortalLink:
        del folder
        self.labels[slot] = labels
        self.opened.append(slot)
        if slot == 0 and 0 < self.opened.count(0) - self._first <= self._failures:
            raise EnvironmentFaultError("the node is gone")
        return MortalLink(f"worker {slot + 1}")

    def broker(self) -> MemoryBroker | None:
        return self._broker

    async def close(self) -> None:
        """Do nothing."""


Events = list[tuple[str, dict[str, Any]]]


def executor_of(
    transport: LostNode, folder: Path, events: Events, slots: int = 2, **more: Any
) -> WorkerExecutor:
    recipe = Recipe(prepare="toys:prepare", holds=more.pop("holds", ()))
    placement = more.pop("placement", Placement.anywhere(slots))
    given = {"locks": NoLocks(), "owner": "run", **more}
    return WorkerExecutor(
        transport, recipe, {}, {"packages": {}, "agent": None}, placement=placement, run_folder=folder,
        limits=WorkerLimits(), redactor=Redactor(()), **given,
        on_event=lambda kind, data: events.append((kind, data)),
    )  # fmt: skip


async def attempt(place: Place, context: TrialContext) -> TrialResult:
    try:
        return await place.run(TASK, context)
    finally:
        place.free()


async def run_two(executor: WorkerExecutor, folder: Path, tokens: str) -> set[str]:
    """Run two attempts at once and return what became of their workers, which all die."""
    context = TrialContext(run_id="1", folder=folder)
    owns = [
        context.for_attempt(context.meter, context.processes, {}, token=each) for each in tokens
    ]
    places = [executor.take(Claim()) for _ in owns if executor.has_room(Claim())]
    attempts = [attempt(place, own) for place, own in zip(places, owns, strict=False)]
    found = await asyncio.gather(*attempts, return_exceptions=True)
    assert {type(each) for each in found} == {WorkerLostError}
    return {str(each) for each in found}


DIED = [f"worker {number} ended with exit code 1" for number in (1, 2)]


async def test_a_place_in_which_no_worker_starts_any_more_is_given_up_while_others_go_on(
    tmp_path: Path,
) -> None:
    transport, events = LostNode(), []
    async with executor_of(transport, tmp_path, events) as executor:
        assert await run_two(executor, tmp_path, "ab") == set(DIED)
        assert await run_two(executor, tmp_path, "cd") == {DIED[1]}
    given_up = [data for kind, data in events if kind == "worker_given_up"]
    assert given_up == [{"worker": 1, "reason": "the node is gone"}]
    assert transport.opened.count(0) == 1 + 3


async def test_a_worker_that_did_not_start_once_is_started_again(tmp_path: Path) -> None:
    transport, events = LostNode(failures=2), []
    async with executor_of(transport, tmp_path, events) as executor:
        assert await run_two(executor, tmp_path, "ab") == set(DIED)
        assert await run_two(executor, tmp_path, "cd") == set(DIED)
    assert [kind for kind, _ in events if kind == "worker_given_up"] == []
    assert transport.opened.count(0) == 1 + 2 + 1


async def test_a_worker_that_does_not_start_with_the_run_is_started_when_it_is_needed(
    tmp_path: Path,
) -> None:
    transport, events = LostNode(failures=2, at_once=True), []
    async with executor_of(transport, tmp_path, events) as executor:
        assert transport.opened == [0, 1]
        assert await run_two(executor, tmp_path, "ab") == set(DIED)
    assert [kind for kind, _ in events if kind == "worker_given_up"] == []
    assert transport.opened.count(0) == 2 + 1


async def test_a_run_does_not_begin_without_a_worker_that_its_trials_need(tmp_path: Path) -> None:
    for placement in (Placement.anywhere(1), BOUND):
        transport = LostNode(at_once=True)
        with pytest.raises(EnvironmentFaultError, match="the node is gone"):
            async with executor_of(transport, tmp_path, [], placement=placement):
                pass
        assert transport.opened.count(0) == 1


VMS = (("vm:one",), ("vm:two",))


async def test_what_a_worker_has_alone_is_held_in_the_cluster_as_long_as_the_run(
    tmp_path: Path,
) -> None:
    broker = MemoryBroker()
    executor = executor_of(
        LostNode(broker), tmp_path, [], locks=FileLocks(tmp_path / "locks"), holds=VMS
    )
    (tmp_path / "locks").mkdir()
    async with executor:
        held = {name for each in broker.table.leases() for name in each.claim.exclusive}
        # which is the worker's to lock on its own machine
        assert FileLock.for_resource("vm:one", tmp_path / "locks").try_acquire()
    assert held == {"vm:one", "vm:two"}
    assert not broker.table.leases()


async def test_a_vm_of_another_run_is_refused_when_its_lease_must_have_run_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_core.workers.executor.LEASE_TTL_S", 0.5)
    broker, events = MemoryBroker(), []
    await broker.ask("its", "other", Claim(exclusive=frozenset({"vm:two"})))
    executor = executor_of(LostNode(broker), tmp_path, events, locks=FileLocks(tmp_path), holds=VMS)
    with pytest.raises(InputError, match="vm:two: another run of the cluster has it"):
        async with executor:
            pass
    assert ("waiting", {"resource": "vm:two", "mode": "exclusive"}) in events
    assert [each.owner for each in broker.table.leases()] == ["other"]


async def test_a_worker_whose_lease_is_lost_is_ended(tmp_path: Path) -> None:
    transport = LostNode(MemoryBroker())
    executor = executor_of(
        transport, tmp_path, [], slots=1, locks=FileLocks(tmp_path), holds=VMS[:1]
    )
    async with executor:
        (slot,) = executor._all.values()
        assert slot.link is not None
        assert slot.held is not None
        slot.held.lose()  # type: ignore[attr-defined]  # as the renewals do
        assert not slot.link.alive
        assert slot.held is None


async def test_what_no_other_process_can_reach_is_not_leased(tmp_path: Path) -> None:
    broker = MemoryBroker()
    async with executor_of(LostNode(broker), tmp_path, [], holds=VMS) as executor:
        assert isinstance(executor.locks, NoLocks)
        assert not broker.table.leases()


BOUND = Placement(
    (frozenset({"lab"}), frozenset()),
    Bindings(["site:lab=lab"]),
    frozenset({frozenset({"lab"}), frozenset()}),
)
LAB = Claim(shared=frozenset({"site:lab"}))


async def test_what_is_bound_waits_for_its_workers_while_others_are_free(tmp_path: Path) -> None:
    transport = LostNode(failures=0)
    async with executor_of(transport, tmp_path, [], placement=BOUND) as executor:
        place = executor.take(LAB)
        assert (executor.has_room(LAB), executor.has_room(Claim())) == (False, True)
        place.free()
        assert executor.has_room(LAB)
    assert transport.labels == {0: frozenset({"lab"}), 1: frozenset()}


async def test_what_may_run_anywhere_leaves_workers_free_that_others_need(tmp_path: Path) -> None:
    async with executor_of(LostNode(failures=0), tmp_path, [], placement=BOUND) as executor:
        executor.take(Claim())
        assert executor.has_room(LAB)
        executor.take(Claim())
        assert not executor.has_room(LAB)


async def test_what_only_a_lost_worker_could_run_fails_each_time_and_not_for_ever(
    tmp_path: Path,
) -> None:
    events: Events = []
    context = TrialContext(run_id="1", folder=tmp_path)
    own = context.for_attempt(context.meter, context.processes, {}, token="a")
    async with executor_of(LostNode(), tmp_path, events, placement=BOUND) as executor:
        with pytest.raises(WorkerLostError):
            await attempt(executor.take(LAB), own)
        for _ in range(4):
            with pytest.raises(EnvironmentFaultError, match="the node is gone"):
                await attempt(executor.take(LAB), own)
        assert executor.has_room(LAB)
    assert [kind for kind, _ in events if kind == "worker_given_up"] == []


async def test_the_only_worker_for_what_is_bound_is_not_given_up(tmp_path: Path) -> None:
    events: Events = []
    context = TrialContext(run_id="1", folder=tmp_path)
    own = context.for_attempt(context.meter, context.processes, {}, token="a")
    async with executor_of(LostNode(), tmp_path, events, placement=BOUND) as executor:
        with pytest.raises(WorkerLostError):
            await attempt(executor.take(LAB), own)
        other, lab = executor.take(Claim()), executor.take(Claim())
        waits = asyncio.ensure_future(attempt(lab, own))
        for _ in range(200):
            await asyncio.sleep(0)
        other.free()
        with pytest.raises(WorkerLostError, match="worker 2 ended"):
            await waits
        assert executor.has_room(LAB)
    assert [kind for kind, _ in events if kind == "worker_given_up"] == []


async def test_who_waits_for_another_worker_gets_the_first_that_is_free(tmp_path: Path) -> None:
    events: Events = []
    context = TrialContext(run_id="1", folder=tmp_path)
    own = context.for_attempt(context.meter, context.processes, {}, token="a")
    async with executor_of(LostNode(), tmp_path, events) as executor:
        first, second = executor.take(Claim()), executor.take(Claim())
        with pytest.raises(WorkerLostError):
            await first.run(TASK, own)
        waits = asyncio.ensure_future(first.run(TASK, own))  # its worker does not start any more
        for _ in range(200):
            await asyncio.sleep(0)
        assert [kind for kind, _ in events if kind == "worker_given_up"]
        second.free()
        with pytest.raises(WorkerLostError, match="worker 2 ended"):
            await waits
        first.free()
        assert executor.has_room(Claim())


async def test_an_executor_leaves_nothing_running(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with executor_of(LostNode(), tmp_path, []):
        assert asyncio.all_tasks() > before
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_late_result_says_where_its_files_are_and_is_not_taken(tmp_path: Path) -> None:
    class Late(LostNode):
        async def open(self, slot: int, folder: Path, labels: Any = frozenset()) -> MortalLink:
            links.append(LateLink(f"worker {slot + 1}"))
            return links[-1]

    links: list[LateLink] = []
    events: Events = []
    context = TrialContext(run_id="1", folder=tmp_path)
    own = context.for_attempt(context.meter, context.processes, {}, token="new")
    async with executor_of(Late(), tmp_path, events, slots=1) as executor:
        with pytest.raises(WorkerLostError):
            await attempt(executor.take(Claim()), own)
    (late,) = (data for kind, data in events if kind == "late_result")
    assert late == {"worker": "worker 1", "token": "old", "stored": "s3://lab/run/task/1/old"}
    answers = [each for each in links[0].told if each["type"] == "acknowledge"]
    assert [(each["token"], each["accepted"]) for each in answers] == [("old", False)]
