"""Whether runs survive whatever their agents leave: hostile files of every kind, from agents in either process.

Each kind is a trial of two runs, one after the other with the same folder of temporary files. Every trial must
come to its own end, what was kept must be as the record says, `check` and the seal must hold, what lies
outside must be unchanged, and nothing may be left among temporary files.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "packages" / "bench-core" / "tests" / "agent_process"))

from hostile_files import BEFORE, GOOD, KINDS  # noqa: E402  # needs the path above
from sums import Sums  # noqa: E402  # as above

from bench_core.files import remove_folder  # noqa: E402  # as above
from bench_core.records import Status  # noqa: E402  # as above
from bench_core.run_folder import check_run, read_run, seal_of  # noqa: E402  # as above
from bench_core.run_spec import AgentProcessSpec, RunSpec  # noqa: E402  # as above
from bench_core.runs import RunEnvironment, run_benchmark_sync  # noqa: E402  # as above
from bench_core.scheduling import NoLocks  # noqa: E402  # as above


def campaign(place: Path, kinds: list[str], process: str, workers: int) -> list[str]:
    """Run the kinds once and return what is not as it should be."""
    outside, out = place / "outside", place / f"run-{process}"
    outside.mkdir(exist_ok=True)
    (outside / BEFORE).write_bytes(GOOD)
    (outside / "secret.txt").write_text("kept")
    os.environ["HOSTILE_OUTSIDE"] = str(outside)
    names = [each.replace(" ", "_") for each in kinds]
    spec = RunSpec(
        agent="hostile_files:Leaver",
        workers=workers,
        agent_process=AgentProcessSpec(process=process, variables=("HOSTILE_OUTSIDE", "HOSTILE_MANY")),
    )  # fmt: skip
    run_benchmark_sync(
        Sums(*names), spec, out, run_environment=RunEnvironment(locks=NoLocks()), guard=True
    )
    view, found = read_run(out), []
    for key, result in view.results.items():
        if result.status is not Status.COMPLETED:
            found.append(f"{key.task_id}: {result.status.value}: {result.error}")
        if "good.txt" not in result.artifact_paths and key.task_id != "many_files":
            found.append(f"{key.task_id}: the good file is gone; left out: {result.left_out}")
        print(f"{process} {key.task_id}: {len(result.artifacts)} kept; "
              f"{'; '.join(f'{each.files} {each.why}' for each in result.left_out) or 'all'}")  # fmt: skip
    found += [f"check: {each}" for each in check_run(out).problems]
    if not found:
        seal_of(out)
    if (outside / BEFORE).read_bytes() != GOOD:
        found.append("a file outside was changed")
    left = [each.name for each in Path(tempfile.gettempdir()).iterdir()]
    found += [f"left among temporary files: {each}" for each in left if "locks" not in each]
    return [f"{process}: {each}" for each in found]


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--many", type=int, default=1_000_000, help="small files of one kind")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    os.environ["HOSTILE_MANY"] = str(asked.many)
    place = Path(tempfile.mkdtemp(prefix="hostile-files-"))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [sys.path[0], os.environ.get("PYTHONPATH")])
    )
    temporary = place / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    try:
        broken = [
            each
            for process in ("own", "shared")
            for each in campaign(place, asked.kinds, process, asked.workers)
        ]
    finally:
        remove_folder(place)
    for each in broken:
        print(f"broken: {each}")
    print(f"{len(asked.kinds)} kinds, in each process: {len(broken)} promises broken")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
