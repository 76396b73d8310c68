"""The wording of a verdict: metrics' inputs, shortened to a readable length, and the reason for a score."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from waa_server_ext.evaluation.document_checks import check_document
from waa_server_ext.evaluation.verdicts import EvaluationFault, MetricDetail, Stage
from waa_server_ext.vm.exchanges import VmExchange

_SHOWN = 500
_CONTENTS = 2000
_MOST_BYTES = 4_000_000  # larger files are described by their size alone
_PART_BYTES = 200_000
_MESSAGE = 2000
_OFFICE_TEXT = re.compile(r"(word/document|xl/sharedStrings|ppt/slides/slide\d+|content)\.xml")


@dataclass
class MetricStep:
    """The course of one metric; None stands for a step that was not reached.

    Attributes:
        getter: The getter of the result, and `asked` its part of the task.
        error: The exception of a getter or the metric.
    """

    metric: str
    getter: str | None = None
    expected_getter: str | None = None
    asked: Any = None
    actual: Any = None
    expected: Any = None
    score: Any = None
    error: BaseException | None = None

    def detail(self, scratch: Path) -> MetricDetail:
        """Return its record; call it before the files in `scratch`, whose contents are shown, are deleted."""
        return MetricDetail(
            metric=self.metric,
            getter=self.getter,
            getter_arguments=_arguments(self.asked),
            expected_getter=self.expected_getter,
            actual=_shown(self.actual, scratch),
            expected=_shown(self.expected, scratch),
            score=as_number(self.score),
            error=None if self.error is None else error_words(self.error),
        )


def as_number(score: Any) -> float | None:
    """Return a score as vanilla would write it; None if it cannot become a number."""
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError):
        return None


def error_words(error: BaseException) -> str:
    """Return the type and message of an exception, shortened to a readable length."""
    return writable(f"{type(error).__name__}: {error}")[:_MESSAGE]


def transport_fault(lost: VmExchange, stage: Stage | None, func: str | None) -> EvaluationFault:
    """Return the fault of an exchange that got no answer."""
    kind = "VmTransportError" if lost.target == "vm" else "DownloadError"
    message = f"{lost.path}: {lost.error}"[:_MESSAGE]
    return EvaluationFault(phase="evaluate", stage=stage, func=func, type=kind, message=message)


def writable(text: str) -> str:
    """Return text that UTF-8 can encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _arguments(asked: Any) -> str | None:
    if not isinstance(asked, Mapping):
        return None
    given = {name: value for name, value in asked.items() if name != "type"}
    return abbreviated(json.dumps(given, ensure_ascii=False, default=repr)) if given else None


def _shown(value: Any, scratch: Path) -> str | None:
    if value is None:
        return None
    values = value if isinstance(value, list) else [value]
    files = [_file_in(scratch, each) for each in values]
    found = [_contents(file) for file in files if file]
    return "\n".join(found) if found and all(files) else abbreviated(value)


def _file_in(scratch: Path, value: Any) -> Path | None:
    """Return the file that a path names if it is below `scratch`; other files are this machine's own."""
    if not isinstance(value, str):
        return None
    try:
        file = (scratch / value).resolve()
        return file if file.is_relative_to(scratch.resolve()) and file.is_file() else None
    except (OSError, ValueError):  # not a path
        return None


def _contents(file: Path) -> str:
    """Return a file's text, for an office document its parts' text, for other files only the size."""
    try:
        data = file.read_bytes() if file.stat().st_size <= _MOST_BYTES else b""
        text = _office_text(data) if data.startswith(b"PK") else data.decode("utf-8-sig")
    except Exception:  # noqa: BLE001  # a file of the VM may hold anything, and the score is known without it
        text = ""
    head = f"{file.name}, {file.stat().st_size:,} bytes"
    if not text or "\0" in text:
        return writable(head)
    rest = f"... ({len(text):,} characters)" if len(text) > _CONTENTS else ""
    return writable(f"{head}:\n{text[:_CONTENTS]}{rest}")


def _office_text(data: bytes) -> str:
    check_document(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        named = sorted(each for each in archive.namelist() if _OFFICE_TEXT.fullmatch(each))
        parts = [archive.open(each).read(_PART_BYTES).decode("utf-8", "replace") for each in named]
    return " ".join(re.sub(r"<[^>]*>?", " ", "\n".join(parts)).split())


def abbreviated(value: Any) -> str:
    """Return a value for people to read, shortened if it is long; never raises."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception as error:  # noqa: BLE001  # a repr of foreign code
        text = f"<{type(value).__name__}: {type(error).__name__}>"
    text = writable(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def reason_of(
    task: Mapping[str, Any],
    action_history: Sequence[str],
    score: float | None,
    fault: EvaluationFault | None,
) -> str:
    """Return a sentence with the reason for the score or for its absence."""
    if fault is not None:
        where = fault.func or fault.stage or fault.phase
        return f"not scored: {fault.type} in {where}: {fault.message}"[:_MESSAGE]
    gave_up = bool(action_history) and action_history[-1] == "FAIL"
    func = task["evaluator"]["func"]
    if func == "infeasible":
        ending = "said FAIL" if gave_up else "did not say FAIL"
        return f"the task is infeasible and the agent {ending}"
    if gave_up:
        return "the agent said FAIL on a feasible task"
    named = " and ".join(map(str, func)) if isinstance(func, list) else str(func)
    shown = "NaN" if score is None or math.isnan(score) else f"{score:g}"
    return f"{named} gave {shown}"
