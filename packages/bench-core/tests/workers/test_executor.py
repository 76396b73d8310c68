"""What the executor does with workers that do not start or do not stay, without any process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from memory_broker import MemoryBroker

from bench_core.__about__ import __version__
from bench_core.agent_process.framing import PROTOCOL, decode_line
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.files import FileLock
from bench_core.protocols import TrialContext
from bench_core.records import Task
from bench_core.redaction import Redactor
from bench_core.scheduling import Claim, FileLocks, NoLocks
from bench_core.workers import Recipe, WorkerExecutor, WorkerLimits, WorkerLostError

if TYPE_CHECKING:
    from pathlib import Path

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

    async def ended(self) -> str:
        return "ended with exit code 1"


class LostNode:
    """Starts workers, but in the first place, after the first, fails so often."""

    name = "toys"

    def __init__(self, broker: MemoryBroker | None = None, failures: int = 1000) -> None:
        self.opened: list[int] = []
        self._failures = failures
        self._broker = broker

    async def open(self, slot: int, folder: Path) -> MortalLink:
        del folder
        self.opened.append(slot)
        if slot == 0 and 1 < self.opened.count(0) <= 1 + self._failures:
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
    given = {"locks": NoLocks(), "owner": "run", **more}
    return WorkerExecutor(
        transport, recipe, {}, {"packages": {}, "agent": None}, slots=slots, run_folder=folder,
        limits=WorkerLimits(), redactor=Redactor(()), **given,
        on_event=lambda kind, data: events.append((kind, data)),
    )  # fmt: skip


async def run_two(executor: WorkerExecutor, folder: Path, tokens: str) -> set[str]:
    """Run two attempts at once and return what became of their workers, which all die."""
    context = TrialContext(run_id="1", folder=folder)
    owns = [
        context.for_attempt(context.meter, context.processes, {}, token=each) for each in tokens
    ]
    found = await asyncio.gather(*(executor.run(TASK, own) for own in owns), return_exceptions=True)
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
        (slot,) = executor._all
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
