"""Known attempts to score without doing the task, reported apart from the score."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from bench_core.records import IntegrityCode, TrialResult
from bench_core.terminal import counted
from bench_report.analysis.evaluation import read_rate
from bench_report.model import FlaggedTrial, IntegritySummary
from bench_report.run_data.sources import Source, read_runs

_MOST_LISTED = 1_000
_OUTCOMES = {"blocked": "blocked", "succeeded": "took effect", "unknown": "effect unknown"}


def integrity_of(run: Source, *, level: float = 0.95) -> IntegritySummary | None:
    """Sum up the integrity of a run's trials; `None` where none says anything, as older records do."""
    results = run.results
    if all(each.integrity is None and each.sealing is None for each in results):
        return None
    states = Counter(_state(each) for each in results)
    flagged = [each for each in results if _state(each) == "flagged"]
    codes = Counter(
        str(finding.code)
        for each in flagged
        if each.integrity is not None
        for finding in each.integrity.findings
    )
    voids = [each for each in flagged if _is_void(each)]
    # the success rate in which such trials count as failures; nothing else is changed
    outcomes = [(e.task_id, e.success) for e in results] + [(e.task_id, False) for e in voids]
    return IntegritySummary(
        trials=len(results),
        clean=states["clean"],
        flagged=states["flagged"],
        unknown=states["unknown"],
        succeeded=sum(each.integrity is not None and each.integrity.succeeded for each in flagged),
        clean_successes=sum(_state(each) == "clean" and each.success is True for each in results),
        unsealed=sum(each.sealing is not None and not each.sealing.sealed for each in results),
        codes=dict(codes.most_common()),
        voids=len(voids),
        voids_as_zero=read_rate(run, outcomes, level) if voids else None,
        listed=tuple(
            FlaggedTrial(
                task_id=each.task_id,
                trial=each.trial,
                success=each.success,
                findings=each.integrity.findings if each.integrity else (),
            )
            for each in flagged[:_MOST_LISTED]
        ),
    )


def read_integrity(folder: Path) -> IntegritySummary | None:
    """Return `integrity_of` of the run folder `folder`.

    Raises:
        RunFolderError: It is missing or damaged.
    """
    return integrity_of(read_runs([folder])[0])


def integrity_counts(found: IntegritySummary | None) -> list[tuple[str, int]]:
    """Return how many trials are in each state, and how many are unsealed."""
    if found is None:
        return []
    return [
        ("clean", found.clean),
        ("flagged", found.flagged),
        ("unknown", found.unknown),
        ("unsealed", found.unsealed),
    ]


def reasons(trial: FlaggedTrial) -> str:
    """Return a trial's findings in words: `local page, blocked, 3 times: file:///etc/passwd`."""
    return "; ".join(
        f"{str(each.code).replace('_', ' ')}, {_OUTCOMES[each.outcome]}"
        + (f", {each.count:,} times" if each.count > 1 else "")
        + (f": {each.detail}" if each.detail else "")
        for each in trial.findings
    )


def not_clean(found: IntegritySummary | None) -> str | None:
    """Return why a run cannot be called clean, in a sentence; `None` if it can."""
    if found is None:
        return "the run's results say nothing of their integrity"
    if found.flagged:
        codes = ", ".join(f"{code} ({number:,})" for code, number in found.codes.items())
        verb = "is" if found.flagged == 1 else "are"
        return f"{found.flagged:,} of {counted(found.trials, 'trial')} {verb} flagged: {codes}"
    if found.unknown or not found.trials:
        return (
            f"of {counted(found.trials, 'trial')}, the acts of {found.unknown:,} were not watched"
        )
    return None


def _state(result: TrialResult) -> str:
    return "unknown" if result.integrity is None else result.integrity.state


def _is_void(result: TrialResult) -> bool:
    """Whether a trial has no score because of a fault that its agent's own act explains."""
    return (
        result.score is None
        and result.integrity is not None
        and any(each.code is IntegrityCode.VOID_SUSPECT for each in result.integrity.findings)
    )
