"""A study's declaration before its first trial, and the changes and additions made later."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.files.checksums import file_sha256
from bench_core.records import Record, RunInfo, Task
from bench_core.records.problems import problems_of
from bench_core.run_folder.provenance import package_versions, task_set_hash
from bench_core.run_folder.view import read_run
from bench_core.statistics.looks import LookPlan, plan_looks
from bench_core.studies.order import RunName
from bench_core.studies.reuse import ReusedArm
from bench_core.studies.study_file import Study, load_study

__all__ = [
    "CHANGES",
    "SEALED",
    "STUDY_FILE",
    "DeclaredLooks",
    "SealedBenchmark",
    "SealedStudy",
    "StudyChange",
    "Verification",
    "begun_runs",
    "declared_study",
    "note_changes",
    "read_changes",
    "read_reused",
    "read_sealed",
    "require_sealed",
    "run_folder",
    "seal",
    "verify_study",
]

STUDY_FILE, SEALED, CHANGES = "study.yaml", "sealed.json", "changes.jsonl"
_SHOWN_LINES = 40


class SealedBenchmark(Record):
    """A benchmark as it was when the study was sealed.

    Attributes:
        tasks: Ids, in the batches that looks are taken after; all in one batch without looks.
        task_set_hash: Of the tasks, as `run.json` has it.
        order: Whether arms take turns task by task, or part by part if they cannot run at once.
    """

    name: str
    tasks: tuple[tuple[str, ...], ...]
    task_set_hash: str
    order: Literal["interleaved", "balanced"]

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return sum(map(len, self.tasks))


class DeclaredLooks(Record):
    """How a pair of arms is looked at on a benchmark before all has run."""

    benchmark: str
    baseline: str
    arm: str
    outcome: Literal["success_rate", "score"]
    plan: LookPlan


class SealedStudy(Record):
    """`sealed.json`: written once, before the first trial.

    Attributes:
        sha256: Of `study.yaml` next to it, byte by byte.
        time: When it was sealed.
        versions: Of Proctor's distributions and of those that benchmarks name.
        seed: Trials' own seeds and the order of turns come from it.
        looks: Of all comparisons that are looked at more than once.
        reused: Arms that are not run; their results were there when this was declared.
        declared_sha256: Of `study.yaml` before names were taken out, in a bundle; None: it is as it was.
    """

    schema_version: Literal[1] = 1
    name: str
    sha256: str
    time: datetime
    versions: dict[str, str]
    seed: int
    trials: int
    arms: tuple[str, ...]
    benchmarks: tuple[SealedBenchmark, ...]
    looks: tuple[DeclaredLooks, ...] = ()
    reused: tuple[ReusedArm, ...] = ()
    declared_sha256: str | None = None


class StudyChange(Record):
    """A line of `changes.jsonl`: a deviation from the declaration, from then on.

    Attributes:
        text: The deviation, in words.
        sha256: Of the study's file from then on.
        source: That file.
        versions: From then on.
        reused: Arms that are not run, and were added then.
        after: SHA-256 of the line before, or of `sealed.json`: a line that is taken out or altered shows.
    """

    time: datetime
    text: str
    sha256: str
    source: str
    versions: dict[str, str]
    reused: tuple[ReusedArm, ...] = ()
    after: str


class Verification(Record):
    """The findings of `study verify`.

    Attributes:
        sealed: The declaration, and its time.
        first_trial: When the first trial began; None before.
        changes: Changes and additions made later.
        problems: Deviations from the declaration that no change explains.
    """

    sealed: SealedStudy
    first_trial: datetime | None = None
    changes: tuple[StudyChange, ...] = ()
    problems: tuple[str, ...] = ()


def run_folder(study: Path, name: RunName) -> Path:
    """Return the run folder of an arm on a benchmark."""
    return study / "runs" / name.benchmark / name.arm


def begun_runs(study: Path) -> list[RunName]:
    """Return the runs of a study that were begun, by name."""
    found = sorted((study / "runs").glob("*/*/run.json"))
    return [RunName(each.parent.parent.name, each.parent.name) for each in found]


def read_sealed(folder: Path) -> SealedStudy | None:
    """Return the declaration of the study in a folder; None if it is not sealed yet.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return SealedStudy.model_validate_json((folder / SEALED).read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise InputError(
            f"{folder / SEALED} is not what a study wrote ({problems_of(error, SealedStudy, kind='key')}): "
            "restore it from a copy"
        ) from error


def require_sealed(folder: Path) -> SealedStudy:
    """Return the declaration of the study in a folder.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    sealed = read_sealed(folder)
    if sealed is None:
        raise InputError(
            f"{folder} has no sealed study: `bench-core study run FILE --out {folder}` begins one"
        )
    return sealed


def read_changes(folder: Path) -> tuple[StudyChange, ...]:
    """Return the changes and additions after the seal, oldest first.

    Raises:
        InputError: A line cannot be read.
    """
    return tuple(
        _change(folder, number, line) for number, line in enumerate(_change_lines(folder), start=1)
    )


def read_reused(folder: Path) -> dict[RunName, ReusedArm]:
    """Return the arms of the study in a folder that are taken from earlier runs."""
    sealed = read_sealed(folder)
    found: list[SealedStudy | StudyChange] = [*([sealed] if sealed else []), *read_changes(folder)]
    return {RunName(arm.benchmark, arm.arm): arm for each in found for arm in each.reused}


def declared_study(folder: Path) -> Study:
    """Return the study as it was declared."""
    return load_study(folder / STUDY_FILE)


def seal(
    study: Study,
    folder: Path,
    tasks: Mapping[str, Sequence[Task]],
    orders: Mapping[str, Literal["interleaved", "balanced"]],
    packages: Sequence[str],
    reused: Sequence[ReusedArm] = (),
) -> SealedStudy:
    """Write down a study's declaration; its first trial may begin after this.

    Args:
        study: Its file.
        folder: Its folder.
        tasks: Benchmark to tasks.
        orders: Benchmark to how arms take turns on it.
        packages: Distributions to keep the versions of, in addition to Proctor's.
        reused: Arms that are taken from earlier runs.

    Raises:
        NotEstimableError: There are too few tasks for as many looks.
    """
    looks = _looks(study, tasks)
    benchmarks = []
    for name, own in tasks.items():
        plans = [each.plan for each in looks if each.benchmark == name]
        batches = max((plan.batches for plan in plans), key=len, default=None)
        benchmarks.append(
            SealedBenchmark(
                name=name,
                tasks=batches or (tuple(each.task_id for each in own),),
                task_set_hash=task_set_hash(own),
                order=orders[name],
            )
        )
    sealed = SealedStudy(
        name=study.name,
        sha256=hashlib.sha256(study.source).hexdigest(),
        time=datetime.now(timezone.utc),
        versions=package_versions(packages),
        seed=study.seed,
        trials=study.trials,
        arms=tuple(arm.name for arm in study.arms),
        benchmarks=tuple(benchmarks),
        looks=looks,
        reused=tuple(reused),
    )
    write_atomic(folder / STUDY_FILE, study.source)
    write_atomic(folder / SEALED, sealed.model_dump_json(indent=2).encode())
    return sealed


def note_changes(
    study: Study,
    folder: Path,
    sealed: SealedStudy,
    packages: Sequence[str],
    reused: Sequence[ReusedArm] = (),
) -> StudyChange | None:
    """Write down the changes of a study since the last note, and return them; None if it is the same."""
    changes = read_changes(folder)
    last = changes[-1] if changes else None
    old = last.source if last else declared_study(folder).source.decode()
    was = last.versions if last else sealed.versions
    now, new = package_versions(packages), study.source.decode()
    said = []
    if new != old:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "before", "now", "", "", n=0, lineterm=""
        )
        kept = [each for each in lines if not each.startswith(("---", "+++", "@@"))]
        more = f" and {len(kept) - _SHOWN_LINES} lines more" if len(kept) > _SHOWN_LINES else ""
        said.append(f"study.yaml: {'; '.join(kept[:_SHOWN_LINES])}{more}")
    moved = [
        f"{name} {was.get(name, 'absent')} -> {now.get(name, 'absent')}"
        for name in sorted({*was, *now})
        if was.get(name) != now.get(name)
    ]
    if moved:
        said.append(f"versions: {', '.join(moved)}")
    if not said:
        return None
    earlier = _change_lines(folder)
    change = StudyChange(
        time=datetime.now(timezone.utc),
        text="; ".join(said),
        sha256=hashlib.sha256(study.source).hexdigest(),
        source=new,
        versions=now,
        reused=tuple(reused),
        after=hashlib.sha256(
            earlier[-1] if earlier else (folder / SEALED).read_bytes()
        ).hexdigest(),
    )
    # whole or not at all: a process that dies here leaves no torn line
    write_atomic(
        folder / CHANGES, b"\n".join([*earlier, change.model_dump_json().encode()]) + b"\n"
    )
    return change


def verify_study(folder: Path) -> Verification:
    """Compare a study's folder with its declaration before the first trial.

    Raises:
        InputError: The folder has no sealed study.
    """
    sealed, problems = require_sealed(folder), []
    if not (folder / STUDY_FILE).is_file() or file_sha256(folder / STUDY_FILE) != sealed.sha256:
        problems.append(f"{STUDY_FILE} is not the file that was sealed: restore it from a copy")
    problems += _chain_problems(folder)
    reused = read_reused(folder)
    for name, arm in reused.items():
        file = run_folder(folder, name) / "run.json"
        if not file.is_file() or file_sha256(file) != arm.sha256:
            problems.append(f"{name}: its run is not the one that was taken from {arm.source}")
    infos = {name: read_run(run_folder(folder, name)).info for name in begun_runs(folder)}
    for name, info in infos.items():
        problems += _differences(name, info, sealed)
    first = min((info.started for name, info in infos.items() if name not in reused), default=None)
    if first is not None and first < sealed.time:
        problems.append(
            f"the first trial began at {first}, before the study was sealed at {sealed.time}"
        )
    return Verification(
        sealed=sealed, first_trial=first, changes=read_changes(folder), problems=tuple(problems)
    )


def _chain_problems(folder: Path) -> Iterator[str]:
    """Yield a sentence for each line of changes that was altered or taken out."""
    before = hashlib.sha256((folder / SEALED).read_bytes()).hexdigest()
    for number, line in enumerate(_change_lines(folder), start=1):
        change = _change(folder, number, line)
        if change.after != before:
            yield f"{CHANGES}, line {number}: what it follows was altered or taken out"
        if change.sha256 != hashlib.sha256(change.source.encode()).hexdigest():
            yield f"{CHANGES}, line {number}: its file is not the one of its digest"
        before = hashlib.sha256(line).hexdigest()


def _differences(name: RunName, info: RunInfo, sealed: SealedStudy) -> list[str]:
    declared = {each.name: each for each in sealed.benchmarks}.get(name.benchmark)
    if declared is None or name.arm not in sealed.arms:
        return []  # added later, which its report says
    facts = [
        ("tasks", info.task_set_hash, declared.task_set_hash),
        ("seed", info.seed, sealed.seed),
        ("trials", info.trials, sealed.trials),
    ]
    return [
        f"{name}: its {what} are not those that were declared"
        for what, is_, was in facts
        if is_ != was
    ]


def _looks(study: Study, tasks: Mapping[str, Sequence[Task]]) -> tuple[DeclaredLooks, ...]:
    found = []
    for comparison in study.comparisons:
        if comparison.looks == 1:
            continue
        pairs = len(comparison.arms) * len(comparison.benchmarks)
        for benchmark in comparison.benchmarks:
            own = tasks[benchmark]
            plan = plan_looks(
                own,
                {each.task_id: (0.0,) for each in own},  # filled in when it is looked
                looks=comparison.looks,
                trials=study.trials,
                seed=study.seed,
                baseline=comparison.baseline,
                sides=comparison.sides,
                alpha=(1.0 - comparison.level) / pairs,
                futility=None,
                drop=comparison.drop,
            ).model_copy(update={"baseline_scores": {}})
            found += [
                DeclaredLooks(
                    benchmark=benchmark,
                    baseline=comparison.baseline,
                    arm=arm,
                    outcome=comparison.outcome,
                    plan=plan,
                )
                for arm in comparison.arms
            ]
    return tuple(found)


def _change(folder: Path, number: int, line: bytes) -> StudyChange:
    try:
        return StudyChange.model_validate_json(line)
    except ValidationError as error:
        raise InputError(
            f"{folder / CHANGES}, line {number}, is not what a study wrote "
            f"({problems_of(error, StudyChange, kind='key')}): restore it from a copy"
        ) from error


def _change_lines(folder: Path) -> list[bytes]:
    with contextlib.suppress(FileNotFoundError):
        return (folder / CHANGES).read_bytes().splitlines()
    return []
