"""The provider's own behaviour, on machines in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_support.machines import MemoryBackend

from bench_core.machines import JournaledProvider, Leases, MachineError, Owner, QuarantinedError
from bench_core.testing import ProviderConformance

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import JsonValue

    from bench_core.machines import Found
    from bench_core.testing.providers import SetClock


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


class UnknownBefore(MemoryBackend):
    """What ran before a reset is not known."""

    known = False

    async def instance(self, name: str) -> str:
        return "after" if self.known else ""

    async def restore(self, name: str, tag: str) -> Found:
        self.known = True
        return await super().restore(name, tag)


class UnknownAndUnmarked(UnknownBefore):
    """Nor can a mark be written, so that nothing shows a reset."""

    async def soil(self, name: str, mark: str) -> None:
        raise MachineError("planted")


async def test_a_mark_that_is_gone_proves_a_reset_where_the_instance_before_is_unknown(
    tmp_path: Path,
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = JournaledProvider(UnknownBefore(), tmp_path, owner)
        machine = await provider.start("slot", {"size": 1})
        assert (await provider.reset(machine)).name == machine.name


async def test_a_reset_that_neither_instance_nor_mark_proves_quarantines(tmp_path: Path) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = JournaledProvider(UnknownAndUnmarked(), tmp_path, owner)
        machine = await provider.start("slot", {"size": 1})
        with pytest.raises(QuarantinedError, match="nothing shows that it was reset"):
            await provider.reset(machine)


@pytest.mark.parametrize("kind", [SameInstance, UnknownInstance])
async def test_a_reset_after_which_no_other_instance_is_seen_quarantines(
    kind: type[MemoryBackend], tmp_path: Path
) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = JournaledProvider(kind(), tmp_path, owner)
        machine = await provider.start("slot", {"size": 1})
        with pytest.raises(QuarantinedError, match="another instance"):
            await provider.reset(machine)
