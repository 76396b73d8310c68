"""Read labels: JSON lines, JSON or CSV of case ids and whether each is a success."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.records.codec import decode_json

_TRUE = frozenset({"1", "pass", "passed", "success", "true", "y", "yes"})
_FALSE = frozenset({"0", "fail", "failed", "failure", "false", "n", "no"})


def read_labels(path: Path | str) -> dict[str, bool]:
    """Read labels: JSON lines with `case_id` and `passed`, a JSON object, or CSV of two columns.

    Raises:
        InputError: The file is none of these, or labels a case in two ways.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read the labels: {error}") from error
    labels: dict[str, bool] = {}
    for number, (case_id, given) in enumerate(_label_rows(path, text), 1):
        word = str(given).strip().lower()  # a boolean's is `true` or `false`, too
        if word not in _TRUE | _FALSE:
            raise InputError(f"{path}, label {number}: {given!r} is neither true nor false")
        label = word in _TRUE
        if labels.setdefault(case_id, label) != label:
            raise InputError(f"{path}: {case_id!r} is labelled true and false; decide on one")
    if not labels:
        raise InputError(
            f'{path}: holds no label; write lines like {{"case_id": …, "passed": true}}'
        )
    return labels


def _label_rows(path: Path, text: str) -> list[tuple[str, Any]]:
    if path.suffix == ".csv":
        try:
            rows = list(csv.DictReader(text.splitlines()))
        except csv.Error as error:
            raise InputError(f"{path}: no CSV, so no label: {error}") from None
        return [_pair(row, f"{path}, line {number}") for number, row in enumerate(rows, 2)]
    if path.suffix == ".json":
        data = _label_json(text, str(path))
        if isinstance(data, dict):
            return list(data.items())
        entries = data if isinstance(data, list) else [data]
        return [_pair(each, f"{path}, label {n}") for n, each in enumerate(entries, 1)]
    lines = [(f"{path}, line {n}", line) for n, line in enumerate(text.splitlines(), 1)]
    return [_pair(_label_json(line, where), where) for where, line in lines if line.strip()]


def _label_json(text: str, where: str) -> Any:
    try:
        return decode_json(text)
    except ValueError as error:
        raise InputError(f"{where}: not JSON, so no label: {error}") from None


def _pair(row: Any, where: str) -> tuple[str, Any]:
    try:
        return str(row["case_id"]), row["passed"]
    except (KeyError, TypeError):
        raise InputError(f"{where}: no label: each needs `case_id` and `passed`") from None
