"""A judge's verdicts on a trial, stored in its folder so that scoring again need not ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from bench_core.errors import EvaluationError, RecordError
from bench_core.records.judge import Verdict
from bench_core.run_folder import TrialArtifacts, read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from multireal_harness.evaluation import Evaluation

T = TypeVar("T")

_JUDGEMENT = "judgement.json"
_GRADES = "answer_grades.json"


def store_judgements(artifacts: TrialArtifacts, evaluation: Evaluation) -> None:
    """Write the judge's verdicts on the end states and on the answer, if it was asked."""
    if evaluation.verdict is not None:
        artifacts.write_json(_JUDGEMENT, evaluation.verdict.model_dump(mode="json"))
    if evaluation.grades:
        grades = {name: each.model_dump(mode="json") for name, each in evaluation.grades.items()}
        artifacts.write_json(_GRADES, grades)


def stored_judgement(folder: Path, details: Mapping[str, Any]) -> Verdict | None:
    """Return the judge's verdict on the end states; None if no judge was asked.

    A file in the folder of a result whose `details` name no judge is not the run's.

    Raises:
        EvaluationError: The file cannot be read.
    """
    return _read(folder / _JUDGEMENT, TypeAdapter(Verdict)) if details.get("judge") else None


def stored_grades(folder: Path, details: Mapping[str, Any]) -> dict[str, Verdict]:
    """Return the judge's verdicts on the answer, by the number of the eval; `details` as above.

    Raises:
        EvaluationError: The file cannot be read.
    """
    if not details.get("answer_grades"):
        return {}
    return _read(folder / _GRADES, TypeAdapter(dict[str, Verdict])) or {}


def _read(path: Path, kind: TypeAdapter[T]) -> T | None:
    if not path.exists():
        return None
    try:
        return kind.validate_python(read_json(path))
    except (RecordError, ValidationError) as error:
        raise EvaluationError(f"{path} cannot be read: {error}") from error
