"""The gate between two runs, as a whole and by slice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench_core.errors import InputError, NotEstimableError
from bench_core.run_folder import read_run
from bench_core.statistics import Estimand, GateCheck, GateResult, GateVerdict, LookPlan, looks_of
from bench_core.statistics import gate as gate_scores
from bench_report.comparison.baselines import ComparedRun, damage_of, read_sides
from bench_report.comparison.comparability import check_comparable
from bench_report.comparison.differences import distinct_slices


class DamagedRunError(InputError):
    """A run that a decision is to rest on is not as it was written."""

    def __init__(self, damage: Sequence[str]) -> None:
        self.damage = tuple(damage)
        more = f" (and {len(damage) - 1} more)" if len(damage) > 1 else ""
        super().__init__(
            f"{damage[0]}{more}; `bench-core check` names all of it, and --even-damaged decides all the same"
        )


def gate(
    new: Path,
    baseline: Path,
    *,
    tolerance: float = 0.05,
    alpha: float = 0.05,
    groups: Sequence[str] = (),
    estimand: Estimand = "same_tasks",
    looks: bool = False,
    count_errors_as_failures: bool = False,
    mix: bool = False,
    even_damaged: bool = False,
) -> GateResult:
    """Decide whether the run `new` is worse than `baseline`.

    Args:
        new: A run folder.
        baseline: A run folder or a baseline file.
        tolerance: Smallest drop of the success rate that matters, as a fraction.
        alpha: Chance of a false alarm, over all slices together.
        estimand: Whether `fine` shall hold for these tasks or for new ones of this kind.
        looks: Decide by the looks the run has stored, required if it may have stopped early.
        groups: Test every slice of these groups as well.
        count_errors_as_failures: Let trials without a score enter as failures.
        mix: Compare runs that cannot be compared.
        even_damaged: Compare runs that are not as they were written; the result says so.

    Raises:
        IncomparableRunsError: The runs differ in a setting that affects scores, and `mix` is off.
        DamagedRunError: A run is not as it was written, and `even_damaged` is off.
        NotEstimableError: No task has scores in both.
        InputError: A group that no task has; a run with looks without `looks`, or the other way round.
    """
    side, other = read_sides([new, baseline])
    damage = damage_of([side, other])
    if damage and not even_damaged:
        raise DamagedRunError(damage)
    check_comparable([side, other], mix=mix)
    if bool(side.info.stopping_rule) != looks:
        raise InputError(_LOOKS_MISMATCH[looks])
    if looks:
        return _gate_looks(new, side, other, tolerance).model_copy(update={"damage": damage})
    found = gate_scores(
        side.successes(strict=count_errors_as_failures),
        other.successes(strict=count_errors_as_failures),
        tolerance=tolerance,
        alpha=alpha,
        clusters=other.templates | side.templates,
        slices=_slices(side, other, groups),
        estimand=estimand,
        names=(side.label, other.label),
    )
    return found.model_copy(update={"damage": damage})


def _slices(side: ComparedRun, other: ComparedRun, groups: Sequence[str]) -> dict[str, list[str]]:
    known = {group for group, _ in side.slices}
    missing = sorted(set(groups) - known)
    if missing:
        raise InputError(
            f"no task has the group {missing[0]!r}: there are {', '.join(sorted(known)) or 'none'}"
        )
    chosen = {name: keys for name, keys in side.slices.items() if name[0] in groups}
    return {
        ", ".join(f"{group} {value}" for group, value in names): keys
        for names, keys in distinct_slices(chosen, other.tasks).items()
    }


_LOOKS_MISMATCH = {
    False: "this run may have stopped early by looks, so that only these can decide: use --looks",
    True: "this run was planned without looks: leave --looks out",
}
_VERDICTS: dict[str, tuple[GateVerdict, str]] = {
    "regression": ("regression", "a drop beyond the boundary of look {number} of {of}"),
    "futility": ("not_enough_evidence", "look {number} of {of}: the planned drop would hardly be found"),
    "complete": ("not_enough_evidence", "no drop beyond a boundary in {of} looks"),
    "continue": ("not_enough_evidence", "undecided after look {number} of {of}: the run goes on"),
}  # fmt: skip


def _gate_looks(
    folder: Path, side: ComparedRun, other: ComparedRun, tolerance: float
) -> GateResult:
    """Decide as the last look did; `fine` by its repeated interval, on new tasks of this kind."""
    rule = LookPlan.model_validate(side.info.stopping_rule)
    # The boundaries were planned with this baseline's scores, and every look compared with it.
    if rule.baseline != other.info.run_id:
        raise InputError(
            f"its looks compare with {rule.baseline!r}, not with {other.info.run_id!r}"
        )
    results = read_run(folder).results.values()
    found = looks_of(rule.model_dump(mode="json"), results, side.info.trials)
    if not found:
        raise NotEstimableError("the first look is still to come")
    last = found[-1]
    reason = (
        "regression" if last.reason == "difference" and (last.difference or 0) < 0 else last.reason
    )
    verdict, text = _VERDICTS.get(reason, ("not_enough_evidence", "a rise beyond the boundary"))
    if verdict != "regression" and last.stops and last.low is not None and last.low > -tolerance:
        verdict, text = (
            "fine",
            "the repeated interval of look {number} of {of} rules out such a drop",
        )
    check = GateCheck(
        name="all",
        tasks=last.tasks,
        clusters=last.clusters,
        difference=last.difference,
        worst_new_tasks=last.low,
        reason="by looks",
    )
    return GateResult(
        verdict=verdict,
        reason=text.format(number=last.number, of=last.of),
        alpha=rule.alpha,
        tolerance=tolerance,
        estimand="new_tasks",  # looks are taken over clusters of tasks, drawn at random
        needed=None,
        checks=(check,),
        looks=found,
    )
