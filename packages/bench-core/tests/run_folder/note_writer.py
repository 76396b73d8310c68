"""Adds notes to a run folder and says of each that it is there, until it is killed."""

import sys
from datetime import datetime, timezone
from pathlib import Path

from bench_core.records import Note
from bench_core.run_folder import add_notes, read_info


def main(run: Path, by: str, count: int) -> None:
    for number in range(count):
        note = Note(
            run_id=read_info(run).run_id, at=datetime.now(timezone.utc), by=by, task_id="0", trial=1,
            step=number, label="wrong element", text=f"{number} " + "ü" * 3000,
        )  # fmt: skip
        add_notes(run, [note])
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
