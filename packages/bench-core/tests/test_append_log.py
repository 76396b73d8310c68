from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import RunFolderError
from bench_core.files import AppendLog, GroupSync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEARLY_FULL = """
import resource, signal, sys
from pathlib import Path
from bench_core.files.append_log import AppendLog, GroupSync
from bench_core.errors import RunFolderError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (25, 25))
log = AppendLog(Path(sys.argv[1]), GroupSync())
log.append(b"0123456789")
log.append(b"0123456789")
try:
    log.append(b"0123456789")
except RunFolderError as error:
    print(error)
log.close()
"""


@pytest.fixture
def sync() -> Iterator[GroupSync]:
    sync = GroupSync(interval_s=0.01)
    yield sync
    sync.close()


def test_a_line_is_in_the_file_when_append_returns(tmp_path: Path, sync: GroupSync) -> None:
    log = AppendLog(tmp_path / "log", sync)
    log.append(b"first")
    assert (tmp_path / "log").read_bytes() == b"first\n"
    log.append(b"second")
    assert (tmp_path / "log").read_bytes() == b"first\nsecond\n"
    log.close()


def test_an_existing_file_is_continued(tmp_path: Path, sync: GroupSync) -> None:
    (tmp_path / "log").write_bytes(b"old\n")
    log = AppendLog(tmp_path / "log", sync)
    log.append(b"new")
    log.close()
    assert (tmp_path / "log").read_bytes() == b"old\nnew\n"


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_full_disk_leaves_whole_lines_and_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "log"
    done = subprocess.run(
        [sys.executable, "-c", NEARLY_FULL, str(path)], capture_output=True, text=True, check=True
    )
    assert f"cannot write to {path}: File too large" in done.stdout
    assert path.read_bytes() == b"0123456789\n0123456789\n"


def test_lines_of_several_threads_do_not_mix(tmp_path: Path, sync: GroupSync) -> None:
    log = AppendLog(tmp_path / "log", sync)

    def write(letter: bytes) -> None:
        for _ in range(200):
            log.append(letter * 50)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b", b"c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert len(lines) == 600
    assert {bytes(set(line)) for line in lines} == {b"a", b"b", b"c"}


def test_a_closed_log_takes_nothing(tmp_path: Path, sync: GroupSync) -> None:
    log = AppendLog(tmp_path / "log", sync)
    log.close()
    log.close()
    with pytest.raises(RunFolderError, match="is closed"):
        log.append(b"late")


def test_a_failed_sync_is_told_at_the_next_line(tmp_path: Path, sync: GroupSync) -> None:
    # a pipe cannot be synced: the system answers EINVAL
    reader, writer = os.pipe()
    sync.mark(writer)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            sync.mark(writer)
        except OSError:
            break
        time.sleep(0.005)
    log = AppendLog(tmp_path / "log", sync)
    with pytest.raises(RunFolderError, match="cannot write to"):
        log.append(b"line")
    assert (tmp_path / "log").read_bytes() == b""
    for end in (reader, writer):
        os.close(end)
    log.close()


def test_closing_an_unused_sync_needs_no_thread() -> None:
    before = threading.active_count()
    GroupSync().close()
    assert threading.active_count() == before
