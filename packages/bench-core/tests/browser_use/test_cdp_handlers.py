from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cdp_use.cdp.registry import EventRegistry

from bench_core.browser_use import fan_out, registry_fans_out

EVENT = "Page.lifecycleEvent"


async def _heard(registry: Any, event: str = EVENT) -> list[str]:
    heard: list[str] = []
    for name in ("first", "second"):
        registry.register(event, lambda params, session, n=name: heard.append(f"{n} {params}"))
    await registry.handle_event(event, "load", "session")
    return heard


async def test_every_handler_of_an_event_is_called_in_order() -> None:
    with fan_out():
        assert await _heard(EventRegistry()) == ["first load", "second load"]


async def test_what_must_be_answered_once_still_goes_to_the_last_handler() -> None:
    with fan_out():
        assert await _heard(EventRegistry(), "Fetch.requestPaused") == ["second load"]


async def test_a_failing_handler_does_not_silence_the_others() -> None:
    heard = []

    def fail(*_: Any) -> None:
        raise RuntimeError("handler")

    async def fail_later(*_: Any) -> None:
        raise RuntimeError("later")

    with fan_out():
        registry = EventRegistry()
        registry.register(EVENT, fail)
        registry.register(EVENT, fail_later)
        registry.register(EVENT, lambda *_: heard.append("third"))
        await registry.handle_event(EVENT, {}, None)

    assert heard == ["third"]


async def test_handlers_that_wait_are_waited_for() -> None:
    done = []

    async def slow(*_: Any) -> None:
        await asyncio.sleep(0)
        done.append("slow")

    with fan_out():
        registry = EventRegistry()
        registry.register(EVENT, slow)
        registry.register(EVENT, lambda *_: done.append("quick"))
        assert await registry.handle_event(EVENT, {}, None)

    assert sorted(done) == ["quick", "slow"]


async def test_the_same_handler_is_called_once() -> None:
    calls = []

    def handler(*_: Any) -> None:
        calls.append(1)

    with fan_out():
        registry = EventRegistry()
        registry.register(EVENT, handler)
        registry.register(EVENT, handler)
        await registry.handle_event(EVENT, {}, None)

    assert calls == [1]


async def test_unregistering_removes_all_handlers() -> None:
    with fan_out():
        registry = EventRegistry()
        heard = await _heard(registry)
        registry.unregister(EVENT)

        assert not await registry.handle_event(EVENT, {}, None)
    assert len(heard) == 2


def test_the_last_one_out_restores_cdp_use() -> None:
    original = EventRegistry.register
    with fan_out():
        with fan_out():
            assert registry_fans_out()
        assert registry_fans_out()

    assert EventRegistry.register is original


def test_it_does_nothing_where_cdp_use_calls_all_handlers_itself(
    fixed_cdp_use: None,
) -> None:
    register = EventRegistry.register

    with fan_out() as changed:
        assert not changed
        assert EventRegistry.register is register


@pytest.fixture
def fixed_cdp_use() -> Any:
    """A cdp-use as it will be when its maintainers have fixed it."""
    with fan_out():
        fixed = EventRegistry.register
    original, EventRegistry.register = EventRegistry.register, fixed
    yield
    EventRegistry.register = original
