"""Places that commands do not work in are told in one sentence: names, languages, disks without locks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.cli.main import main
from bench_core.errors import InputError
from bench_core.files import locks
from bench_core.files.temporary import folder_for_sockets

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names are text on Windows")

BYTES = os.fsdecode(b"r\xff")


def one_sentence(done: Any) -> str:
    assert done.exit_code == 2, done.output
    lines = [each for each in done.stderr.splitlines() if each.startswith("Error: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_folder_whose_name_is_not_utf8_is_refused_in_a_sentence() -> None:
    done = CliRunner().invoke(main, ["check", BYTES])
    assert one_sentence(done).startswith(r"Error: r\xff is not UTF-8")


@pytest.mark.parametrize("name", ["TMPDIR", "PROCTOR_LOCK_DIR"])
def test_so_is_one_that_a_variable_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f"/{BYTES}")
    assert r"/r\xff is not UTF-8" in one_sentence(CliRunner().invoke(main, ["plugins"]))


def test_names_of_other_letters_are_taken(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["check", str(tmp_path / "größe")])
    assert "UTF-8" not in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has UTF-8 alone")
def test_a_language_whose_names_are_ascii_is_refused_in_a_sentence() -> None:
    variables = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "bench_core.cli.main", "plugins"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 2
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("Error: ")]
    assert line.endswith("set PYTHONUTF8=1, or a language such as LC_ALL=C.UTF-8")


@pytest.mark.skipif(sys.platform != "linux", reason="others keep the name of a removed folder")
def test_a_working_directory_that_was_removed_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    said = one_sentence(CliRunner().invoke(main, ["plugins"]))
    assert said == "Error: the working directory was removed: change to another"


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_disk_without_locks_is_told_with_the_way_out(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> bool:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks, "_lock_handle", refuse)  # such a disk is not at hand
    with pytest.raises(InputError, match=r"\.lock cannot be locked .*NFS.*PROCTOR_LOCK_DIR"):
        locks.lock_for_writing(tmp_path)


@pytest.mark.parametrize(
    ("options", "alone"),
    [("rw,vers=3,nolock", True), ("rw,local_lock=flock", True), ("rw,local_lock=none", False)],
)
def test_locks_that_other_machines_do_not_see_are_known_by_the_mounts(
    options: str, alone: bool, tmp_path: Path
) -> None:
    place = tmp_path / "with space"
    place.mkdir()
    mounts = tmp_path / "mountinfo"
    escaped = str(place.resolve()).replace(" ", "\\040")
    mounts.write_text(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"2 1 0:40 / {escaped} rw shared:1 - nfs4 server:/home {options}\n"
    )
    assert locks.holds_here_only(place, mounts) is alone
    assert locks.holds_here_only(tmp_path, mounts) is False
    assert locks.holds_here_only(place, tmp_path / "missing") is False


@pytest.mark.parametrize("alone", [True, False])
def test_a_writer_whose_lock_other_machines_do_not_see_says_so(
    alone: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(locks, "holds_here_only", lambda _: alone)  # such a disk is not at hand
    locks.lock_for_writing(tmp_path).release()
    assert ("is on NFS without locks that other machines see" in caplog.text) is alone


def test_sockets_go_where_their_paths_are_short_enough(tmp_path: Path) -> None:
    near = folder_for_sockets(tmp_path / "t", "s")
    assert near == tmp_path / "t"
    long = tmp_path / ("x" * 100)
    long.mkdir()
    made = folder_for_sockets(long / "t", "org.chromium.Chromium.XXXXXX/SingletonSocket")
    try:
        assert not (long / "t").exists()
        assert len(os.fsencode(made)) + 46 <= 107
        assert str(os.getpid()) in made.name, "a later start must know whose it is"
    finally:
        made.rmdir()
