"""Machines that are processes: the contract, worlds, and what is left when drivers die."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from typing import TYPE_CHECKING

import pytest
from test_support.machines import FaultyBackend, faulty_sequence

from bench_core.errors import InputError
from bench_core.machines import Leases, Owner, open_provider
from bench_core.process_table import command_lines
from bench_core.providers import ProcessBackend
from bench_core.testing import ProviderConformance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pydantic import JsonValue

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")

SERVER = (sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1")
WORLD = """
import asyncio
from bench_core.protocols import WorldInfo

class Small:
    name = "small"
    async def start(self):
        self.server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return WorldInfo(name="small", urls={"site": f"http://127.0.0.1:{port}/"})
    async def stop(self):
        self.server.close()
"""


class TestProcessProvider(ProviderConformance):
    @pytest.fixture
    def backend(self, tmp_path: Path) -> ProcessBackend:
        return ProcessBackend(tmp_path / "machines")

    @pytest.fixture
    def spec(self) -> dict[str, JsonValue]:
        return {"command": ["/bin/sleep", "3600"]}

    @pytest.fixture
    def other_spec(self) -> dict[str, JsonValue]:
        return {"command": ["/bin/sleep", "3601"]}


async def test_a_server_answers_and_moves_to_another_port_at_a_reset(tmp_path: Path) -> None:
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("process", owner, tmp_path)
        urls = {"site": "http://127.0.0.1:{port}/"}
        machine = await provider.start("site", {"command": list(SERVER), "urls": urls})
        try:
            again = await provider.reset(machine)
            assert machine.urls["site"].startswith("http://127.0.0.1:")
            assert (await provider.health(again)).urls == again.urls
        finally:
            await provider.stop_all()


async def test_a_built_in_world_runs_in_a_process_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "small_world.py").write_text(WORLD)
    spec = {"world": "small_world:Small", "env": {"PYTHONPATH": str(tmp_path)}}
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("process", owner, tmp_path / "machines")
        machine = await provider.start("world", spec)
        try:
            assert list(machine.urls) == ["site"]
            again = await provider.reset(machine)
            assert (await provider.health(again)).ok
        finally:
            await provider.stop_all()
    assert not [line for _, line in command_lines() if str(tmp_path) in line]


@pytest.mark.parametrize(
    "spec", [{}, {"world": "waa", "command": ["a"]}, {"commands": ["a"]}, {"world": "a", "urls": {"a": "b"}}]
)  # fmt: skip
def test_a_wrong_specification_is_refused(spec: dict[str, JsonValue], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="specification"):
        ProcessBackend(tmp_path).check(spec)


async def test_a_machine_outlives_the_driver_that_was_killed_and_is_reaped(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, pathlib, signal, sys\n"
        "from bench_core.machines import *\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "owner = Owner(Leases(folder)); owner.renew()\n"
        "provider = open_provider('process', owner, folder)\n"
        "asyncio.run(provider.start('slot', {'command': ['/bin/sleep', '3600']}))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", program, str(tmp_path))
    assert await process.wait() == -9
    with Owner(Leases(tmp_path)) as owner:
        provider = open_provider("process", owner, tmp_path)
        (machine,) = await provider.list()
        assert machine.state == "ready"
        later = provider.clock.now().replace(year=2100)
        assert (await provider.reap(later)).removed == (machine.name,)
        assert (await provider.list(), list(await provider.backend.find())) == ([], [])


@pytest.mark.parametrize("fives", range(4))
async def test_fault_sequences_leave_no_process(fives: int, tmp_path: Path) -> None:
    seeds = range(5 * fives, 5 * fives + 5)
    wrong = await asyncio.gather(*(process_sequence(seed, tmp_path / str(seed)) for seed in seeds))
    assert {seed: found for seed, found in zip(seeds, wrong, strict=True) if found} == {}


async def process_sequence(seed: int, folder: Path) -> list[str]:
    inner = ProcessBackend(folder / "machines")

    def partly(name: str, labels: Mapping[str, str], spec: Mapping[str, JsonValue]) -> None:
        (folder / "machines" / name).mkdir(parents=True)

    backend = FaultyBackend(inner, random.Random(seed), create_partly=partly)  # noqa: S311  # chance
    marker = f"36{seed:05d}.{os.getpid()}"  # other processes test the same seeds
    wrong = await faulty_sequence(
        seed, backend, {"command": ["/bin/sleep", marker]}, folder / "books", steps=12
    )
    running = [line for _, line in command_lines() if marker in line]
    folders = [each.name for each in (folder / "machines").glob("*")]
    return [
        *wrong,
        *(f"still runs: {line}" for line in running),
        *(f"folder: {n}" for n in folders),
    ]
