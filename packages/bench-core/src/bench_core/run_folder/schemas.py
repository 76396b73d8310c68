"""The JSON Schemas of the records that files and wires hold, for readers in other languages."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from bench_core.records import Event, ModelCall, Record, RunInfo, Step, StepView, Task, TrialResult
from bench_core.records.claims import Claim, TaskClaims
from bench_core.records.judge import JudgeCase, Verdict
from bench_core.records.notes import Note
from bench_core.run_folder.rescore_folder import RescoreInfo
from bench_core.run_folder.step_scores import StepScores

SCHEMA_RECORDS: dict[str, type[Record]] = {
    "claim": Claim,
    "event": Event,
    "judge-case": JudgeCase,
    "rescore-info": RescoreInfo,
    "model-call": ModelCall,
    "note": Note,
    "run-info": RunInfo,
    "step": Step,
    "step-scores": StepScores,
    "step-view": StepView,
    "task": Task,
    "task-claims": TaskClaims,
    "trial-result": TrialResult,
    "verdict": Verdict,
}
"""File name (without `.json`) to record."""

_STUDY_FILE = "bench_core.studies.study_file"  # a tower: the base does not import it
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text(record: type[Record], *, by_hand: bool = False) -> str:
    """Return the JSON Schema of `record` as it is written: in files, or by people (`by_hand`)."""
    schema = _plain(record.model_json_schema(mode="validation" if by_hand else "serialization"))
    return json.dumps({"$schema": _DIALECT, **schema}, indent=2, sort_keys=True) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write all schemas into `folder` and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, text in _texts().items():
        path = folder / f"{name}.json"
        path.write_text(text, encoding="utf-8", newline="\n")
        written.append(path)
    return written


def stale_schemas(folder: Path) -> list[str]:
    """Return the names of missing or outdated schemas in `folder`."""
    return [
        name
        for name, text in _texts().items()
        if not (path := folder / f"{name}.json").is_file() or path.read_bytes() != text.encode()
    ]


def _texts() -> dict[str, str]:
    study = importlib.import_module(_STUDY_FILE).StudyFile
    texts = {name: schema_text(record) for name, record in SCHEMA_RECORDS.items()}
    return texts | {"study": schema_text(study, by_hand=True)}


def _plain(schema: Any) -> Any:
    """Write whole numbers without a fraction, whatever the version of pydantic does."""
    if isinstance(schema, dict):
        return {name: _plain(value) for name, value in schema.items()}
    if isinstance(schema, list):
        return [_plain(value) for value in schema]
    if isinstance(schema, float) and schema.is_integer():
        return int(schema)
    return schema
