"""A case to try the judge on, with recorded replies: no key and no network needed.

The replies were written by hand, not by a provider; they show the form, not a model's opinion.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from bench_core.records.judge import JudgeCase
from llm_judge.case_files import read_case

__all__ = ["case", "cassette", "folder"]


def folder() -> Path:
    """Return the folder of the sample files."""
    return Path(str(files("llm_judge") / "sample_files"))


def case(name: str = "dinner") -> JudgeCase:
    """Return the case `dinner` (met) or `dinner-wrong-time` (not met).

    >>> case().case_id
    'dinner'
    """
    return read_case(folder() / f"{name}.json")


def cassette() -> Path:
    """Return the cassette with replies for the sample cases under the default policy."""
    return folder() / "replies.jsonl"
