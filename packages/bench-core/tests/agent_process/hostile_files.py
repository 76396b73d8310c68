"""What an agent may leave in its folder to harm the run, its readers or other trials: kinds by name."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.records import AgentOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.protocols import TextHandle, TrialContext
    from bench_core.records import AgentTask

GOOD = b"what the agent found\n"
SECRET = "correct-horse-battery-staple"
MANY = 12_000
"""More than are kept."""
DEEP = 1_100
BEFORE = "neighbour"
LARGE = 33 << 20
FULL_BYTES = 4 << 20
WRITES_ON = {"growing", "written over", "growing with a secret"}
"""Kinds that a process goes on writing for some seconds."""
_WRITER = """
import sys, time
until, path, growing, start = time.monotonic() + 4, sys.argv[1], sys.argv[2] == "growing", sys.argv[3]
with open(path, "w") as file:
    file.write(start)
    letter = 0
    while time.monotonic() < until:
        if not growing:
            file.seek(0)
        file.write(chr(97 + letter % 26) * (1 << 16))
        file.flush()
        letter += 1
        time.sleep(0.001)
"""


def _sparse(path: Path, size: int, *, data: bytes = b"") -> None:
    with path.open("wb") as file:
        file.write(data)
        file.truncate(size)


def _deep(folder: Path, levels: int, name: str = "d", *, file: bool = True) -> None:
    """Make folders in folders by handles, as a path of that length cannot be given."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=handle)
        below = os.open(name, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    if file:
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, dir_fd=handle))
    os.close(handle)


def _socket(folder: Path) -> None:
    here = Path.cwd()
    os.chdir(folder)  # its path may be too long
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("s")
    finally:
        os.chdir(here)


def _named(folder: Path, *names: bytes) -> None:
    for name in names:
        with Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).open("wb") as file:
            file.write(GOOD)


def _in(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _locked(folder: Path) -> None:
    _in(folder, "locked/inner/file.bin").write_bytes(GOOD)
    (folder / "locked" / "inner").chmod(0)
    (folder / "locked").chmod(0)


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")


def _device(folder: Path) -> None:
    try:
        os.mknod(folder / "zero", 0o20666, os.makedev(1, 5))
    except OSError:  # without the right to
        os.mkfifo(folder / "zero")


def _many(folder: Path) -> None:
    for number in range(int(os.environ.get("HOSTILE_MANY", MANY))):
        os.close(os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY))


def _many_folders(folder: Path) -> None:
    for number in range(500):
        (folder / str(number)).mkdir()


def _many_large(folder: Path) -> None:
    for number in range(5):
        _sparse(folder / f"{number}.bin", (1 << 29) + 1, data=bytes(range(256)) * (1 << 16))


def _written_on(folder: Path, name: str, *, growing: bool = True, start: str = "") -> None:
    path = folder / name
    command = [sys.executable, "-c", _WRITER, str(path), "growing" if growing else "", start]
    subprocess.Popen(command, start_new_session=True)
    while not path.exists() or not path.stat().st_size:
        time.sleep(0.01)


def _linked(there: Path, link: Path) -> None:
    try:
        os.link(there, link)
    except OSError as error:
        if error.errno != errno.EXDEV:  # sealed: what lies outside is on a mount of its own
            raise


def _large(folder: Path) -> None:
    with (folder / "large.bin").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, int(os.environ.get("HOSTILE_LARGE", LARGE)))


KINDS: dict[str, Callable[[Path, Path], object]] = {
    # folder, what lies outside
    "nothing": lambda _f, _o: None,
    "sparse 3 TB": lambda f, _: _sparse(f / "huge.bin", 3 << 40),
    "sparse text of 400 MB": lambda f, _: _sparse(f / "huge.txt", 400 << 20),
    "sparse 1.5 GB": lambda f, _: _sparse(f / "huge.bin", 3 << 29, data=b"x" * (40 << 20)),
    "large together": lambda f, _: _many_large(f),
    "many files": lambda f, _: _many(f),
    "many folders": lambda f, _: _many_folders(f),
    "deep": lambda f, _: _deep(f, DEEP),
    "deep with long names": lambda f, _: _deep(f, 300, "n" * 200),
    "deep and empty": lambda f, _: _deep(f, DEEP, file=False),
    "deep folder names": lambda f, _: _deep(f, 40, "a.json"),
    "link to a file": lambda f, o: (f / "link.txt").symlink_to(o / BEFORE),
    "link to a folder": lambda f, o: (f / "link").symlink_to(o),
    "link to itself": lambda f, _: (f / "loop").symlink_to("loop"),
    "link nowhere": lambda f, _: (f / "log.txt.bak").symlink_to("/nowhere"),
    "hard link": lambda f, o: _linked(o / BEFORE, f / "hard.txt"),
    "hard link with a secret": lambda f, o: _linked(o / "secret.txt", f / "hard.txt"),
    "pipe": lambda f, _: _fifo(f),
    "socket": lambda f, _: _socket(f),
    "device": lambda f, _: _device(f),
    "no UTF-8": lambda f, _: _named(f, b"\xff\xfe.txt", b"good-\xe9"),
    "backslashes": lambda f, _: _named(f, b"..\\..\\up.txt", b"C:evil", b"a\\b"),
    "control characters": lambda f, _: _named(f, b"\x1b[2J\r\n.txt", b"\x7f\x01"),
    "long names": lambda f, _: _named(f, b"n" * 255, b"t" * 251 + b".txt"),
    "spaces and dots": lambda f, _: _named(f, b" ", b"...", b"trailing. ", b"-rf"),
    "unfinished": lambda f, _: _named(f, b".a.json.12-3.tmp"),
    "folder named as evidence": lambda f, _: _in(f, "finish_state.json.gz/x").write_bytes(GOOD),
    "folder named as the run's": lambda f, _: _in(f, "log.txt/x").write_bytes(GOOD),
    "locked folders": lambda f, _: _locked(f),
    "unreadable file": lambda f, _: ((f / "no.bin").write_bytes(GOOD), (f / "no.bin").chmod(0)),
    "a secret between pieces": lambda f, _: (f / "long.txt").write_text("x" * ((1 << 20) - 9) + SECRET + "y" * 99),
    "larger than is kept": lambda f, _: _large(f),
    "growing": lambda f, _: _written_on(f, "growing.bin"),
    "growing with a secret": lambda f, _: _written_on(f, "growing.txt", start=SECRET),
    "written over": lambda f, _: _written_on(f, "over.bin", growing=False),
    "its own stage": lambda f, _: _in(f, "agent-files/x.txt").write_bytes(GOOD),
}  # fmt: skip


class Leaver:
    """Leaves what the environment's text names, beside a good file."""

    name = "leaver"
    environments = ("text",)

    async def run(
        self, task: AgentTask, environment: TextHandle, context: TrialContext
    ) -> AgentOutcome:
        """Leave it."""
        del environment
        (context.folder / "good.txt").write_bytes(GOOD)
        leave = KINDS[task.task_id.replace("_", " ")]
        # a million files take longer than an event loop may be blocked
        await asyncio.to_thread(leave, context.folder, Path(os.environ["HOSTILE_OUTSIDE"]))
        return AgentOutcome()


def _fill_disk(filler: Path, twentieths: int) -> None:
    with filler.open("wb", buffering=0) as file:
        for piece in (1 << 20, 1 << 12):
            with contextlib.suppress(OSError):
                while file.write(bytes(piece)) == piece:
                    pass
        file.truncate(file.tell() - FULL_BYTES * (2 * twentieths + 1) // 40)


class Filler(Leaver):
    """Leaves a text with a secret, which is copied, and a disk with so many twentieths of its size free."""

    async def run(
        self, task: AgentTask, environment: TextHandle, context: TrialContext
    ) -> AgentOutcome:
        """Leave them."""
        del environment
        (context.folder / "good.txt").write_bytes(GOOD)
        (context.folder / "data.txt").write_text(SECRET + "x" * (FULL_BYTES - len(SECRET)))
        twentieths = int(task.task_id.rpartition("_")[2])
        _fill_disk(Path(os.environ["HOSTILE_OUTSIDE"], "filler"), twentieths)
        return AgentOutcome(answer=4)
