"""Which files of an agent's are kept: whole ones, so many, so much; what is not is told, and harms nothing."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent / "agent_process"))

from hostile_files import BEFORE, GOOD, KINDS, SECRET, WRITES_ON  # needs the path above

from bench_core.files.removal import remove_folder
from bench_core.redaction import Redactor
from bench_core.run_folder import changed_artifacts, describe_artifacts
from bench_core.run_folder.left_files import OF_AGENT, FileLimits, keep_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

resource = pytest.importorskip("resource", reason="what is left here is POSIX's")

HARMLESS = {"nothing", "many folders", "hard link", "hard link with a secret", "control characters",
            "long names", "spaces and dots", "a secret between pieces"}  # fmt: skip
"""Kinds of which all is kept."""
AS_ROOT = {"unreadable file", "locked folders"}
SMALL = FileLimits(files=200, total_bytes=64 << 20, file_bytes=32 << 20)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """Give a folder in memory where there is one: thousands of folders are made here."""
    memory = Path("/dev/shm")  # noqa: S108  # of a name that no one guesses
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    made = Path(tempfile.mkdtemp(dir=memory))
    yield made
    remove_folder(made)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / BEFORE).write_bytes(GOOD)
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.mark.parametrize("in_place", [False, True], ids=["moved", "in place"])
@pytest.mark.parametrize("kind", [each for each in KINDS if each not in WRITES_ON])
def test_what_is_kept_is_whole_and_what_is_not_is_told(
    kind: str, in_place: bool, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = tmp_path / "trial"
    source = trial if in_place else tmp_path / "stage"
    trial.mkdir()
    source.mkdir(exist_ok=True)
    monkeypatch.setenv("HOSTILE_MANY", "300")
    (source / "good.txt").write_bytes(GOOD)
    os.utime(source / "good.txt", (1, 1))  # the oldest, however coarse the clock of the disk
    KINDS[kind](source, outside)
    told = keep_files(source, trial, SMALL, Redactor([SECRET]))
    place = trial if in_place else trial / OF_AGENT
    assert (place / "good.txt").read_bytes() == GOOD
    assert in_place or [each.name for each in trial.iterdir()] == [OF_AGENT]
    harmless = kind in HARMLESS or (kind in AS_ROOT and os.geteuid() == 0)
    # the name of an agent's stage is taken where there is one, and a name as the run's where it has written
    harmless |= kind == "its own stage"
    assert bool(told) is not harmless, told
    assert all(
        each.why and each.first.isprintable() | (kind == "control characters") for each in told
    )
    kept = describe_artifacts(trial)
    assert (place / "good.txt").relative_to(trial).as_posix() in {each.path for each in kept}
    assert all(each.sha256 for each in kept)
    assert list(changed_artifacts(trial, kept)) == []
    assert (outside / BEFORE).read_bytes() == GOOD
    assert (outside / "secret.txt").read_text() == SECRET
    if not in_place:
        texts = [trial / each.path for each in kept if each.path.endswith(".txt")]
        assert not any(SECRET in each.read_text(errors="replace") for each in texts)
    for folder in (source, trial):
        remove_folder(folder)
        assert not folder.exists()


def test_the_oldest_files_are_kept_after_those_that_runs_know(tmp_path: Path) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    stage.mkdir()
    trial.mkdir()
    for number, name in enumerate(("1", "22", "7" * 7, "333", "trajectory.jsonl", "5"), 1):
        (stage / name).write_bytes(b"x" * len(name[:7]))
        os.utime(stage / name, (number, number))
    told = keep_files(stage, trial, FileLimits(files=5, total_bytes=13))
    assert {each.name for each in trial.iterdir()} == {"trajectory.jsonl", OF_AGENT}
    assert {each.name for each in (trial / OF_AGENT).iterdir()} == {"1", "22", "333"}
    assert {each.why: (each.first, each.files, each.bytes) for each in told} == {
        "more than 5 files": ("", 1, 0), "more than 0 MB together": ("7777777", 1, 7),
    }  # fmt: skip


@contextmanager
def full_at(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("point", range(20))
def test_a_full_disk_keeps_a_file_whole_or_not_at_all(
    point: int, outside: Path, tmp_path: Path
) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    stage.mkdir()
    trial.mkdir()
    data = os.urandom(200_000)
    (outside / "data").write_bytes(data)
    os.link(outside / "data", stage / "data.bin")  # such a file is copied
    (stage / "note.txt").write_bytes(GOOD)
    with full_at(len(data) * (point + 1) // 20 - (point < 19)):
        told = keep_files(stage, trial)
    kept = trial / OF_AGENT
    assert (kept / "note.txt").read_bytes() == GOOD
    if point == 19:
        assert (kept / "data.bin").read_bytes() == data
        assert told == ()
    else:
        assert [(each.why, each.first) for each in told] == [("File too large", "data.bin")]
        assert [each.name for each in kept.iterdir()] == ["note.txt"]


class Growing(Redactor):
    """Redacts texts that become longer with each piece that is read, and need not be read to their end."""

    path = Path()

    def redact_stream(self, pieces: Iterable[str]) -> Iterator[tuple[str, str]]:
        for each in super().redact_stream(pieces):
            if self.path.stat().st_size < 24 << 20:
                with self.path.open("ab") as file:
                    file.write(b"x" * (2 << 20))
            yield each


@pytest.mark.parametrize("secret", ["", SECRET], ids=["plain", "with a secret"])
def test_a_text_that_grows_faster_than_it_is_read_is_refused_at_the_limit(
    secret: str, tmp_path: Path
) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    stage.mkdir()
    trial.mkdir()
    redactor = Growing([SECRET])
    redactor.path = stage / "log.txt"
    redactor.path.write_text(secret + "x" * (3 << 20))
    (told,) = keep_files(stage, trial, FileLimits(file_bytes=4 << 20), redactor)
    assert told.why == "grew, or was not read in time, while it was taken over"
    assert redactor.path.stat().st_size < 24 << 20
    assert describe_artifacts(trial) == ()


def test_a_file_that_grows_has_the_digest_of_what_was_read(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(GOOD)
    with (tmp_path / "log.txt").open("ab") as file:
        (described,) = describe_artifacts(tmp_path)
        file.write(GOOD)
    assert described.size == len(GOOD)


def test_files_that_cannot_be_read_in_time_have_no_digest(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(GOOD)
    (described,) = describe_artifacts(tmp_path, within_s=-1)
    assert (described.size, described.sha256) == (len(GOOD), None)


def test_what_is_not_looked_at_in_time_is_told(tmp_path: Path) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    stage.mkdir()
    trial.mkdir()
    (stage / "a").touch()
    (told,) = keep_files(stage, trial, FileLimits(within_s=-1))
    assert told.why == "not looked at within -0.5 s"
    assert list(trial.iterdir()) == []


def test_looking_at_many_files_leaves_time_to_take_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    stage.mkdir()
    trial.mkdir()
    for number in range(30):
        (stage / str(number)).touch()
    monkeypatch.setattr(time, "monotonic", itertools.count().__next__)
    told = keep_files(stage, trial, FileLimits(within_s=30))
    assert "not looked at within 15 s" in {each.why for each in told}
    assert 0 < len(describe_artifacts(trial)) < 30


def test_a_removal_ends_in_time_and_raises_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(200):
        (folder / str(number)).touch()
    began = time.monotonic()
    remove_folder(folder, within_s=0)
    assert time.monotonic() - began < 60
    remove_folder(tmp_path / "missing")
    remove_folder(folder)
    assert not folder.exists()


def test_a_removal_follows_no_link(outside: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    (folder / "inner" / "link").symlink_to(outside)
    (tmp_path / "root").symlink_to(folder)
    remove_folder(tmp_path / "root", within_s=0)
    assert (folder / "inner").is_dir()
    remove_folder(folder)
    assert not folder.exists()
    assert (outside / BEFORE).read_bytes() == GOOD


@pytest.mark.parametrize("in_place", [False, True])
def test_nothing_is_taken_through_a_link_in_the_place_of_the_folder(
    outside: Path, tmp_path: Path, *, in_place: bool
) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    trial.mkdir()
    stage.symlink_to(outside)
    told = keep_files(stage, stage if in_place else trial)
    assert [each.why for each in told] == ["is a link"]
    assert (outside / BEFORE).read_bytes() == GOOD
    assert not list(trial.iterdir())


def test_only_an_agents_own_account_keeps_its_names(tmp_path: Path) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    (stage / "screenshots" / "more").mkdir(parents=True)
    trial.mkdir()
    account = ["conversation.jsonl", "model_calls.jsonl", "observations.jsonl", "screenshots/1.png"]
    account.append("trajectory.jsonl")
    claims = ["judgement.json", "evaluation.json", "network.har", "agent_response.json", "log.txt"]
    nested = ["screenshots/more/1.png", "Trajectory.jsonl"]
    for name in (*account, *claims, *nested):
        (stage / name).write_bytes(GOOD)
    assert keep_files(stage, trial) == ()
    placed = [*account, *(f"{OF_AGENT}/{name}" for name in (*claims, *nested))]
    assert {each.path for each in describe_artifacts(trial)} == set(placed)


TEXTS = [
    ".env",
    "a.yml",
    "a.toml",
    "a.py",
    "Makefile",
    "a.ini",
    "a.sh",
    "a.svg",
    "a.bin",
    "a.txt",
    "a",
]
"""Names of files: whether one is a text is not for its suffix to say."""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "binary"])
@pytest.mark.parametrize("in_place", [False, True], ids=["moved", "in place"])
def test_no_file_of_any_name_keeps_a_secret(tmp_path: Path, encoding: str, in_place: bool) -> None:
    trial = tmp_path / "trial"
    stage = trial if in_place else tmp_path / "stage"
    stage.mkdir()
    trial.mkdir(exist_ok=True)
    text = f"line\nkey={SECRET};\n" * 3
    data = b"\x00\xff\xfe\x01" + text.encode() if encoding == "binary" else text.encode(encoding)
    for name in TEXTS:
        (stage / name).write_bytes(data)
    (stage / f"named-{SECRET}").mkdir()
    (stage / f"named-{SECRET}" / f"{SECRET}.dat").write_bytes(GOOD)
    assert keep_files(stage, trial, redactor=Redactor([SECRET])) == ()
    kept = describe_artifacts(trial)
    assert len(kept) == len(TEXTS) + 1
    assert SECRET not in str(kept)
    for each in kept:
        left = (trial / each.path).read_bytes()
        assert SECRET.encode() not in left.replace(b"\0", b"")
        if not each.path.endswith(".dat"):
            assert left.replace(b"\0", b"").count(b"[REDACTED]") == 3
            assert left[:4] == data[:4]
    assert not in_place or not [*trial.glob(f"*{SECRET}*/*")]
