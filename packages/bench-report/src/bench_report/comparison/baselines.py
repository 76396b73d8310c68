"""Runs as comparisons see them: from run folders, or from baseline files that stand in for them.

A baseline file keeps the data for a later comparison (configuration, tasks, scores, effort) in a
few kilobytes, fit to be committed with the agent it belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, Field

from bench_core.records import SUCCESS_SCORE, RunInfo
from bench_core.run_folder import StoredRun, read_baseline
from bench_report.__about__ import __version__
from bench_report.model import Effort, TaskEntry  # fields of a record
from bench_report.run_data.rows import effort_of, task_entries, trial_rows
from bench_report.run_data.sources import Source, read_runs, told_apart


class Baseline(StoredRun):
    """`baseline.json`: one run, reduced to the data that later comparisons need.

    Attributes:
        generator: The program that wrote it.
        evaluators: Versions of the evaluators that scored it, by name.
        effort: Resources that its trials used.
        damage: Differences between its folder and the files as written, a sentence each.
    """

    model_config = ConfigDict(extra="forbid")

    generator: str
    evaluators: dict[str, str] = Field(default_factory=dict)
    tasks: tuple[TaskEntry, ...]
    effort: Effort
    damage: tuple[str, ...] = ()


class ComparedRun(NamedTuple):
    """One side of a comparison."""

    label: str
    info: RunInfo
    evaluators: dict[str, str]
    tasks: dict[str, TaskEntry]
    scores: dict[str, tuple[float | None, ...]]
    effort: Effort
    damage: tuple[str, ...] = ()

    @property
    def templates(self) -> dict[str, str]:
        """Task id to template, for tasks that have one."""
        return {key: task.template for key, task in self.tasks.items() if task.template}

    @property
    def slices(self) -> dict[tuple[str, str], list[str]]:
        """Group and value to the tasks in it, in alphabetical order."""
        found: dict[tuple[str, str], list[str]] = {}
        for key, task in self.tasks.items():
            for group, values in task.groups.items():
                for value in dict.fromkeys(values):
                    found.setdefault((group, value), []).append(key)
        return dict(sorted(found.items()))

    def successes(self, *, strict: bool = False) -> dict[str, list[float]]:
        """Return task id to outcomes of 0 and 1; trials without a score are left out or 0."""
        return {
            key: [
                float(score is not None and score >= SUCCESS_SCORE)
                for score in scores
                if strict or score is not None
            ]
            for key, scores in self.scores.items()
        }


def side_of(run: Source) -> ComparedRun:
    """Return a run folder as a side of a comparison."""
    scores: dict[str, list[float | None]] = {}
    for result in run.ended:
        scores.setdefault(result.task_id, []).append(result.score)
    return ComparedRun(
        label=run.label,
        info=run.info,
        evaluators=_evaluators_of(run),
        tasks={task.task_id: task for task in task_entries([run])},
        scores={key: tuple(values) for key, values in scores.items()},
        effort=effort_of(trial_rows(run, "")),  # where trials are does not matter here
        damage=run.view.damage,
    )


def baseline_of(run: Source) -> Baseline:
    """Return the data of a run that later comparisons need."""
    side = side_of(run)
    return Baseline(
        label=side.label,
        generator=f"bench-report {__version__}",
        info=side.info,
        evaluators=side.evaluators,
        tasks=tuple(side.tasks.values()),
        scores=side.scores,
        effort=side.effort,
        damage=side.damage,
    )


def damage_of(sides: Sequence[ComparedRun]) -> tuple[str, ...]:
    """Return the damage in the folders of runs, a sentence each that names the run."""
    return tuple(f"{side.label}: {each}" for side in sides for each in side.damage)


def read_sides(paths: Sequence[Path]) -> list[ComparedRun]:
    """Read run folders and baseline files, labels made unique.

    Raises:
        InputError: A file is not a baseline, or the same is given twice.
        RunFolderError: A folder is missing or damaged.
    """
    folders = [path for path in paths if not path.is_file()]
    runs = dict(zip(folders, read_runs(folders), strict=True)) if folders else {}
    sides = [side_of(runs[path]) if path in runs else read_side(path) for path in paths]
    labels = told_apart(
        [side.label for side in sides], [side.info for side in sides], list(map(str, paths))
    )
    return [side._replace(label=label) for side, label in zip(sides, labels, strict=True)]


def read_side(path: Path) -> ComparedRun:
    """Read one run folder or baseline file.

    Raises:
        InputError: The file is not a baseline.
        RunFolderError: The folder is missing or damaged.
    """
    if not path.is_file():
        return side_of(read_runs([path], tell=True)[0])
    baseline = read_baseline(path, Baseline)
    return ComparedRun(
        label=baseline.label,
        info=baseline.info,
        evaluators=baseline.evaluators,
        tasks={task.task_id: task for task in baseline.tasks},
        scores=dict(baseline.scores),
        effort=baseline.effort,
        damage=baseline.damage,
    )


def _evaluators_of(run: Source) -> dict[str, str]:
    """Return the versions of the evaluators that scored a run, by name."""
    methods = {r.method for r in run.ended if r.score is not None and r.method}
    found: dict[str, set[str]] = {}
    for method in methods:
        name, _, version = method.rpartition(" ")  # as in `jmespath 1.1`
        found.setdefault(name or method, set()).add(version if name else "")
    return {name: ", ".join(sorted(versions)) for name, versions in sorted(found.items())}
