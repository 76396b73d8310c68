"""Whether runs survive whatever their agents leave: hostile files of every kind, from agents in either process.

Each kind is a trial of two runs, one after the other with the same folder of temporary files. Every trial must
come to its own end, what was kept must be as the record says, `check` and the seal must hold, what lies
outside must be unchanged, and nothing may be left among temporary files. Only what a process that an agent of the
run's own process left goes on writing may be changed, and `check` must say so.

With all kinds, and where one may be mounted, a small disk is then filled at twenty points of a file that is
taken over.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.trial import Evaluation, Evidence

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "packages" / "bench-core" / "tests" / "agent_process"))

from hostile_files import (  # noqa: E402  # needs the path above
    BEFORE,
    FULL_BYTES,
    GOOD,
    KINDS,
    SECRET,
    WRITES_ON,
)
from sums import Sums  # noqa: E402  # as above

from bench_core.files import remove_folder  # noqa: E402  # as above
from bench_core.records import Limits, Status  # noqa: E402  # as above
from bench_core.redaction import Redactor  # noqa: E402  # as above
from bench_core.run_folder import check_run, read_run, seal_of  # noqa: E402  # as above
from bench_core.run_spec import AgentProcessSpec, RunSpec  # noqa: E402  # as above
from bench_core.runs import RunEnvironment, run_benchmark_sync  # noqa: E402  # as above
from bench_core.scheduling import NoLocks  # noqa: E402  # as above


def campaign(place: Path, kinds: list[str], process: str, workers: int) -> list[str]:
    """Run the kinds once and return what is not as it should be."""
    outside, out = place / "outside", place / f"run-{process}"
    outside.mkdir(parents=True, exist_ok=True)
    (outside / BEFORE).write_bytes(GOOD)
    (outside / "secret.txt").write_text("kept")
    os.environ["HOSTILE_OUTSIDE"] = str(outside)
    names = [each.replace(" ", "_") for each in kinds]
    spec = RunSpec(
        agent="hostile_files:Leaver",
        workers=workers,
        limits=Limits(time_limit_s=1_200),  # a million files take minutes beside other work
        agent_process=AgentProcessSpec(process=process, variables=("HOSTILE_OUTSIDE", "HOSTILE_MANY", "HOSTILE_LARGE")),
    )  # fmt: skip
    environment = RunEnvironment(locks=NoLocks(), redactor=Redactor([SECRET]))
    run_benchmark_sync(Sums(*names), spec, out, run_environment=environment, guard=True)
    if process == "shared" and WRITES_ON & set(kinds):
        time.sleep(5)  # until these have ended
    view, found = read_run(out), []
    for key, result in view.results.items():
        if result.status is not Status.COMPLETED:
            found.append(f"{key.task_id}: {result.status.value}: {result.error}")
        good = "agent/good.txt" if process == "own" else "good.txt"
        if good not in result.artifact_paths and key.task_id != "many_files":
            found.append(f"{key.task_id}: the good file is gone; left out: {result.left_out}")
    problems = [str(each) for each in check_run(out).problems]
    changed = []
    if process == "shared":
        changed = [each for each in problems if "growing." in each or "over.bin" in each]
    found += [f"check: {each}" for each in problems if each not in changed]
    print(f"{process:6} {'kind':26} {'score':5} {'kept':>5} {'complete':8} refused and told")
    for key, result in view.results.items():
        told = "; ".join(f"{each.files}: {each.why}" for each in result.left_out)
        folder = view.trial_folder(key).relative_to(out).as_posix()
        whole = (
            "told"
            if any(folder in each for each in changed)
            else "NO"
            if any(folder in each for each in problems)
            else "yes"
        )
        print(
            f"{process:6} {key.task_id:26} {result.score!s:5} {len(result.artifacts):5} {whole:8} {told or '-'}"
        )
    if not found and not changed:
        seal_of(out)
    if (outside / BEFORE).read_bytes() != GOOD:
        found.append("a file outside was changed")
    left = [each.name for each in Path(tempfile.gettempdir()).iterdir()]
    found += [f"left among temporary files: {each}" for each in left if "locks" not in each]
    return [f"{process}: {each}" for each in found]


class Emptied(Sums):
    """Gives the disk its room back once an agent's files have been taken over."""

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        """Score what the agent answered."""
        os.unlink(f"{os.environ['HOSTILE_OUTSIDE']}/filler")  # noqa: PTH108  # no time for a thread
        return await super().evaluate(evidence)


def on_small_disk(disk: Path) -> list[str]:
    """Do what `full_disk` does, if a disk may be mounted."""
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=512m", "proctor-small", str(disk)]
    if subprocess.run(mount, check=False).returncode:
        print("no disk may be mounted: none is filled")
        return []
    try:
        return full_disk(disk)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def full_disk(place: Path) -> list[str]:
    """Fill the disk `place` at twenty points of a file that is copied; return what is not as it should be."""
    out, names = place / "run", [f"full_{twentieths}" for twentieths in (*range(20), 24)]
    os.environ["HOSTILE_OUTSIDE"] = str(place)
    spec = RunSpec(
        agent="hostile_files:Filler",
        agent_process=AgentProcessSpec(variables=("HOSTILE_OUTSIDE",)),
    )
    environment = RunEnvironment(locks=NoLocks(), redactor=Redactor([SECRET]))
    run_benchmark_sync(Emptied(*names), spec, out, run_environment=environment, guard=True)
    view, found, refused = read_run(out), [], 0
    for key, result in view.results.items():
        kept = {each.path: each.size for each in result.artifacts}
        told = [(each.why, each.first) for each in result.left_out]
        text = view.trial_folder(key) / "agent" / "data.txt"
        whole = text.exists() and text.read_text().endswith("x" * (FULL_BYTES - len(SECRET)))
        if result.score != 1.0 or "agent/good.txt" not in kept or "given.json" not in kept:
            found.append(f"{key.task_id}: {result.status.value}, {result.error}, {sorted(kept)}")
        if whole is ("agent/data.txt" not in kept) or whole is bool(told):
            found.append(f"{key.task_id}: kept whole: {whole}; {kept}; told: {told}")
        refused += told == [("No space left on device", "data.txt")]
        if SECRET in (text.read_text() if whole else ""):
            found.append(f"{key.task_id}: its secret is there")
    print(f"20 points of a full disk: {refused} refused and told, {len(view.results)} results")
    found += [f"check: {each}" for each in check_run(out).problems]
    found += [f"left: {each}" for each in out.rglob("*.tmp")]
    found += [] if refused == 20 else [f"{refused} of 20 were refused, and one has room"]
    return [f"full disk: {each}" for each in found]


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--many", type=int, default=1_000_000, help="small files of one kind")
    parser.add_argument("--large", type=int, default=(2 << 30) + 1, help="bytes of one file")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    os.environ["HOSTILE_MANY"] = str(asked.many)
    os.environ["HOSTILE_LARGE"] = str(asked.large)
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
        if asked.kinds == list(KINDS):
            broken += on_small_disk(place / "disk")
    finally:
        remove_folder(place)
    for each in broken:
        print(f"broken: {each}")
    print(f"{len(asked.kinds)} kinds, in each process: {len(broken)} promises broken")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
