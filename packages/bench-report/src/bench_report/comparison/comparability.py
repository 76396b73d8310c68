"""Whether runs can be compared: same tasks, world, profile and evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from bench_core.errors import InputError
from bench_core.records import AgentCode, RunInfo
from bench_core.run_folder import COMPARABLE
from bench_report.comparison.baselines import ComparedRun
from bench_report.model import Mismatch


class IncomparableRunsError(InputError):
    """The runs differ in something that makes their numbers incomparable."""

    def __init__(self, found: Sequence[Mismatch]) -> None:
        self.mismatches = tuple(found)
        lines = [
            f"  {each.aspect}: " + ", ".join(f"{run} has {v}" for run, v in each.values.items())
            for each in found
        ]
        super().__init__(
            "these runs cannot be compared:\n"
            + "\n".join(lines)
            + "\nreport them one by one, or pass --mix to show them together, labelled as mixed"
        )


def mismatches(runs: Sequence[ComparedRun]) -> tuple[Mismatch, ...]:
    """Return the aspects in which runs differ; an aspect that a run does not state cannot differ."""
    aspects = {
        aspect: {run.label: read(run.info) for run in runs} for aspect, read in COMPARABLE.items()
    }
    aspects |= _evaluator_aspects({run.label: run.evaluators for run in runs})
    return tuple(
        Mismatch(
            aspect=aspect, values={label: v or "nothing stated" for label, v in by_run.items()}
        )
        for aspect, by_run in aspects.items()
        # imported runs and those of early versions do not state every aspect
        if len({value for value in by_run.values() if value}) > 1
    )


def _evaluator_aspects(by_run: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Compare versions of each evaluator; runs that share no evaluator differ in that.

    Runs may use one evaluator more or less: which of them decides can depend on the trial.
    """
    names = sorted({name for each in by_run.values() for name in each})
    aspects = {
        f"version of {name}": {label: each.get(name, "") for label, each in by_run.items()}
        for name in names
    }
    stated = [set(each) for each in by_run.values() if each]
    if stated and not set.intersection(*stated):
        aspects["evaluator"] = {label: ", ".join(sorted(each)) for label, each in by_run.items()}
    return aspects


def _same_shared_tasks(runs: Sequence[ComparedRun]) -> bool:
    """Whether every two runs have tasks in common, all of them defined alike: they are parts of one task set."""
    return all(
        one.tasks.keys() & other.tasks.keys()
        and all(one.tasks[key] == other.tasks[key] for key in one.tasks.keys() & other.tasks.keys())
        for one, other in combinations(runs, 2)
    )


def repeated(infos: Mapping[str, RunInfo]) -> str | None:
    """Return how the trials of runs of one agent, as in `infos` by label, could be pooled; None if there are none."""
    labels: dict[tuple[str | None, ...], list[str]] = {}
    for label, info in infos.items():
        code = info.agent_code or AgentCode()
        alike = (
            info.benchmark, info.agent, info.model, code.place, code.sha256, info.config_hash, info.task_set_hash
        )  # fmt: skip
        labels.setdefault(alike, []).append(label)
    several = [" and ".join(each) for each in labels.values() if len(each) > 1]
    if not several:
        return None
    return (
        f"{'; '.join(several)} are runs of the same agent, model, settings and tasks: runs are not pooled; for more "
        "trials of each task, use -k: one run's command with its --out and a larger -k adds trials to it."
    )


def check_comparable(runs: Sequence[ComparedRun], *, mix: bool) -> tuple[Mismatch, ...]:
    """Return the mismatches of runs that are mixed on purpose.

    Runs with different tasks of one task set can be compared on those they share.

    Args:
        runs: The runs to compare.
        mix: Allow runs that differ.

    Raises:
        IncomparableRunsError: There are some and `mix` is off.
    """
    found = mismatches(runs)
    if found and not mix:
        if _same_shared_tasks(runs):
            found = tuple(each for each in found if each.aspect != "task set")
        if found:
            raise IncomparableRunsError(found)
    return found
