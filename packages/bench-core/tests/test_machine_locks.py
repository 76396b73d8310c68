"""Resources between processes, with real files and real processes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.files import FileLock
from bench_core.records import Resource
from bench_core.scheduling import FileLocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ = (Resource(name="site:gitlab", mode="shared"),)
WRITE = (Resource(name="site:gitlab"),)

HOLD = """
import sys
from pathlib import Path
from bench_core.files.locks import FileLock
lock = FileLock.for_resource("site:gitlab", Path(sys.argv[1]))
assert lock.try_acquire(shared=sys.argv[2] == "shared")
print("held", flush=True)
sys.stdin.readline()
"""


class OtherProcess:
    """Holds the site until it is released or killed."""

    def __init__(self, folder: Path, mode: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "held\n"

    def release(self) -> None:
        self._process.communicate("\n")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[OtherProcess]:
    process = OtherProcess(tmp_path, "exclusive")
    yield process
    process.kill()


def ignore(resource: Resource) -> None:
    """Listen to nothing."""


async def turn_the_loop(times: int = 5) -> None:
    for _ in range(times):
        await asyncio.sleep(0.03)


async def test_waiting_for_another_process_does_not_block_the_loop(
    tmp_path: Path, writer: OtherProcess
) -> None:
    waited_for: list[Resource] = []
    waiting = asyncio.ensure_future(FileLocks(tmp_path).acquire(WRITE, waited_for.append))
    await turn_the_loop()
    assert not waiting.done()
    assert waited_for == list(WRITE)
    writer.release()
    (await waiting).release()


async def test_a_killed_process_frees_what_it_held(tmp_path: Path, writer: OtherProcess) -> None:
    waiting = asyncio.ensure_future(FileLocks(tmp_path).acquire(READ, ignore))
    await turn_the_loop()
    assert not waiting.done()
    writer.kill()
    (await waiting).release()


async def test_readers_in_two_processes_share(tmp_path: Path) -> None:
    other = OtherProcess(tmp_path, "shared")
    held = await FileLocks(tmp_path).acquire(READ, ignore)
    held.release()
    other.kill()


async def test_giving_up_waiting_frees_what_was_held_already(
    tmp_path: Path, writer: OtherProcess
) -> None:
    both = (Resource(name="site:gitlab"), Resource(name="site:admin"))
    waiting = asyncio.ensure_future(FileLocks(tmp_path).acquire(both, ignore))
    await turn_the_loop()
    admin = FileLock.for_resource("site:admin", tmp_path)
    assert not admin.try_acquire()
    admin.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert admin.try_acquire()
    admin.release()


async def test_nothing_is_held_while_what_comes_first_by_name_is_waited_for(tmp_path: Path) -> None:
    admin, gitlab = (
        FileLock.for_resource(name, tmp_path) for name in ("site:admin", "site:gitlab")
    )
    assert admin.try_acquire()
    both = (Resource(name="site:gitlab"), Resource(name="site:admin"))
    waiting = asyncio.ensure_future(FileLocks(tmp_path).acquire(both, ignore))
    await turn_the_loop()
    assert gitlab.try_acquire()
    for each in (admin, gitlab):
        each.release()
    (await waiting).release()


def test_waiting_readers_go_before_the_next_writer(tmp_path: Path) -> None:
    first, reader, second = (FileLock.for_resource("site:gitlab", tmp_path) for _ in range(3))
    assert first.try_acquire()
    assert not reader.try_acquire(shared=True)
    first.release()
    assert not second.try_acquire()
    assert reader.try_acquire(shared=True)
    reader.release()
    assert second.try_acquire()
    second.release()


def test_a_waiting_writer_goes_before_new_readers(tmp_path: Path) -> None:
    reader, writer, late = (FileLock.for_resource("site:gitlab", tmp_path) for _ in range(3))
    assert reader.try_acquire(shared=True)
    assert not writer.try_acquire()
    assert not late.try_acquire(shared=True)
    reader.release()
    assert writer.try_acquire()
    writer.release()
    late.release()


WORK = """
import asyncio, os, sys
from pathlib import Path
from bench_core.records import Resource
from bench_core.scheduling import FileLocks

folder = Path(sys.argv[1])
inside = folder / "inside"

async def visit(locks, resources):
    held = await locks.acquire(resources, lambda resource: None)
    os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
    await asyncio.sleep(0.005)
    inside.unlink()
    held.release()

async def main():
    both = [Resource(name="site:gitlab"), Resource(name="site:reddit")]
    orders = [both, both[:1], both[::-1]]
    await asyncio.gather(*(visit(FileLocks(folder), orders[n % 3]) for n in range(6)))

asyncio.run(main())
"""


def test_writers_of_several_processes_are_never_inside_together_and_all_get_in(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", WORK, str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    try:
        assert [process.wait(timeout=60) for process in processes] == [0, 0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
