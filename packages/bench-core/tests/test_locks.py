from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bench_core.errors import RunFolderBusyError
from bench_core.files import FileLock
from bench_core.files.locks import lock_folder, lock_for_writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from bench_core.files.locks import FileLock
lock = FileLock.for_resource(sys.argv[1], Path(sys.argv[2]))
assert lock.try_acquire(shared=sys.argv[3] == "shared")
print("held", flush=True)
sys.stdin.readline()
"""

Hold = "Callable[[str, str], subprocess.Popen[str]]"


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    """Hold a lock in another process until it is told to stop or killed."""
    started = []

    def start(name: str, mode: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, name, str(tmp_path), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_another_process_keeps_an_exclusive_lock_from_us_until_it_dies(
    tmp_path: Path, hold: Hold
) -> None:
    lock = FileLock.for_resource("vm:1", tmp_path)
    other = hold("vm:1", "exclusive")
    assert lock.try_acquire() is False
    assert lock.try_acquire(shared=True) is False
    holder = lock.holder()
    assert holder is not None
    assert holder.pid == other.pid
    other.kill()
    other.wait()
    with lock:
        assert lock.held


def test_readers_of_several_processes_share(tmp_path: Path, hold: Hold) -> None:
    hold("site:gitlab", "shared")
    hold("site:gitlab", "shared")
    lock = FileLock.for_resource("site:gitlab", tmp_path)
    assert lock.try_acquire(shared=True) is True
    lock.release()
    assert lock.try_acquire() is False
    lock.release()


def test_locks_of_other_names_do_not_meet(tmp_path: Path, hold: Hold) -> None:
    hold("site:a/b", "exclusive")
    with FileLock.for_resource("site:a_b", tmp_path) as lock:
        assert lock.held


def test_a_waiting_writer_keeps_new_readers_out(tmp_path: Path) -> None:
    reader, writer, late = (FileLock.for_resource("site", tmp_path) for _ in range(3))
    assert reader.try_acquire(shared=True)
    assert not writer.try_acquire()
    assert not late.try_acquire(shared=True)
    reader.release()
    assert writer.try_acquire()
    writer.release()
    assert late.try_acquire(shared=True)
    late.release()


def test_a_writer_that_gives_up_lets_readers_in_again(tmp_path: Path) -> None:
    reader, writer, late = (FileLock.for_resource("site", tmp_path) for _ in range(3))
    assert reader.try_acquire(shared=True)
    assert not writer.try_acquire()
    writer.release()
    assert late.try_acquire(shared=True)
    for lock in (reader, late):
        lock.release()


def test_locking_twice_with_one_object_is_a_mistake(tmp_path: Path) -> None:
    with (
        FileLock.for_resource("site", tmp_path) as lock,
        pytest.raises(RuntimeError, match="already locked"),
    ):
        lock.try_acquire()


def test_a_folder_has_one_writer_who_is_named(tmp_path: Path) -> None:
    lock = lock_for_writing(tmp_path)
    with pytest.raises(RunFolderBusyError, match="is being written by process") as refusal:
        lock_for_writing(tmp_path)
    assert refusal.value.holder == lock.holder()
    lock.release()
    lock_for_writing(tmp_path).release()


async def test_a_lock_is_waited_for_while_other_tasks_go_on(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "a"), FileLock(tmp_path / "a")

    async def wait() -> bool:
        async with second:
            return first.held

    async with first:
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        assert not waiting.done()
    assert await waiting is False
    assert not second.held


def test_nobody_holds_a_lock_that_was_never_taken(tmp_path: Path) -> None:
    assert FileLock(tmp_path / "new.lock").holder() is None


def test_the_folder_of_locks_can_be_chosen_and_is_private(tmp_path: Path) -> None:
    code = "from bench_core.files.locks import lock_folder; print(lock_folder())"
    chosen = tmp_path / "locks"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PROCTOR_LOCK_DIR": str(chosen)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(chosen)
    assert chosen.stat().st_mode & 0o077 == 0


def test_all_processes_of_a_user_share_one_folder_by_default() -> None:
    assert lock_folder() == lock_folder()
    assert lock_folder().is_dir()


class LockLaws(RuleBasedStateMachine):
    """Whatever a few holders do: one writer alone, or readers, never both; no lock is lost."""

    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.locks = [FileLock.for_resource("site", self.folder) for _ in range(4)]
        self.modes: dict[int, str] = {}

    @rule(index=st.integers(0, 3), shared=st.booleans())
    def try_acquire(self, *, index: int, shared: bool) -> None:
        if index in self.modes:
            return
        self.locks[index].release()  # a waiting writer may come back as a reader
        if self.locks[index].try_acquire(shared=shared):
            self.modes[index] = "shared" if shared else "exclusive"

    @rule(index=st.integers(0, 3))
    def release(self, index: int) -> None:
        self.locks[index].release()
        self.modes.pop(index, None)

    @precondition(lambda self: not self.modes)
    @rule(shared=st.booleans())
    def a_free_lock_can_be_had(self, *, shared: bool) -> None:
        for lock in self.locks:
            lock.release()
        assert self.locks[0].try_acquire(shared=shared)
        self.locks[0].release()

    @invariant()
    def a_writer_is_alone(self) -> None:
        modes = list(self.modes.values())
        assert "exclusive" not in modes or len(modes) == 1
        assert [index for index, lock in enumerate(self.locks) if lock.held] == sorted(self.modes)

    def teardown(self) -> None:
        for lock in self.locks:
            lock.release()


def test_exclusivity_is_never_broken(tmp_path: Path) -> None:
    machine = type("Machine", (LockLaws,), {"folder": tmp_path})
    machine.TestCase.settings = settings(max_examples=60, stateful_step_count=20)
    machine.TestCase("runTest").debug()
