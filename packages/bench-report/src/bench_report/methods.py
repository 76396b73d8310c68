"""A methods paragraph written from what was really done, fit to be quoted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_report.numbers import count, interval, level, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bench_report.model import Report, RunReport

__all__ = ["methods"]


def methods(report: Report) -> tuple[str, ...]:
    """Return paragraphs about sampling, scoring, intervals and what was left out."""
    paragraphs = [" ".join(_run(run)) for run in report.runs]
    paragraphs += [" ".join(_intervals(report))]
    return tuple(each for each in paragraphs if each)


def _run(run: RunReport) -> Iterator[str]:
    """Say what ran and how it was scored."""
    info, coverage = run.info, run.summary.coverage
    model = f" with the model {info.model}" if info.model else ""
    version = f" {info.benchmark_version}" if info.benchmark_version else ""
    where = "the built-in stand-in world" if run.built_in else "the benchmark's real systems"
    trials = "one trial" if info.trials == 1 else f"{info.trials} trials"
    yield (
        f"{run.label}: the agent {info.agent}{model} worked on {info.benchmark}{version} "
        f"on {where}, profile {info.profile}, with {trials} per task and seed {info.seed}; "
        f"{count(coverage.results)} of {count(coverage.trials)} planned trials have a result."
    )
    if run.summary.methods:
        ways = ", ".join(f"{name} ({count(n)})" for name, n in _first(run.summary.methods, 6))
        yield f"Scored trials were evaluated by: {ways}."
    yield from _headline(run)


def _first(counts: Mapping[str, int], number: int) -> list[tuple[str, int]]:
    return list(counts.items())[:number]


def _headline(run: RunReport) -> Iterator[str]:
    """State the headline in a sentence that can be copied."""
    rate, strict = run.summary.success, run.summary.errors_count_as_failures
    if rate.estimate is None:
        return
    found = rate.new_tasks
    within = f" ({level(found.level)} interval {interval(found)}; {found.method})" if found else ""
    yield (
        f"Its {'strict ' if strict else ''}success rate is {percent(rate.estimate)}{within}, "
        f"from {count(rate.trials)} trials of {count(rate.tasks)} tasks."
    )
    if run.summary.exclusions:
        listed = ", ".join(
            f"{count(each.count)} {each.status.value.replace('_', ' ')}"
            for each in run.summary.exclusions
        )
        left_out = "left out, because a fault of environment or evaluator is not the agent's"
        yield f"Trials without a score ({listed}) were {'counted as failures' if strict else left_out}."


def _intervals(report: Report) -> Iterator[str]:
    """Explain success, estimands and clustering."""
    yield (
        "A trial succeeds when its score reaches 1. Rates average each task over its trials and "
        "then over tasks, so that every task counts the same."
    )
    if any(run.summary.success.new_tasks for run in report.runs):
        yield (
            "Intervals on new tasks treat tasks (tasks of one template together) as the sample and "
            "say what to expect on other tasks of this kind; intervals for these tasks again hold "
            "the tasks fixed and count only the noise between trials, so they need at least two "
            "trials per task."
        )
    if any(run.summary.macro_average for run in report.runs):
        yield (
            "The template average gives each task template the same weight, however many tasks "
            "were made from it."
        )
    if report.comparison:
        yield (
            "Differences between runs are paired by task; their p-values are adjusted for the "
            "number of runs by Holm's method."
        )
