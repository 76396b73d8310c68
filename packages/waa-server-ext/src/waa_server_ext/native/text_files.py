"""Comparisons of text files that other benchmarks' tasks use and WAA's might."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waa_server_ext.native.databases import search_lines
from waa_server_ext.native.files import read_text
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import metric

__all__: list[str] = []

_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d")
_CLOSE = 1e-4


@metric("general.py")
def check_list(result: str | None, rules: Mapping[str, Any]) -> float:
    """Whether each pattern of `expect` is in some line and no pattern of `unexpect` in any.

    Fails as: 0.0 for None.
    """
    if result is None:
        return 0.0
    wanted, unwanted = list(rules.get("expect", [])), list(rules.get("unexpect", []))
    lines = read_text(result).splitlines(keepends=True)
    found = search_lines([*wanted, *unwanted], lines)
    return float(all(found[: len(wanted)]) and not any(found[len(wanted) :]))


@metric("general.py")
def file_contains(file_path: str | None, config: Mapping[str, Any]) -> float:
    """Whether a file has all the expected texts.

    Fails as: 0.0, also for anything but text.
    """
    if not file_path:
        return 0.0
    found = or_else(None, lambda: _has_all(read_text(file_path), config["expected"]))
    return float(bool(found))


@metric("general.py")
def check_line_number(file_path: str | None, line_number: Mapping[str, Any]) -> float:
    """Whether the expected number of lines contain a time of day.

    Fails as: 0.0, also for anything but text.
    """
    if file_path is None or not Path(file_path).is_file():
        return 0.0
    return float(bool(or_else(None, lambda: _timed(file_path) == int(line_number["expected"]))))


@metric("vscode.py")
def compare_result_files(src_path: str | None, tgt_path: str | None) -> float:
    """Whether two files hold the same number or text; a number may be part of a sentence.

    Fails as: 0.0 for None.
    """
    if not src_path or not tgt_path:
        return 0.0
    ours, gold = (read_text(path).strip() for path in (src_path, tgt_path))
    number = or_else(None, float, gold)
    if number is not None and gold in ours:
        return 1.0
    own = or_else(None, float, ours) if number is not None else None
    return float(ours == gold) if own is None else float(abs(own - number) < _CLOSE)


@metric("general.py")
def compare_python_pure_text(py_file_path: str | None, gold_file_path: str | None) -> int:
    """Whether two files are the same except for white space.

    Fails as: 0 for None.
    """
    if not py_file_path or not gold_file_path:
        return 0
    texts = ["".join(read_text(path).split()) for path in (py_file_path, gold_file_path)]
    return int(texts[0] == texts[1])


@metric("general.py")
def compare_terminal_and_txt(txt_file_path: str | None, terminal_output: str | None) -> int:
    """Whether a file holds exactly the text that the terminal shows.

    Fails as: 0 for None.
    """
    if not txt_file_path or not terminal_output:
        return 0
    return int(terminal_output == read_text(txt_file_path))


@metric("vscode.py")
def compare_config(actual: str | None, rules: Mapping[str, Any], **_: Any) -> float:
    """Whether a file holds exactly the expected text.

    Fails as: 0.0 for None.
    """
    return float(bool(actual) and read_text(str(actual)) == rules["expected"])


@metric("vscode.py")
def compare_answer(actual: str | None, rules: Mapping[str, Any], **_: Any) -> float:
    """Whether an answer is exactly the expected one.

    Fails as: 0.0 for None.
    """
    return float(bool(actual) and actual == rules["expected"])


@metric("basic_os.py")
def check_text_enlarged(scaling_factor_str: str) -> int:
    """Whether a scaling factor is above 1.

    Fails as: TypeError for None.
    """
    return int(float(scaling_factor_str) > 1.0)


def _has_all(text: str, expected: Any) -> bool:
    return all(each in text for each in expected)


def _timed(path: str) -> int:
    return sum(bool(_TIME.search(line)) for line in read_text(path).splitlines())
