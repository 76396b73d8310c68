"""Notes to and from files: for other people, other copies of the run, and for `llm-judge calibrate`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Note
from bench_core.run_folder import Lines, add_notes, read_lines, read_notes
from bench_report.analysis.evaluation import noted_outcomes
from bench_report.formats.csv_parquet import cell
from bench_report.run_data.sources import read_runs

_COLUMNS = tuple(name for name in Note.model_fields if name not in {"schema_version", "checksum"})


def export_notes(run: Path, out: Path, *, outcomes: bool = False) -> int:
    """Write the notes of a run and return how many there are.

    Args:
        run: The run folder.
        out: As CSV the notes that hold; by any other name every line, for `import_notes`.
        outcomes: Instead, a line for each trial whose outcome people stated and agree on, as `llm-judge calibrate`
            reads labels: `case_id` is the task, with `#<trial>` in runs of several trials.

    Raises:
        InputError: Outcomes are asked for and there is none.
    """
    (source,) = read_runs([run])
    if outcomes:
        found, disputed = noted_outcomes(source)
        if not found:
            raise InputError(
                f"no one stated the outcome of a trial of {run}, or not in one way ({disputed} in two): label trials "
                f"`really passed` or `really failed` in `bench-report serve {run}`"
            )
        several = source.info.trials > 1
        lines = [
            json.dumps(
                {
                    "case_id": f"{key.task_id}#{key.trial}" if several else key.task_id,
                    "passed": passed,
                }
            )
            for key, passed in found.items()
        ]
    elif out.suffix == ".csv":
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(_COLUMNS)
        rows = [each.model_dump(mode="json") for each in source.notes]
        writer.writerows([cell(row[name]) for name in _COLUMNS] for row in rows)
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(out, text.getvalue().encode())
        return len(rows)
    else:
        lines = [each.model_dump_json(exclude={"checksum"}) for each in source.note_lines.records]
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)


def import_notes(run: Path, sources: Sequence[Path]) -> int:
    """Add the notes of files or of other copies of the run, and return how many are new.

    Raises:
        InputError: One is missing or empty, has a line that is not a note, or is of another run.
        RunFolderError: A folder is not a run, or a damaged one.
    """
    read: list[Lines[Note]] = []
    read_runs([run, *(each for each in sources if each.is_dir())])  # refuses other folders
    for source in sources:
        if not source.exists():
            raise InputError(
                f"{source} does not exist: give a file of `notes export`, or a run folder"
            )
        lines = read_notes(source) if source.is_dir() else read_lines(source, Note)
        if lines.bad:
            raise InputError(f"{lines.bad[0]}: take the line out, or export the notes again")
        if not lines.records and not source.is_dir():
            raise InputError(f"{source} holds no note: give a file of `notes export`")
        read.append(lines)
    return add_notes(run, [each for lines in read for each in lines.records], once=True)
