"""What the journal acknowledged is there after a crash at any byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.errors import InputError
from waa_server_ext.server.journal import EvaluationJournal, KeyRefusedError, stored_verdicts

if TYPE_CHECKING:
    from pathlib import Path


def state_of(journal: EvaluationJournal, key: str) -> str:
    try:
        claim = journal.claim(key, "digest")
    except KeyRefusedError as error:
        return error.refusal
    return "new" if claim.answer is None else f"answered {claim.answer['score']}"


def written(folder: Path) -> bytes:
    journal = EvaluationJournal(folder)
    journal.finish(journal.claim("done", "digest"), {"score": 1.0})
    journal.release(journal.claim("released", "digest"))
    journal.claim("started", "digest")
    journal.close()
    return journal.path.read_bytes()


def test_a_crash_leaves_answered_released_and_interrupted_keys(tmp_path: Path) -> None:
    written(tmp_path)
    journal = EvaluationJournal(tmp_path)
    states = {key: state_of(journal, key) for key in ("done", "released", "started", "other")}
    journal.close()
    assert states == {
        "done": "answered 1.0", "released": "new", "started": "interrupted", "other": "new",
    }  # fmt: skip


def test_a_key_in_use_is_refused_until_it_has_an_answer(tmp_path: Path) -> None:
    journal = EvaluationJournal(tmp_path)
    claim = journal.claim("k", "digest")
    during = state_of(journal, "k")
    journal.finish(claim, {"score": 0.5})
    after = state_of(journal, "k")
    journal.close()
    assert (during, after) == ("in_use", "answered 0.5")


@given(cut=st.integers(min_value=0, max_value=2000))
def test_cut_anywhere_no_key_that_was_acknowledged_as_started_is_ever_new_before_its_release(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = written(folder)
    kept = whole[: cut % (len(whole) + 1)]
    (folder / "journal.jsonl").write_bytes(kept)
    journal = EvaluationJournal(folder)
    states = {key: state_of(journal, key) for key in ("done", "released", "started")}
    journal.close()
    lines = kept[: kept.rfind(b"\n") + 1]
    for key, state in states.items():
        begun = f'"key":"{key}","digest":"digest","state":"started"'.encode() in lines
        ended = f'"key":"{key}","digest":"digest","state":"released"'.encode() in lines
        answered = f'"key":"{key}","digest":"digest","state":"done"'.encode() in lines
        expected = "answered 1.0" if answered else "interrupted" if begun and not ended else "new"
        assert state == expected


def test_a_damaged_line_in_the_middle_is_refused(tmp_path: Path) -> None:
    content = written(tmp_path)
    (tmp_path / "journal.jsonl").write_bytes(b"{broken\n" + content)
    with pytest.raises(InputError, match="is damaged at byte 0"):
        EvaluationJournal(tmp_path)


def test_stored_verdicts_are_read_beside_a_running_server(tmp_path: Path) -> None:
    journal = EvaluationJournal(tmp_path)
    journal.finish(journal.claim("k", "digest"), {"score": 1.0}, task={"id": "t"})
    found = list(stored_verdicts(tmp_path))
    journal.close()
    assert [(each["key"], each["answer"], each["task"]) for each in found] == [
        ("k", {"score": 1.0}, {"id": "t"})
    ]
