"""The provider's own behaviour, on machines in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.machines import JournaledProvider, Leases, MachineError, Owner, QuarantinedError
from bench_core.testing import ProviderConformance
from bench_core.testing.machines import MemoryBackend, SetClock

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.machines import Found


class TestMemoryProvider(ProviderConformance):
    @pytest.fixture
    def backend(self, clock: SetClock) -> MemoryBackend:
        return MemoryBackend(clock=clock)

    @pytest.fixture
    def spec(self) -> dict[str, JsonValue]:
        return {"size": 1}

    @pytest.fixture
    def other_spec(self) -> dict[str, JsonValue]:
        return {"size": 2}


class SameInstance(MemoryBackend):
    """A reset that cleaned all, and left the program from before."""

    async def instance(self, name: str) -> str:
        return "same"


class UnknownInstance(MemoryBackend):
    """What runs after a reset is not known."""

    known = True

    async def instance(self, name: str) -> str:
        if self.known:
            return "before"
        raise MachineError("planted")

    async def restore(self, name: str, tag: str) -> Found:
        self.known = False
        return await super().restore(name, tag)


@pytest.mark.parametrize("kind", [SameInstance, UnknownInstance])
async def test_a_reset_after_which_no_other_instance_is_seen_quarantines(
    kind: type[MemoryBackend], tmp_path: Path
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = JournaledProvider(kind(), tmp_path, owner)
        machine = await provider.start("slot", {"size": 1})
        with pytest.raises(QuarantinedError, match="another instance"):
            await provider.reset(machine)
