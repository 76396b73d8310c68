from __future__ import annotations

import asyncio
import signal

from browser_use import utils

from bench_core.browser_use import without_signal_handlers


async def test_ctrl_c_stays_with_who_runs_the_agents() -> None:
    loop = asyncio.get_running_loop()
    pressed = asyncio.Event()
    loop.add_signal_handler(signal.SIGINT, pressed.set)
    try:
        with without_signal_handlers():
            handler = utils.SignalHandler(loop=loop)
            handler.register()
            signal.raise_signal(signal.SIGINT)
            await asyncio.wait_for(pressed.wait(), 60)
            handler.unregister()
        pressed.clear()
        signal.raise_signal(signal.SIGINT)
        await asyncio.wait_for(pressed.wait(), 60)
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def test_browser_use_gets_its_signal_handler_back() -> None:
    original = utils.SignalHandler
    with without_signal_handlers(), without_signal_handlers():
        assert utils.SignalHandler is not original

    assert utils.SignalHandler is original
