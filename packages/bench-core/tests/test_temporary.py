"""Everything that a run and what it starts leave in the folder of temporary files lies in one folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_core.files import sweep_leftovers
from bench_core.files.locks import lock_folder
from bench_core.files.temporary import owned_folder, temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners have no name on Windows")

ASK = "import tempfile; print(tempfile.gettempdir())"
HOLD = "from bench_core.files.temporary import temporary_folder\nwith temporary_folder() as folder: print(folder, flush=True); input()"


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Be where temporary files go."""
    for name in ("TEMP", "TMP", "PROCTOR_LOCK_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_this_process_and_what_it_starts_put_temporary_files_there(outside: Path) -> None:
    with temporary_folder() as folder:
        assert folder.parent == outside
        assert Path(tempfile.mkdtemp(prefix="playwright-artifacts-")).parent == folder
        told = subprocess.run(
            [sys.executable, "-c", ASK], capture_output=True, text=True, check=True
        )
        assert told.stdout.strip() == str(folder)
    assert list(outside.iterdir()) == []
    assert tempfile.gettempdir() == str(outside)
    assert (os.environ["TMPDIR"], "TEMP" in os.environ) == (str(outside), False)


def test_a_second_one_inside_it_is_the_same(outside: Path) -> None:
    with temporary_folder() as folder:
        with temporary_folder() as inside:
            assert inside == folder
        assert folder.is_dir()


def test_locks_stay_where_other_processes_find_them(outside: Path) -> None:
    before = lock_folder()
    with temporary_folder():
        assert lock_folder() == before
    assert "PROCTOR_LOCK_DIR" not in os.environ
    assert list(outside.iterdir()) == [before]


def test_that_of_a_worker_lies_in_the_runs_and_leaves_room_for_sockets(outside: Path) -> None:
    with temporary_folder() as folder:
        told = subprocess.run(
            [sys.executable, "-c", HOLD], input="\n", capture_output=True, text=True, check=True
        )
        theirs = Path(told.stdout.strip())
        assert (theirs.parent, len(theirs.name)) == (folder, len("p-01234567"))
        assert not theirs.exists()
    assert list(outside.iterdir()) == []


def test_folders_in_it_have_short_names_because_sockets_lie_below(outside: Path) -> None:
    with temporary_folder() as folder:
        profile = owned_folder("proctor-c")
        assert profile.parent == folder
        assert len(profile.name) == len("c-01234567")
    assert len(owned_folder("proctor-c", outside).name) > len("proctor-c-01234567")


def test_what_a_process_needs_until_its_end_lies_there_and_goes_with_the_process(
    outside: Path,
) -> None:
    program = """
from bench_core.files.temporary import temporary_folder
from bench_core.files.temporary import lasting_folder, owned_folder
with temporary_folder() as folder:
    lasting, other = lasting_folder("proctor-browser-use"), owned_folder("proctor-c")
    (folder / "file").touch()
print(lasting.parent == folder, list(folder.iterdir()) == [lasting])
"""
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout == "True True\n"
    assert list(outside.iterdir()) == []


def test_the_next_start_removes_that_of_a_killed_process_and_no_live_ones(outside: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        folder = Path(holder.stdout.readline().strip())
        (folder / "playwright-artifacts-1").mkdir()
        assert sweep_leftovers(outside) == []
        holder.kill()
        holder.wait()
        assert folder.is_dir()
    with temporary_folder():
        assert not folder.exists()
    assert list(outside.iterdir()) == []
