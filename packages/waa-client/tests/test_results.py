"""What a trial keeps of its evaluation, and what it says where it kept nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import EvaluationError
from waa_client.results import HISTORY, TRANSCRIPT, kept_transcript

if TYPE_CHECKING:
    from pathlib import Path


def test_a_trial_that_kept_no_transcript_cannot_be_scored_again(tmp_path: Path) -> None:
    (tmp_path / HISTORY).write_text(json.dumps(["DONE"]), encoding="utf-8")
    with pytest.raises(EvaluationError, match=f"the trial stored no .*{TRANSCRIPT}"):
        kept_transcript(tmp_path)
