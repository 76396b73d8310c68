"""Read states and cases from files: JSON, gzipped or not, of a size that can be handled."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records.codec import decode_json
from bench_core.records.judge import JudgeCase
from bench_core.records.problems import problems_of

MAX_BYTES = 512 * 1024 * 1024
"""The most a file may hold, unpacked; a small gzip file can unpack to anything."""

_GZIP = b"\x1f\x8b"


def read_json(path: Path | str, what: str = "a state") -> Any:
    """Return the JSON of a file, gzipped or not.

    Raises:
        InputError: It is missing, too large, not JSON or nested too deeply.
    """
    path = Path(path)
    try:
        return json.loads(_unpacked(path))
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file; {what} is read from it") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot read {what}: {error}") from error
    except RecursionError as error:
        raise InputError(f"{path}: {what} is nested too deeply to be read") from error
    except ValueError as error:
        raise InputError(f"{path}: {what} must be JSON: {error}") from error


def read_case(path: Path | str) -> JudgeCase:
    """Read a case; relative paths in it are resolved against its folder.

    Raises:
        InputError: The file is not a case.
    """
    path = Path(path)
    data = read_json(path, "a case")
    return case_of(data, path, str(path))


def read_lines(path: Path, what: str) -> Iterator[tuple[int, str, Any]]:
    """Yield the number, the place in words and the JSON of each line of a file that has one.

    Raises:
        InputError: It cannot be read, or a line is not JSON.
    """
    try:
        # programs on Windows begin a file of text with a byte order mark
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot read {what}: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                yield number, where, decode_json(line)
            except ValueError as error:
                raise InputError(f"{where}: not JSON: {error}") from None


def case_of(data: Any, path: Path, where: str) -> JudgeCase:
    """Turn JSON into a case whose file names are relative to `path`.

    Raises:
        InputError: It does not fit; names the field.
    """
    try:
        case = JudgeCase.model_validate(data)
    except ValidationError as error:
        raise InputError(
            f"{where}: not a case: {problems_of(error, JudgeCase)}; a case has goal, criteria "
            f"(texts, or each with id and text) and state or state_path"
        ) from error
    if "case_id" not in case.model_fields_set:
        case = case.model_copy(update={"case_id": where.rsplit("/", 1)[-1].removesuffix(".json")})
    folder = path.parent
    shots = tuple(
        each.model_copy(update={"path": str(folder / each.path)}) for each in case.screenshots
    )
    state_path = None if case.state_path is None else str(folder / case.state_path)
    return case.model_copy(update={"screenshots": shots, "state_path": state_path})


def case_state(case: JudgeCase) -> Any:
    """Return the state of a case, read from its file if it names one.

    Raises:
        InputError: The file cannot be read.
    """
    return case.state if case.state_path is None else read_json(case.state_path)


def _unpacked(path: Path) -> bytes:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
    if packed:
        with gzip.open(path) as file:
            data = file.read(MAX_BYTES + 1)
    else:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MiB; store less per state")
    return data
