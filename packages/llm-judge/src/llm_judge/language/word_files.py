"""The lists of English words that stand in files: one list a file, words apart by white space."""

from __future__ import annotations

from importlib.resources import files


def word_list(name: str) -> frozenset[str]:
    """Return the words of `word_lists/NAME.txt`."""
    return frozenset(word_file(f"{name}.txt").split())


def word_file(name: str) -> str:
    """Return the text of a file in `word_lists`."""
    return (files("llm_judge.language") / "word_lists" / name).read_text("utf-8")
