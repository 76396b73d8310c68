"""The provider's own behaviour, on machines in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench_core.testing import ProviderConformance
from bench_core.testing.machines import MemoryBackend, SetClock

if TYPE_CHECKING:
    from pydantic import JsonValue


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
