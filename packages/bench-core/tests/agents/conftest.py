from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

sys.path.insert(0, str(Path(__file__).parent))

from drawn import DrawnDesktop

from bench_core.agents import serve_environment
from bench_core.browser import ChromiumOptions
from bench_core.browser.shared import attached_chromium
from bench_core.protocols import TrialContext
from bench_core.records import AgentTask, Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bench_core.protocols import DesktopHandle


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chromium() -> AsyncIterator[Any]:
    """A Chromium that the tests of a module share, as Playwright's `Browser`: each has a context of its own."""
    pytest.importorskip("playwright", reason="Playwright is an extra")
    async with attached_chromium(ChromiumOptions()) as (_, browser):
        yield browser


@pytest.fixture
def desktop() -> DrawnDesktop:
    return DrawnDesktop()


@pytest.fixture
async def handle(desktop: DrawnDesktop) -> AsyncIterator[DesktopHandle]:
    async with serve_environment(desktop) as served:
        yield served


@pytest.fixture
def task() -> AgentTask:
    return AgentTask(benchmark="drawn", task_id="save-hello", goal="Write hello and save it.")


@pytest.fixture
def context(tmp_path: Path) -> TrialContext:
    return TrialContext(run_id="r", folder=tmp_path, limits=Limits(max_steps=8, time_limit_s=300))
