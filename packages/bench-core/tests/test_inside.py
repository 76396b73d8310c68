"""Files of folders that strangers made: nothing outside is read, and nothing that never ends."""

from __future__ import annotations

import gzip
import os
import sys
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import RefusedFileError, RunFolderError
from bench_core.files import file_inside, open_inside, plain_files, read_inside
from bench_core.files.inside import refuse_linked, refuse_links, refuse_unusual
from bench_core.models import parse_yaml
from bench_core.records import Event
from bench_core.run_folder import (
    RunFolder,
    check_run,
    list_artifacts,
    read_json,
    read_lines,
    read_run,
)
from bench_core.testing import make_run

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, beside a private one."""
    (tmp_path / "secret.txt").write_text("private")
    (tmp_path / "run" / "a").mkdir(parents=True)
    (tmp_path / "run" / "a" / "b.txt").write_text("here")
    return tmp_path / "run"


def test_a_plain_file_is_opened(folder: Path) -> None:
    with open_inside(folder, "a/b.txt") as file:
        assert file.read() == b"here"
    assert file_inside(folder, "a/b.txt")
    assert plain_files(folder) == ["a/b.txt"]


@pytest.mark.parametrize("name", ["../secret.txt", "a/../../secret.txt", "/etc/hostname", "", "."])
def test_names_that_lead_out_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(RefusedFileError, match="leads out of its folder"):
        open_inside(folder, name)
    assert not file_inside(folder, name)


@posix
@pytest.mark.parametrize("link", ["a/link.txt", "linked/secret.txt"])
def test_no_part_of_a_name_may_be_a_link(folder: Path, link: str) -> None:
    (folder / "a" / "link.txt").symlink_to(folder.parent / "secret.txt")
    (folder / "linked").symlink_to(folder.parent)
    with pytest.raises(RefusedFileError, match="is a link, which is not followed"):
        open_inside(folder, link)
    assert not file_inside(folder, link)
    assert plain_files(folder) == ["a/b.txt"]
    with pytest.raises(RefusedFileError, match="linked is a link"):
        refuse_linked(folder, "linked/x")
    with pytest.raises(RefusedFileError, match="linked is a link"):
        refuse_unusual(folder)


@posix
def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(folder)
    assert read_inside(tmp_path / "alias", "a/b.txt") == b"here"


@posix
def test_a_pipe_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(RefusedFileError, match="pipe is a pipe, not a plain file"):
        open_inside(folder, "pipe")


@posix
def test_links_among_folders_are_found(folder: Path) -> None:
    (folder / "a" / "out").symlink_to(folder.parent)
    refuse_links(folder, deepest=1)
    with pytest.raises(RefusedFileError, match="out is a link"):
        refuse_links(folder, deepest=2)


@posix
def test_files_of_nearly_nothing_are_refused(folder: Path) -> None:
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 1 << 30)
    if (folder / "sparse").stat().st_blocks * 512 > 1 << 24:
        pytest.skip("this file system keeps no sparse files")
    with pytest.raises(RefusedFileError, match="says it has 1,024 MB, of which nearly none"):
        open_inside(folder, "sparse")
    os.truncate(folder / "sparse", 1 << 42)
    with pytest.raises(RefusedFileError, match=r"has 4,096\.0 GB"):
        refuse_unusual(folder)


def test_what_unpacks_to_too_much_is_refused(folder: Path) -> None:
    (folder / "x.gz").write_bytes(gzip.compress(bytes(5_000_000)) * 3)
    with pytest.raises(RefusedFileError, match="holds more than 9 MB"):
        read_inside(folder, "x.gz", most=10_000_000, unpack=True)
    assert len(read_inside(folder, "x.gz", most=15_000_000, unpack=True)) == 15_000_000


@posix
def test_an_end_state_that_is_a_link_is_not_read(folder: Path) -> None:
    (folder / "state.json").symlink_to(folder.parent / "secret.txt")
    with pytest.raises(Exception, match="is a link, which is not followed"):
        read_json(folder / "state.json")


@posix
def test_links_are_no_artifacts(folder: Path) -> None:
    (folder / "a" / "link.txt").symlink_to(folder.parent / "secret.txt")
    os.mkfifo(folder / "pipe")
    assert list_artifacts(folder) == ("a/b.txt",)


@posix
@pytest.mark.parametrize("name", ["run.json", "results.jsonl", "trials", ".lock"])
def test_a_run_with_a_link_in_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    run = make_run(tmp_path / "run", tasks=2, trials=1)
    (tmp_path / "elsewhere").mkdir()
    path = run / name
    if path.is_dir():
        path.rename(tmp_path / "moved")
    else:
        path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "elsewhere")
    for reader in (read_run, check_run, RunFolder.resume):
        with pytest.raises(RefusedFileError, match="is a link, which is not followed"):
            reader(run)
    assert list((tmp_path / "elsewhere").iterdir()) == []


@posix
def test_check_names_artifacts_behind_links(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tasks=2, trials=1)
    folder = next((run / "trials").glob("*/*/"))
    (folder / "log.txt").rename(tmp_path / "log.txt")
    (folder / "log.txt").symlink_to(tmp_path / "log.txt")
    found = check_run(run)
    where = folder.relative_to(run).as_posix()
    if found.problems:  # made runs record no digests
        assert f"{where}/log.txt is a link" in found.problems[0]


def test_plans_that_nobody_could_run_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tasks=2, trials=1)
    text = (run / "run.json").read_text("utf-8").replace('"trials": 1', '"trials": 10000000')
    (run / "run.json").write_text(text, "utf-8")
    with pytest.raises(RunFolderError, match="10,000,000 trials of 2 tasks"):
        read_run(run)


@pytest.mark.parametrize("line", [b"x\n", b"\n", b"{}\n"])
def test_a_file_of_endless_damage_is_refused(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "events.jsonl").write_bytes(line * 10_001)
    with pytest.raises(RunFolderError, match="more than 10,000 lines that are no records"):
        read_lines(tmp_path / "events.jsonl", Event)


def test_a_line_without_end_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench_core.run_folder.jsonl.MAX_LINE_BYTES", 1000)
    (tmp_path / "events.jsonl").write_bytes(b'{"' + b"x" * 2500 + b'":1}')
    found = read_lines(tmp_path / "events.jsonl", Event)
    assert [each.end - each.start for each in found.bad] == [1001, 1001, 504]


def test_yaml_is_bounded() -> None:
    lines = [
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]" for n in range(8)
    ]
    laughs = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *lines])
    for text, why in (
        (laughs, "more than 1,000,000 values"),
        ("a: &a [*a]", "inside what it names"),
        ("[" * 200, "deeper than 64 levels"),
        ("#" * (8 << 20) + "#", "characters"),
        ("!!python/object/apply:os.system [id]", "constructor"),
    ):
        with pytest.raises(ValueError, match=why):
            parse_yaml(text)
    assert parse_yaml("a: &x {b: [1, 2]}\nc: *x") == {"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}
