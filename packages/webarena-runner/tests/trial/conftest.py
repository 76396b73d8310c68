from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from webarena_runner.world import BuiltInWorld

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def world() -> AsyncIterator[BuiltInWorld]:
    world = BuiltInWorld()
    await world.start()
    yield world
    await world.stop()
