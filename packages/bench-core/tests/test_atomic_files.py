from __future__ import annotations

import os
import sys
import threading
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError
from bench_core.files import folder_name, free_name, require_writable, write_atomic
from bench_core.files.atomic import sweep_temporary, sweep_temporary_below

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("identifier", "name"),
    [
        ("17", "17"),
        ("366de66e-cbae-4d72-b042-26390db2b145-WOS", "366de66e-cbae-4d72-b042-26390db2b145-WOS"),
        ("v1.2_x", "v1.2_x"),
        ("a/b", "a%2Fb"),
        ("../../etc", "..%2F..%2Fetc"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("con", "%63on"),
        ("NUL.txt", "%4EUL.txt"),
        ("end.", "end%2E"),
        ("50% *?", "50%25%20%2A%3F"),
        ("ü", "%C3%BC"),
    ],
)
def test_ids_become_folder_names(identifier: str, name: str) -> None:
    assert folder_name(identifier) == name


def test_an_empty_id_names_no_folder() -> None:
    with pytest.raises(InputError, match="must not be empty"):
        folder_name("")


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_ids_have_different_names(first: str, second: str) -> None:
    assert (folder_name(first) == folder_name(second)) is (first == second)


@given(st.text(min_size=1, max_size=500))
def test_a_name_is_one_folder_on_every_system(identifier: str) -> None:
    name = folder_name(identifier)
    assert PurePosixPath(name).parts == (name,)
    assert PureWindowsPath(name).parts == (name,)
    assert name not in {".", ".."}
    assert len(name) <= 200
    assert name.isascii()


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20))
def test_short_names_can_be_decoded(identifier: str) -> None:
    assert unquote(folder_name(identifier)) == identifier


def test_writing_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", b"old")
    write_atomic(tmp_path / "file", b"new" * 100_000)
    assert (tmp_path / "file").read_bytes() == b"new" * 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):  # noqa: PT011  # which one depends on the system
        write_atomic(tmp_path / "folder", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".run.json.123-0.tmp").write_bytes(b"half")
    (tmp_path / "run.json").write_bytes(b"whole")
    sweep_temporary(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_leftovers_below_are_swept_and_what_programs_call_so_is_not(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for name in (".log.txt.123-0.tmp", ".agents.tmp", "x.1-1.tmp", "log.txt"):
        (below / name).write_bytes(b"")
    sweep_temporary_below(tmp_path)
    assert {path.name for path in below.iterdir()} == {".agents.tmp", "x.1-1.tmp", "log.txt"}


def test_free_names_count_up(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert free_name(path, "torn").name == "results.jsonl.torn-1"
    free_name(path, "torn").touch()
    assert free_name(path, "torn").name == "results.jsonl.torn-2"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomic(pipe, b"whole")
    reader.join()
    assert (read, pipe.is_fifo()) == ([b"whole"], True)


def test_where_a_file_can_be_written_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("as it was")
    require_writable(tmp_path / "old")
    require_writable(tmp_path / "folder" / "new")
    assert (tmp_path / "old").read_text() == "as it was"
    assert list((tmp_path / "folder").iterdir()) == []


def test_where_a_file_cannot_be_written_it_is_told_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        require_writable(tmp_path / "file" / "new")
    with pytest.raises(IsADirectoryError):
        require_writable(tmp_path)
