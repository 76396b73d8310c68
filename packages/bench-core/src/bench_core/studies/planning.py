"""Before a study's first trial: problems that would refuse it, its costs, and the differences it can show."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt, ValidationError

from bench_core.cli.doctor import CheckResult, run_checks
from bench_core.discovery import load_benchmark
from bench_core.errors import BenchError, InputError, NotEstimableError, causes
from bench_core.files.temporary import temporary_folder
from bench_core.models import published_prices
from bench_core.records import SUCCESS_SCORE, Record, RunInfo, Task, TrialResult, Usage
from bench_core.records.problems import place_of
from bench_core.run_folder.view import RunView, read_run
from bench_core.runs.prepare import Purpose
from bench_core.runs.resume import tasks_of_run
from bench_core.statistics.planning import (
    Templates,
    Variability,
    plan,
    power_of,
    tasks_needed,
)
from bench_core.studies.order import RunName
from bench_core.studies.reuse import comparable_source, reused_names
from bench_core.studies.run import check_planned, planned_runs
from bench_core.studies.study_file import DeclaredComparison, Study, StudyFileError

__all__ = ["ComparisonPlan", "RunCost", "StudyCheck", "StudyPlan", "check_study", "plan_study"]

_MOST_TRIALS = 100
_HOUR_S = 3600.0
_MILLION = 1_000_000


class StudyCheck(Record):
    """The findings of `study check`.

    Attributes:
        runs: How many runs were checked.
        checks: How many things the doctors of their benchmarks looked at.
        problems: Reasons for which a run would be refused, each with the line that is to blame.
        warnings: Faults to come in some trials.
    """

    runs: NonNegativeInt
    checks: NonNegativeInt = 0
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class RunCost(Record):
    """The expected costs of an arm on a benchmark; None if no earlier run shows them.

    Attributes:
        trials: Of all its tasks.
        left: Those without a result in the study's folder.
        hours: Of one worker, for those left.
        dollars: For those left.
        priced: Whether they are priced by the tokens of runs with other models.
        price: Of a million tokens in and out by the price table; None if it lacks the model.
    """

    benchmark: str
    arm: str
    trials: PositiveInt
    left: NonNegativeInt
    hours: NonNegativeFloat | None = None
    dollars: NonNegativeFloat | None = None
    priced: bool = False
    price: tuple[NonNegativeFloat, NonNegativeFloat] | None = None


class ComparisonPlan(Record):
    """The differences that a declared comparison can show on a benchmark.

    Attributes:
        pairs: Pairs of arms and benchmarks of the comparison; its error is shared out among them.
        detectable: The smallest true difference that is found in four of five repetitions.
        power: Probability with which the declared drop is found; None without one.
        missing: Further trials of each task by each arm needed for the drop; None if none suffice.
        tasks_needed: With the study's trials; None without a drop, or if no benchmark is so large.
    """

    benchmark: str
    baseline: str
    arms: tuple[str, ...]
    pairs: PositiveInt
    tasks: PositiveInt
    trials: PositiveInt
    drop: float | None = None
    detectable: float
    power: float | None = None
    missing: NonNegativeInt | None = None
    tasks_needed: PositiveInt | None = None


class StudyPlan(Record):
    """A study's costs, and the differences that it can show.

    Attributes:
        hours: By the clock, with the study's workers.
        notes: Parts that could not be planned, and why.
    """

    name: str
    runs: tuple[RunCost, ...]
    comparisons: tuple[ComparisonPlan, ...] = ()
    left: NonNegativeInt
    hours: NonNegativeFloat | None = None
    dollars: NonNegativeFloat | None = None
    notes: tuple[str, ...] = ()


def check_study(study: Study) -> StudyCheck:
    """Check once for all that a study's runs would refuse before their first trial; nothing is kept.

    Each benchmark's own doctor looks at the world of its runs, once for each world that differs.
    """
    problems: dict[str, None] = {}
    warnings: dict[str, None] = {}
    beside = dict[str, tuple[RunInfo, list[Task]]]()
    with temporary_folder() as folder:
        planned = planned_runs(study, Path(folder) / "study")
        for each in planned:
            name = each.name
            try:
                with each.prepared(Purpose.PLAN) as ready:
                    info = check_planned(
                        study, name, ready, lambda text: warnings.update({text: None})
                    )
                    tasks, _ = tasks_of_run(ready.benchmark.tasks(), ready.spec, None)
                    beside[name.benchmark] = info, list(tasks)
            except BenchError as error:
                problems[_problem(study, name.benchmark, name.arm, error)] = None
    for name in reused_names(study):
        if name.benchmark in beside:
            try:
                comparable_source(study, name, *beside[name.benchmark])
            except StudyFileError as error:
                problems[str(error)] = None
    checks = 0
    for benchmark, what, result in _doctors_findings(study):
        checks += 1
        text = f"{benchmark}: {what}: {'; '.join(filter(None, (result.detail, result.fix)))}"
        if result.status == "fail":
            problems[str(study.error(("benchmarks", benchmark), text))] = None
        elif result.status == "warn":
            warnings[text] = None
    return StudyCheck(
        runs=len(planned), checks=checks, problems=tuple(problems), warnings=tuple(warnings)
    )


def _doctors_findings(study: Study) -> Iterator[tuple[str, str, CheckResult]]:
    """Yield benchmark, check and result of all that doctors look at, once for each world that differs."""
    seen = list[object]()
    for benchmark in study.benchmarks:
        world = {} if benchmark.world is None else {"world": benchmark.world}
        tasks = benchmark.tasks.model_dump(mode="json", exclude_defaults=True)
        options = {**benchmark.options, **tasks, **world}
        if (benchmark.plugin, options) in seen:
            continue
        seen.append((benchmark.plugin, options))
        with suppress(BenchError):  # faults of the options or the benchmark refused its runs above
            doctor = getattr(load_benchmark(benchmark.plugin), "doctor", None)
            for what, result in run_checks(doctor(options) if doctor else ()):
                yield benchmark.name, what, result


def plan_study(study: Study, folder: Path, earlier: Sequence[Path] = ()) -> StudyPlan:
    """Estimate a study's costs and the differences that it can show; nothing is run.

    Time and money are those of the trials in its folder, else of `earlier` runs of the same benchmark,
    agent and model; dollars also of runs with other models, priced anew. Outcomes scatter as in the
    baseline's earlier runs if those have two trials of a task, else as `Variability` has it.

    Args:
        study: Its file.
        folder: Its folder, which may not exist yet.
        earlier: Run folders.

    Raises:
        InputError: A benchmark or its tasks cannot be read.
        RunFolderError: An earlier run cannot be read.
    """
    known = [read_run(path) for path in earlier]
    costs, tasks, views = [], dict[str, list[Task]](), dict[tuple[str, str], list[RunView]]()
    for each in planned_runs(study, folder):
        name = each.name
        try:
            with each.prepared(Purpose.TASKS) as ready:
                own, _ = tasks_of_run(ready.benchmark.tasks(), ready.spec, None)
        except InputError as error:
            raise InputError(_problem(study, name.benchmark, name.arm, error)) from error
        tasks[name.benchmark] = list(own)
        begun = read_run(each.out) if (each.out / "run.json").exists() else None
        spec = ready.spec
        similar = [
            view
            for view in known
            if (view.info.benchmark, view.info.agent) == (ready.benchmark.name, spec.agent)
        ]
        alike = [view for view in similar if view.info.model == spec.model]
        views[name] = [begun] if begun is not None and begun.results else alike
        costs.append(
            _run_cost(name, len(own) * study.trials, begun, views[name], similar, spec.model)
        )
    plans, notes = [], []
    for comparison in study.comparisons:
        for benchmark in comparison.benchmarks:
            pilot = views.get((benchmark, comparison.baseline), [])
            try:
                plans.append(
                    plan_comparison(
                        comparison, benchmark, tasks[benchmark], study.trials, _scatter(pilot)
                    )
                )
            except NotEstimableError as error:
                notes.append(f"{benchmark}: {error}")
    dollars = _total([each.dollars for each in costs])
    if dollars is not None and dollars > (limit := study.limits.max_cost or math.inf):
        notes.append(f"the study stops at its limit of ${limit:.2f}, before all trials have run")
    hours = _total([each.hours for each in costs])
    return StudyPlan(
        name=study.name,
        runs=tuple(costs),
        comparisons=tuple(plans),
        left=sum(each.left for each in costs),
        hours=None if hours is None else hours / study.workers,
        dollars=dollars,
        notes=tuple(notes),
    )


def plan_comparison(
    comparison: DeclaredComparison,
    benchmark: str,
    tasks: Sequence[Task],
    trials: int,
    variability: Variability | None = None,
) -> ComparisonPlan:
    """Say which difference a comparison finds in four of five repetitions, and the size that its drop takes.

    The error is shared out among its pairs, as the study's looks and report do.

    Raises:
        NotEstimableError: The tasks or templates are fewer than two.
    """
    pairs = len(comparison.arms) * len(comparison.benchmarks)
    sides = 1 if comparison.sides == "difference" else 2
    sizes = Counter(task.template or (task.task_id,) for task in tasks)
    given: Any = {
        "variability": variability,
        "templates": Templates.of([*sizes.values()]),
        "level": 1.0 - sides * (1.0 - comparison.level) / pairs,
    }
    power, needed, more = None, None, None
    if (drop := comparison.drop) is not None:
        enough = (
            number
            for number in range(trials, _MOST_TRIALS + 1)
            if plan(len(tasks), number, **given).detectable <= drop
        )
        needed = next(enough, None)
        power = power_of(drop, len(tasks), trials, **given)
        with suppress(NotEstimableError):
            more = tasks_needed(drop, trials, **given)
    return ComparisonPlan(
        benchmark=benchmark,
        baseline=comparison.baseline,
        arms=comparison.arms,
        pairs=pairs,
        tasks=len(tasks),
        trials=trials,
        drop=drop,
        detectable=plan(len(tasks), trials, **given).detectable,
        power=power,
        missing=None if needed is None else needed - trials,
        tasks_needed=more,
    )


def _problem(study: Study, benchmark: str, arm: str, error: BenchError) -> str:
    """Return the error's text with the line of the option that is to blame, else of the arm."""
    place: tuple[int | str, ...] = ("arms", arm)
    misfit = next((each for each in causes(error) if isinstance(each, ValidationError)), None)
    if misfit is not None:
        option = ("benchmarks", benchmark, "options", *place_of(misfit))
        if option[:4] in study.lines:
            place = option
    return str(study.error(place, f"{arm} on {benchmark}: {error}"))


def _run_cost(
    name: RunName,
    trials: int,
    begun: RunView | None,
    views: Sequence[RunView],
    similar: Sequence[RunView],
    model: str | None,
) -> RunCost:
    """Return a run's expected costs, as those of trials in `views`, or by the tokens of `similar` runs."""
    left = trials if begun is None else len(begun.standings.remaining())
    results = _results(views)
    seconds = [each.timings_s["total"] for each in results if "total" in each.timings_s]
    paid = [each.cost_usd for each in results if each.cost_usd is not None]
    dollars, price, priced = None, None, False
    if paid and len(paid) == len(results):
        dollars = statistics.fmean(paid)
    elif model is not None:
        dollars = _price(model, [each.usage for each in _results(similar)])
        priced = dollars is not None
        into = _price(model, [Usage(requests=1000, input_tokens=_MILLION)])
        out = _price(model, [Usage(requests=1000, output_tokens=_MILLION)])
        price = None if into is None or out is None else (into, out)
    return RunCost(
        benchmark=name.benchmark,
        arm=name.arm,
        trials=trials,
        left=left,
        hours=left * statistics.fmean(seconds) / _HOUR_S if seconds else None,
        dollars=None if dollars is None else left * dollars,
        priced=priced,
        price=price,
    )


def _results(views: Sequence[RunView]) -> list[TrialResult]:
    return [each for view in views for each in view.results.values()]


def _price(model: str, usages: Sequence[Usage]) -> float | None:
    """Return the mean dollars of trials with these tokens; None if the price table lacks the model."""
    table, (provider, _, name) = published_prices(), model.partition(":")
    if table is None or not usages:
        return None
    dollars = 0.0
    for each in usages:
        # call by call: a price may depend on how long a call is
        calls = max(1, each.requests)
        fields = {field: getattr(each, field) // calls for field in Usage.model_fields}
        price = table.price(provider, name, Usage(**fields))
        if price is None:
            return None
        dollars += price.usd * calls
    return dollars / len(usages)


def _total(values: Sequence[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if len(known) == len(values) else None


def _scatter(views: Sequence[RunView]) -> Variability | None:
    scores: dict[str, list[float]] = {}
    for each in _results(views):
        if each.score is not None:
            scores.setdefault(each.task_id, []).append(float(each.score >= SUCCESS_SCORE))
    with suppress(NotEstimableError):
        return Variability.of(scores)
    return None
