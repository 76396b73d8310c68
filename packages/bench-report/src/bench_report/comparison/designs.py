"""Designs of comparisons: the difference that a size can show, or the size that a difference takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.statistics import Design, Plan, Templates, Variability, plans_for, power_of
from bench_core.statistics import plan as plan_one
from bench_report.comparison.baselines import ComparedRun, read_side

_TRIALS = (1, 3, 5, 10)


class PlannedDesign(Plan):
    """A design; `found` is the chance to find the difference that was asked about."""

    difference: float | None = None
    found: float | None = None


def designs(
    *,
    tasks: int | None = None,
    trials: Sequence[int] = (),
    difference: float | None = None,
    design: Design = "paired",
    rate: float | None = None,
    pilot: Path | None = None,
    templates: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> list[PlannedDesign]:
    """Return a design for each number of trials.

    Args:
        tasks: Tasks there are; absent: as many as `difference` needs, or without that the pilot's.
        trials: Trials per task; by default 1, 3, 5 and 10, or those of the pilot if its tasks are planned.
        difference: Difference to be found, as a fraction.
        design: Whether both agents do the same tasks.
        rate: Expected success rate.
        pilot: A run folder or baseline file to take rate and variability from.
        templates: Templates the tasks are made from (`tasks` of them); by default the pilot's.
        power: Chance with which the difference shall be found, from 0.5 up.
        level: Nominal confidence.

    Raises:
        InputError: None of `tasks`, `difference` and `pilot` is given, or a value cannot be.
        NotEstimableError: The pilot shows no variability.
    """
    side = None if pilot is None else read_side(pilot)
    if tasks is None and difference is None:
        if side is None:
            raise InputError(
                "give --tasks, --difference or both, or --pilot RUN for a run's own design"
            )
        tasks = len(side.tasks)
        trials = trials or (max(map(len, side.scores.values()), default=1),)
    if not 0.5 <= power < 1 or not 0 < level < 1:  # a coin has the power 0.5
        raise InputError(
            f"power {power} has to be from 0.5 to below 1, and level {level} above 0 and below 1"
        )
    if difference == 0:
        raise InputError(
            "a difference of 0 cannot be found: give the smallest that matters, as 5pp"
        )
    assumed, grouping = _assumed(rate, side)
    if templates is not None:
        if tasks is None or templates > tasks:
            raise InputError("--templates goes with --tasks and is at most as many")
        grouping = Templates(size=tasks / templates, weighted_size=tasks / templates)
    settings: dict[str, Any] = {
        "design": design,
        "variability": assumed,
        "templates": grouping,
        "level": level,
        "power": power,
    }
    if tasks is None:
        found = plans_for(difference or 0.0, trials=trials or _TRIALS, **settings)
        return [PlannedDesign(**each.model_dump(), difference=difference) for each in found]
    found = tuple(plan_one(tasks, each, **settings) for each in trials or _TRIALS)
    del settings["power"]
    return [
        PlannedDesign(
            **each.model_dump(),
            difference=difference,
            found=None
            if difference is None
            else power_of(difference, tasks, each.trials, **settings),
        )
        for each in found
    ]


def _assumed(rate: float | None, side: ComparedRun | None) -> tuple[Variability, Templates]:
    """Return rate, variability and templates of the pilot, or the default ones."""
    known, grouping = Variability(), Templates()
    if side is not None:
        known = Variability.of(side.successes(), clusters=side.templates)
        # A task without a template is one of its own; a tuple cannot be equal to a template's name.
        sizes = Counter(side.templates.get(key, (key,)) for key in side.tasks)
        grouping = Templates.of(list(sizes.values()))
    return known if rate is None else known.model_copy(update={"rate": rate}), grouping
