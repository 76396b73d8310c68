"""Run a study: all its arms on all its benchmarks, in a fair order and within shared limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from bench_core.budgets import Budget, RunBudget, Spent, require_price
from bench_core.errors import InputError
from bench_core.files.locks import lock_for_writing
from bench_core.files.temporary import temporary_folder
from bench_core.progress.interface import NoProgress, Progress, RunStart
from bench_core.records import Record, RunInfo, SessionOutcome, Task, TrialKey, TrialResult
from bench_core.run_folder.view import read_run
from bench_core.running_time import RUNNING_TIME
from bench_core.runs.execute import RunOutcome, bounded_loop, run_benchmark
from bench_core.runs.opening import check_run
from bench_core.runs.prepare import PreparedRun, Purpose, prepare_installed, scoring_warnings
from bench_core.runs.resume import tasks_of_run
from bench_core.runs.spending import spent_before
from bench_core.scheduling.guards import guarded
from bench_core.scheduling.interrupts import handlers_given_back
from bench_core.studies.declaration import (
    SealedStudy,
    note_changes,
    read_reused,
    read_sealed,
    run_folder,
    seal,
)
from bench_core.studies.looking import StudyLooks
from bench_core.studies.order import RunName, parts_of_blocks, study_order
from bench_core.studies.reuse import (
    ReusedArm,
    comparable_source,
    reused_names,
    source_of,
    take,
)
from bench_core.studies.study_file import ArmLimits, Study
from bench_core.studies.turns import ArmBudget, Group, RunProgress, RunTurns

__all__ = ["StudyOutcome", "planned_runs", "run_study"]

_ONE_AT_A_TIME = ("vms", "vm_spec", "resets", "reset_command")
"""Options of benchmarks whose runs reset, or hold, systems that another run at the same time would need."""
_GRAVEST_FIRST: tuple[SessionOutcome, ...] = ("interrupted", "aborted", "budget_exceeded")
_MINUTES = 60.0
_TAKEN = ".taken"
"""Folder of the runs that stand in for arms until they are declared."""


class StudyOutcome(Record):
    """How a session of a study ended, and how its runs stand.

    Attributes:
        outcome: `finished`, or why the session stopped early.
        runs: `BENCHMARK/ARM` to how the run stands.
        remaining: Trials without a lasting result that are still needed.
        decided: Runs that a declared look ended.
        spent: By all runs in all sessions; its seconds are those of the study.
    """

    folder: str
    outcome: SessionOutcome
    runs: dict[str, RunOutcome]
    remaining: int
    decided: tuple[str, ...] = ()
    spent: Spent


def run_study(
    study: Study,
    folder: Path,
    *,
    progress: Progress | None = None,
    guard: bool = False,
    on_warning: Callable[[str], None] = lambda _: None,
) -> StudyOutcome:
    """Run a study into `folder`, or continue the one that is there.

    Before the first trial everything is checked for which a run would be refused, and the study is
    sealed. Changes of the file since earlier sessions are written down.

    Args:
        study: Its file, as `load_study` reads it.
        folder: The study's folder, made if it is missing.
        progress: Receives events.
        guard: Own this process; see `run_benchmark`.
        on_warning: Receives each warning before the runs begin.

    Raises:
        InputError: A run would be refused, or the folder holds another study.
        RunFolderBusyError: Another process runs the study.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scratch = temporary_folder() if guard else contextlib.nullcontext()
    with ExitStack() as stack:
        stack.callback(lock_for_writing(folder).release)
        for each in (handlers_given_back(), scratch, RUNNING_TIME):
            stack.enter_context(each)
        return _Session(study, folder, progress or NoProgress(), guard=guard).run(on_warning)


@dataclass(frozen=True)
class _Planned:
    """One run of the study, before it is prepared."""

    name: RunName
    out: Path
    options: Mapping[str, object]
    plugin: str
    side_by_side: bool

    def prepared(self, purpose: Purpose) -> AbstractContextManager[PreparedRun]:
        return prepare_installed(self.plugin)(self.options, purpose)


def planned_runs(study: Study, folder: Path) -> list[_Planned]:
    """Return the runs of a study, without arms that are taken from earlier runs.

    Arms cannot run side by side if each run starts workers or machines of its own, or resets sites.
    """
    found = []
    for benchmark in study.benchmarks:
        alone = study.executor.kind != "inline" or any(
            benchmark.options.get(each) for each in _ONE_AT_A_TIME
        )
        for arm in study.arms:
            if arm.reuse is not None:
                continue
            name = RunName(benchmark.name, arm.name)
            out = run_folder(folder, name)
            options = study.run_options(benchmark, arm, out)
            found.append(_Planned(name, out, options, benchmark.plugin, side_by_side=not alone))
    return found


class _Session:
    """One session of a study.

    Attributes:
        tasks: Benchmark to its tasks.
        packages: Distributions that its runs keep the versions of.
        infos: Benchmark to the `run.json` of an arm.
    """

    def __init__(self, study: Study, folder: Path, progress: Progress, *, guard: bool) -> None:
        self.study, self.folder, self.progress = study, folder, progress
        self.guard = guard
        self.planned = planned_runs(study, folder)
        self.tasks: dict[str, Sequence[Task]] = {}
        self.packages: dict[str, None] = {}
        self.infos: dict[str, RunInfo] = {}
        self.outcomes: dict[RunName, RunOutcome] = {}

    def run(self, on_warning: Callable[[str], None]) -> StudyOutcome:
        together = [each for each in self.planned if each.side_by_side]
        alone = {each.name: each for each in self.planned if not each.side_by_side}
        with ExitStack() as stack:
            ready = {
                each.name: stack.enter_context(each.prepared(Purpose.RUN)) for each in together
            }
            for name, each in ready.items():
                self._check(name, each, on_warning)
            for name, planned in alone.items():
                with planned.prepared(Purpose.PLAN) as each:
                    self._check(name, each, on_warning)
            reused = self._comparable_sources()
            self._open(self._declare(reused))
            if ready:
                self._take_turns(ready)
        parts = [
            part
            for benchmark in dict.fromkeys(name.benchmark for name in alone)
            for part in parts_of_blocks(
                [each for each in self.blocks if each.benchmark == benchmark], self.study.seed
            )
        ]
        for name, keys in parts:
            if self._outcome() in {"interrupted", "aborted"} or name in self.looks.decided:
                continue
            with alone[name].prepared(Purpose.RUN) as one:
                self._take_turns({name: one}, frozenset(keys))
        self.progress.end(self._outcome())
        return self._ended()

    def _check(self, name: RunName, ready: PreparedRun, on_warning: Callable[[str], None]) -> None:
        """Refuse a run that would be refused before its first trial, and note its tasks."""
        self.infos[name.benchmark] = check_planned(self.study, name, ready, on_warning)
        tasks, _ = tasks_of_run(ready.benchmark.tasks(), ready.spec, None)
        others = self.tasks.setdefault(name.benchmark, tasks)
        if [each.task_id for each in others] != [each.task_id for each in tasks]:
            raise InputError(
                f"{name}: its tasks are not those of the other arms, with which it could not be compared: "
                "leave out what the arm changes about them"
            )
        self.packages |= dict.fromkeys(ready.run_environment.provenance.packages)

    def _comparable_sources(self) -> dict[RunName, Path]:
        """Return the runs that stand in for arms, except for those that are in the folder already."""
        known, found = read_reused(self.folder), dict[RunName, Path]()
        for name in reused_names(self.study):
            source = source_of(self.study, name)
            if (arm := known.get(name)) is not None and arm.source == source:
                continue
            if arm is not None or run_folder(self.folder, name).exists():
                raise self.study.error(
                    ("arms", name.arm, "reuse"),
                    f"{name} is in {self.folder} already, {f'taken from {arm.source}' if arm else 'with trials of its own'}, "
                    f"which stays: give what is taken from {source} another name",
                )
            info, tasks = self.infos[name.benchmark], self.tasks[name.benchmark]
            found[name] = comparable_source(self.study, name, info, tasks)
        return found

    def _declare(self, sources: Mapping[RunName, Path]) -> SealedStudy:
        """Seal the study, or write down its changes; then runs that stand in for arms are in the folder."""
        reused = [
            take(
                path,
                source_of(self.study, name),
                name,
                self.tasks[name.benchmark],
                self.folder / _TAKEN / str(name),
            )
            for name, path in sources.items()
        ]
        sealed = self._sealed(reused)
        for name, arm in read_reused(self.folder).items():
            if (taken := self.folder / _TAKEN / str(name)).exists():
                out = run_folder(self.folder, name)
                out.parent.mkdir(parents=True, exist_ok=True)
                taken.rename(out)
            self.progress.note(f"{arm.warning}.")
        return sealed

    def _sealed(self, reused: Sequence[ReusedArm]) -> SealedStudy:
        sealed = read_sealed(self.folder)
        if sealed is None:
            ways = {each.name.benchmark: each.side_by_side for each in self.planned}
            return seal(
                self.study,
                self.folder,
                self.tasks,
                {name: "interleaved" if side else "balanced" for name, side in ways.items()},
                list(self.packages),
                reused,
            )
        if sealed.name != self.study.name:
            raise InputError(
                f"{self.folder} is the folder of the study {sealed.name!r}, and {self.study.path} declares "
                f"{self.study.name!r}: use another folder (--out)"
            )
        change = note_changes(self.study, self.folder, sealed, list(self.packages), reused)
        if change is not None:
            self.progress.note(
                f"Changed since the study was sealed, as its report will say: {change.text}"
            )
        return sealed

    def _open(self, sealed: SealedStudy) -> None:
        """Restore the study's state: order, looks, and spending."""
        study = self.study
        declared = {each.name: each.tasks for each in sealed.benchmarks}
        batches: dict[str, Sequence[Sequence[str]]] = {}
        arms: dict[str, list[str]] = {}
        for each in self.planned:
            ids = tuple(task.task_id for task in self.tasks[each.name.benchmark])
            own = declared.get(each.name.benchmark, ())
            same = {task for batch in own for task in batch} == set(ids)
            batches[each.name.benchmark] = own if same else (ids,)
            arms.setdefault(each.name.benchmark, []).append(each.name.arm)
        self.blocks = study_order(batches, arms, trials=study.trials, seed=study.seed)
        self.looks = StudyLooks.of(study, sealed)
        self.arms = {arm.name: ArmBudget(arm_budget(arm.limits)) for arm in study.arms}
        known = list[TrialResult]()
        spent, longest = Spent(), 0.0
        for each in self.planned:
            if not (each.out / "run.json").exists():
                continue
            run = read_run(each.out)
            before = spent_before(run)
            # the seconds of an arm are those of its trials, which `_count` adds
            self.arms[each.name.arm].add(before.model_copy(update={"seconds": 0.0}))
            spent += before
            # runs side by side take the same time, and others follow one another
            longest = (
                max(longest, before.seconds) if each.side_by_side else longest + before.seconds
            )
            for result in run.results.values():
                known.append(result)
                self._count(each.name, result, before=True)
        for name in read_reused(self.folder):
            for result in read_run(run_folder(self.folder, name)).results.values():
                self.looks.add(name, result)
        began = RUNNING_TIME.seconds()
        self.whole = RunBudget(
            arm_budget(study.limits),
            spent=spent.model_copy(update={"seconds": longest}),
            seconds=lambda: RUNNING_TIME.seconds() - began,
        )
        self.progress.begin(
            RunStart(
                run_id=study.name,
                folder=str(self.folder),
                planned=sum(len(each.arms) for each in self.blocks),
                done=sum(each.status.done for each in known),
                scored=sum(each.status.scored for each in known),
                succeeded=sum(bool(each.success) for each in known),
                workers=study.workers,
            )
        )

    def _take_turns(
        self, ready: Mapping[RunName, PreparedRun], only: frozenset[TrialKey] | None = None
    ) -> None:
        """Run these at the same time."""
        with bounded_loop(*(each.benchmark for each in ready.values())) as loop:
            loop.run_until_complete(self._run_all(ready, only))

    async def _run_all(
        self, ready: Mapping[RunName, PreparedRun], only: frozenset[TrialKey] | None
    ) -> None:
        group = Group(self.folder, self.study.workers, self.looks, ready)

        async def run(name: RunName, one: PreparedRun) -> None:
            turns = RunTurns(name, group, self.blocks, (self.arms[name.arm], self.whole), only)
            here = replace(
                one.run_environment,
                turns=turns,
                progress=RunProgress(name, self.progress, self._count),
            )
            try:
                self.outcomes[name] = await run_benchmark(
                    one.benchmark, one.spec, one.out, run_environment=here
                )
            finally:
                group.leave(name)

        timeouts = next(iter(ready.values())).spec.timeouts
        guards = guarded(group, group, timeouts, self.progress)
        with guards if self.guard else contextlib.nullcontext():
            # all end, and close their folders, before the error of one is raised
            ended = await asyncio.gather(
                *(run(name, one) for name, one in ready.items()), return_exceptions=True
            )
        for each in ended:
            if isinstance(each, BaseException):
                raise each

    def _count(self, name: RunName, result: TrialResult, *, before: bool = False) -> None:
        """Count a trial's time, and take the looks that it completes."""
        arm = self.arms[name.arm]
        arm.add(Spent(seconds=result.timings_s.get("total", 0.0)))
        for pair, look in self.looks.add(name, result):
            if not before:
                self.progress.note(
                    f"Look {look.number} of {look.of} at {pair.arm} against {pair.baseline} on "
                    f"{pair.benchmark}: {look.reason}"
                )
        spent = arm.exhausted
        if spent and not before and self.study.limits.when_an_arm_is_spent == "all-stop":
            self.whole.cannot_be_kept(f"of the arm {name.arm} {spent}")

    def _outcome(self) -> SessionOutcome:
        """Return the gravest end of any run."""
        ended = {each.outcome for each in self.outcomes.values()}
        return next((each for each in _GRAVEST_FIRST if each in ended), "finished")

    def _ended(self) -> StudyOutcome:
        decided = self.looks.decided
        return StudyOutcome(
            folder=str(self.folder),
            outcome=self._outcome(),
            runs={str(name): each for name, each in self.outcomes.items()},
            remaining=sum(
                each.remaining for name, each in self.outcomes.items() if name not in decided
            ),
            decided=tuple(sorted(map(str, decided))),
            spent=self.whole.spent,
        )


def check_planned(
    study: Study, name: RunName, ready: PreparedRun, on_warning: Callable[[str], None]
) -> RunInfo:
    """Return the future `run.json` of a study's run.

    Raises:
        BenchError: The run would be refused before its first trial.
    """
    allowed = bool(study.benchmark(name.benchmark).options.get("without_scores"))
    for warning in (*ready.warnings, *scoring_warnings(ready, allowed=allowed)):
        on_warning(f"{name}: {warning}")
    info = check_run(ready.benchmark, ready.spec, ready.out, ready.run_environment)
    for limits in (study.limits, study.arm(name.arm).limits):
        require_price(arm_budget(limits), ready.spec.model, ready.run_environment.price_of)
    return info


def arm_budget(limits: ArmLimits) -> Budget:
    hours = limits.max_hours
    return Budget(
        max_cost_usd=limits.max_cost,
        max_tokens=limits.max_tokens,
        max_minutes=None if hours is None else hours * _MINUTES,
    )
