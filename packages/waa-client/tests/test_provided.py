"""VMs of a provider: which is used next when one does not start."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.discovery import find_plugins
from bench_core.machines import MachineError
from bench_core.records import Task
from bench_core.scheduling import NoLocks
from waa_client.pool import VmPool
from waa_client.provided import ProvidedVms

if TYPE_CHECKING:
    from pathlib import Path


SIMULATED = pytest.mark.skipif(
    not find_plugins("world"), reason="no simulated desktop is installed here"
)
TASK = Task(benchmark="waa", task_id="a", goal="Do it.")


class OneDead(ProvidedVms):
    """Two VMs, of which the first does not start."""

    tried: tuple[int, ...] = ()

    async def _clean(self, slot: int) -> SimpleNamespace:  # type: ignore[override]
        self.tried += (slot,)
        if slot == 0:
            raise MachineError("dead")
        return SimpleNamespace(urls={"vm": "http://vm:5000/", "evaluate": "http://vm:5050"})


@pytest.mark.parametrize(
    ("spec", "scored"),
    [
        pytest.param({"urls": {"vm": "http://x"}}, False, id="vm-alone"),
        pytest.param({"urls": {"vm": "http://x", "evaluate": "http://y"}}, True, id="evaluator"),
        pytest.param({"world": "waa"}, True, id="simulated", marks=SIMULATED),
        pytest.param({}, False, id="no-address"),
    ],
)
def test_vms_without_an_evaluator_score_nothing(
    spec: dict[str, Any], scored: bool, tmp_path: Path
) -> None:
    said = ProvidedVms("process", 1, spec, folder=tmp_path).unscored([TASK])
    assert (said is None) is scored
    assert scored or "`evaluate` in `urls` of --vm-spec" in str(said)


async def test_a_vm_that_does_not_start_rests_while_others_work(tmp_path: Path) -> None:
    pool = OneDead("process", 2, {}, folder=tmp_path)
    pool._pool = VmPool(["0", "1"], NoLocks(), rest_s=600.0)  # longer than any test takes
    with pytest.raises(MachineError, match="dead"):
        async with pool.lease(TASK):
            pass

    async def use() -> str:
        async with pool.lease(TASK) as machine:
            await asyncio.sleep(0)
            return machine.url

    assert await asyncio.gather(*[use() for _ in range(5)]) == ["http://vm:5000"] * 5
    assert pool.tried == (0, 1, 1, 1, 1, 1)
