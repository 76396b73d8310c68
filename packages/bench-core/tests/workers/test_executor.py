"""What the executor does with workers that do not start or do not stay, without any process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.__about__ import __version__
from bench_core.agent_process.framing import PROTOCOL, decode_line
from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import TrialContext
from bench_core.records import Task
from bench_core.redaction import Redactor
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
    """Starts workers, in the first place only once."""

    name = "toys"

    def __init__(self) -> None:
        self.opened: list[int] = []

    async def open(self, slot: int, folder: Path) -> MortalLink:
        del folder
        self.opened.append(slot)
        if self.opened.count(0) > 1 and slot == 0:
            raise EnvironmentFaultError("the node is gone")
        return MortalLink(f"worker {slot + 1}")

    async def close(self) -> None:
        """Do nothing."""


async def test_a_place_in_which_no_worker_starts_any_more_is_given_up_while_others_go_on(
    tmp_path: Path,
) -> None:
    transport = LostNode()
    events: list[tuple[str, dict[str, Any]]] = []
    executor = WorkerExecutor(
        transport, Recipe(prepare="toys:prepare"), {}, {"packages": {}, "agent": None},
        slots=2, run_folder=tmp_path, limits=WorkerLimits(), redactor=Redactor(()),
        on_event=lambda kind, data: events.append((kind, data)),
    )  # fmt: skip
    context = TrialContext(run_id="1", folder=tmp_path)
    lost = []
    async with executor:
        for token in ("a", "b", "c"):
            own = context.for_attempt(context.meter, context.processes, {}, token=token)
            with pytest.raises(WorkerLostError) as raised:
                await executor.run(TASK, own)
            lost.append(str(raised.value))
    assert lost == [f"worker {number} ended with exit code 1" for number in (1, 2, 2)]
    given_up = [data for kind, data in events if kind == "worker_given_up"]
    assert given_up == [{"worker": 1, "reason": "the node is gone"}]
