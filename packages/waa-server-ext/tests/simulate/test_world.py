"""The world entry point: found by name, many at once, one never disturbs another."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from actions import Hands

from bench_core.agents import Click, ElementRef, TypeText
from bench_core.discovery import load_plugin
from bench_core.errors import UnknownTaskError
from bench_core.testing import WorldConformance
from waa_server_ext.built_in import SimulatedDesktopWorld
from waa_server_ext.simulate import SimulatedVm, snapshot
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.desktop.keyboard import KEYS
from waa_server_ext.simulate.desktop.window_manager import MAX_WINDOWS
from waa_server_ext.simulate.machine.computer import Machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.protocols import World

EVENTS = int(os.environ.get("DESKTOP_EVENTS", "20000"))


class TestSimulatedDesktopWorld(WorldConformance):
    @pytest.fixture
    def world(self) -> World:
        return SimulatedDesktopWorld()


def test_the_world_is_found_by_its_name() -> None:
    assert load_plugin("world", "waa") is SimulatedDesktopWorld


def test_an_unknown_task_is_refused_before_anything_listens() -> None:
    with pytest.raises(UnknownTaskError):
        asyncio.run(SimulatedDesktopWorld().start(task="notepad/none"))


def test_the_server_sets_built_in_tasks_up_without_the_web() -> None:
    world = SimulatedDesktopWorld()
    asyncio.run(world.start())
    try:
        with httpx.Client(base_url=world.evaluate_url, timeout=60, trust_env=False) as server:
            names = server.get("/tasks").json()["tasks"]
            assert set(world.solutions()) <= set(names)
            task = "file_explorer/0c9dda13-428c-492b-900b-f48562111f93-WOS"
            assert server.post("/setup", json={"task": task}).json()["ok"]
        assert world.vm is not None
        is_file = methodcaller("is_file", "C:\\Users\\Docker\\Documents\\Doc01.docx")
        assert is_file(world.vm.call(attrgetter("machine.files")))
    finally:
        world.close()


def test_eight_desktops_do_not_disturb_each_other(next_vm_host: Callable[[], str]) -> None:
    vms = [SimulatedVm(host=next_vm_host()) for _ in range(8)]

    def episode(number: int) -> str:
        hands = Hands(vms[number].url)
        hands.update([])
        for _ in range(3):
            hands.act(Click(target=ElementRef(element="Start")))
            hands.act(Click(target=ElementRef(element="Notepad")))
            hands.act(TypeText(text=f"desktop {number}"))
        hands.close()
        window = vms[number].call(snapshot).windows[-1]
        return str(window.state["text"])

    for vm in vms:
        vm.start()
    try:
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(episode, range(8))) == [f"desktop {number}" for number in range(8)]
        assert [len(vm.call(snapshot).windows) for vm in vms] == [3] * 8
    finally:
        for vm in vms:
            vm.stop()


def _random_input(desktop: Desktop, source: random.Random, count: int) -> None:
    keys = sorted(KEYS)
    does: tuple[Callable[[], Any], ...] = (
        lambda: desktop.mouse.move(source.randrange(-50, 1500), source.randrange(-50, 950)),
        lambda: desktop.mouse.click(source.choice(("left", "left", "left", "right", "middle")), source.choice((1, 1, 2))),
        desktop.mouse.press, desktop.mouse.release,
        lambda: desktop.mouse.scroll(source.choice((-400, 400, 1))),
        lambda: desktop.keyboard.press(source.choice(keys)),
        lambda: desktop.keyboard.hotkey(source.choice(("ctrl", "alt", "win", "shift")), source.choice(keys)),
        lambda: desktop.keyboard.write("".join(source.choice("abc 123.\n\t\\:é") for _ in range(source.randrange(12)))),
    )  # fmt: skip
    for _ in range(count):
        source.choice(does)()
        desktop.machine.clock.advance(0.3)


def test_random_input_neither_crashes_nor_opens_without_end() -> None:
    desktop = Desktop(Machine.fresh())
    _random_input(desktop, random.Random(7), 2_000)  # noqa: S311  # repeatable
    assert len(desktop.windows) <= MAX_WINDOWS
    assert desktop.picture().size == (1440, 900)


@pytest.mark.slow
def test_many_events_neither_crash_nor_grow() -> None:
    desktop, source = Desktop(Machine.fresh()), random.Random(1)  # noqa: S311  # repeatable
    _random_input(desktop, source, 4 * EVENTS // 10)
    desktop.picture()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(6):
        _random_input(desktop, source, EVENTS // 10)
        desktop.picture()
    gc.collect()
    # what is bounded (undo, menus, text kept for drawing) may still fill up, nothing adds up
    assert sys.getallocatedblocks() - before < 400_000
    assert len(desktop.windows) <= MAX_WINDOWS
