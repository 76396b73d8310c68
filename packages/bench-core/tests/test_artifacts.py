from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError, RecordError
from bench_core.records import Step
from bench_core.records.codec import decode
from bench_core.redaction import Redactor
from bench_core.run_folder import TrialArtifacts, read_json

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "planted-secret-4711"
SHAPE = "sk-AbCdEfGhIjKlMnOpQrSt0123"


@pytest.fixture
def artifacts(tmp_path: Path) -> TrialArtifacts:
    return TrialArtifacts(tmp_path / "trial", Redactor([SECRET]))


def test_names_are_remembered_once_in_order(artifacts: TrialArtifacts) -> None:
    artifacts.write_json("evaluation.json", {"score": 1.0})
    artifacts.write_bytes("screenshots/001.png", b"\x89PNG")
    artifacts.write_json("evaluation.json", {"score": 0.0})
    (artifacts.path("network.har")).write_text("{}")
    artifacts.add("network.har")
    assert artifacts.names == ("evaluation.json", "screenshots/001.png", "network.har")
    assert read_json(artifacts.folder / "evaluation.json") == {"score": 0.0}


def test_a_state_is_stored_once_compressed_and_the_same_every_time(
    artifacts: TrialArtifacts,
) -> None:
    state = {"cart": [{"name": "Lampe für 3 €", "n": index} for index in range(1000)]}
    path = artifacts.folder / artifacts.write_state(state)
    first = path.read_bytes()
    assert read_json(path) == state
    assert len(first) < len(gzip.decompress(first)) / 5
    artifacts.write_state(state)
    assert path.read_bytes() == first


def test_text_loses_keys_of_every_kind(artifacts: TrialArtifacts) -> None:
    name = artifacts.write_text("error.txt", f"{SECRET} {SHAPE}")
    assert (artifacts.folder / name).read_text() == "[REDACTED] [REDACTED]"


def test_evidence_loses_known_values_only(artifacts: TrialArtifacts) -> None:
    name = artifacts.write_text("network.har", f"{SECRET} {SHAPE}", evidence=True)
    assert (artifacts.folder / name).read_text() == f"[REDACTED] {SHAPE}"
    artifacts.write_state({"token": SHAPE, "echo": SECRET})
    assert read_json(artifacts.folder / "finish_state.json.gz") == {
        "token": SHAPE,
        "echo": "[REDACTED]",
    }


def test_steps_are_appended_line_by_line(artifacts: TrialArtifacts) -> None:
    artifacts.append_step(Step(step=1, thought=f"use {SHAPE}"))
    artifacts.append_step(Step(step=2))
    lines = (artifacts.folder / "trajectory.jsonl").read_bytes().splitlines()
    assert [decode(Step, line) for line in lines] == [
        Step(step=1, thought="use [REDACTED]"),
        Step(step=2),
    ]
    assert artifacts.names == ("trajectory.jsonl",)


def test_half_a_surrogate_pair_does_not_stop_a_log(artifacts: TrialArtifacts) -> None:
    name = artifacts.write_text("page.txt", "broken \ud83d")
    assert (artifacts.folder / name).read_text() == "broken \\ud83d"


@pytest.mark.parametrize("name", ["", "../other.txt", "/etc/passwd", "a\\b", "a\0b", "C:x"])
def test_hostile_names_are_refused(artifacts: TrialArtifacts, name: str) -> None:
    with pytest.raises(InputError, match="not a relative path inside the trial's folder"):
        artifacts.write_bytes(name, b"")
    assert not artifacts.folder.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.json", b"{", id="cut"),
        pytest.param("a.json", b"\xff", id="not-utf-8"),
        pytest.param("a.json.gz", b"not gzip", id="not-gzip"),
        pytest.param("a.json.gz", gzip.compress(b"{}", mtime=0)[:-4], id="gzip-cut"),
        pytest.param("a.json.gz", gzip.compress(b"{", mtime=0), id="gzip-of-cut"),
    ],
)
def test_an_unreadable_artifact_is_told_by_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordError, match=f"{name} is not readable JSON"):
        read_json(tmp_path / name)


def test_a_missing_artifact_is_missing_not_damaged(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "finish_state.json.gz")


def test_keys_of_the_environment_are_known_by_default(tmp_path: Path) -> None:
    assert isinstance(TrialArtifacts(tmp_path).redactor, Redactor)
