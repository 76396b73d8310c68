"""Plots of whole runs: success by step, tasks by trials, success against cost."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from markupsafe import Markup

from bench_report.html_page.svg_plots import image, position, tone_class
from bench_report.model import Report, RunReport, TrialRow
from bench_report.text.numbers import count, counted, dollars, percent
from bench_report.text.phrases import price_known

_MOST_COLUMNS = 400
_MOST_ROWS = 20
_ROW = 16
_HEIGHTS = {"pass": 14, "fail": 7, "void": 3}
"""How tall the cells of a row of tasks are: outcomes differ in shape, not in colour alone."""
_LOG_FROM = 20.0


def success_by_step(rows: Iterable[TrialRow]) -> list[tuple[int, float]]:
    """Return the steps at which trials succeeded, each with the share of scored trials that had by then."""
    scored = [row for row in rows if row.success is not None]
    wins = Counter(row.steps for row in scored if row.success)
    reached, total = [(0, wins[0] / len(scored))] if scored else [], wins[0]
    for step in sorted(wins.keys() - {0}):
        total += wins[step]
        reached.append((step, total / len(scored)))
    return reached


def most_steps(report: Report) -> int:
    """Return the steps of the longest scored trial."""
    return max(
        (row.steps for run in report.runs for row in run.trials if row.success is not None),
        default=0,
    )


def cumulative_plot(report: Report) -> Markup:
    """Draw how the share of successes grows with the steps allowed, a line per run."""
    most = most_steps(report)
    if most < 1:
        return Markup("")
    curves = [success_by_step(run.trials) for run in report.runs]
    lines = []
    for tone, curve in enumerate(curves):
        if curve:
            # A staircase: the share is constant until the next step that brings a success.
            (_, start), *rest = curve
            stairs = "".join(
                f"H{100 * at / most:.2f}V{100 - 100 * share:.2f}" for at, share in rest
            )
            lines.append(
                f'<path class="curve {tone_class(tone)}" d="M0 {100 - 100 * start:.2f}{stairs}H100"/>'
            )
    label = "; ".join(
        f"{run.label}: {percent(curve[-1][1])} after {count(curve[-1][0])} steps"
        for run, curve in zip(report.runs, curves, strict=True)
        if curve
    )
    grid = [f'<line class="tick" x1="0" x2="100" y1="{y}" y2="{y}"/>' for y in (0, 25, 50, 75, 100)]
    return _stretched("plot cumulative", f"Success by step. {label}", 180, [*grid, *lines])


def heat_map(run: RunReport) -> Markup:
    """Draw every task as a column and every trial as a row, hardest tasks first."""
    by_task: defaultdict[str, dict[int, bool | None]] = defaultdict(dict)
    for row in run.trials:
        by_task[row.task_id][row.trial] = row.success
    trials = sorted({row.trial for row in run.trials})[:_MOST_ROWS]
    if not by_task or (len(by_task) == 1 and len(trials) == 1):
        return Markup("")
    columns = sorted(by_task.values(), key=_difficulty)
    height = len(trials) * _ROW
    cells: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for place, trial in enumerate(trials):
        for shade, start, end in _heat_row([each.get(trial, "absent") for each in columns]):
            # Rounded ends, not widths, so that no gap opens; one path per shade takes a tenth of the bytes
            # of a rectangle per cell.
            x, width = round(1000 * start), round(1000 * end) - round(1000 * start)
            tall = _HEIGHTS[shade[0]]
            cells[shade].append(f"M{x} {(place + 1) * _ROW - 2 - tall}h{width}v{tall}h-{width}z")
    parts = [
        f'<path class="part {kind}" fill-opacity="{opacity}" d="{"".join(shapes)}"/>'
        for (kind, opacity), shapes in sorted(cells.items())
    ]
    solved = sum(all(v is True for v in each.values()) for each in columns)
    never = sum(not any(each.values()) for each in columns)
    label = (
        f"{counted(len(columns), 'task')} by {counted(len(trials), 'trial')}: {count(solved)} solved in every "
        f"trial, {count(never)} in none"
    )
    return _stretched("plot heat", label, height, parts, box=(1000, height))


def drift_plot(run: RunReport) -> Markup:
    """Draw the success rates of the tenths of a run, in the order of their start."""
    parts = run.drift.by_time if run.drift else ()
    if not parts:
        return Markup("")
    shapes = [
        f'<line class="tick" x1="0" x2="100%" y1="{y}%" y2="{y}%"/>' for y in (0, 25, 50, 75, 100)
    ]
    places = [((n + 0.5) * 100 / len(parts), 100 - 100 * each.rate) for n, each in enumerate(parts)]
    for (x1, y1), (x2, y2) in pairwise(places):
        ends = f'x1="{position(x1)}" x2="{position(x2)}" y1="{position(y1)}" y2="{position(y2)}"'
        shapes.append(f'<line class="front" {ends}/>')
    shapes += [
        f'<circle class="point" cx="{position(x)}" cy="{position(y)}" r="4"/>' for x, y in places
    ]
    label = "; ".join(f"{each.name} of the trials: {percent(each.rate)}" for each in parts)
    return image("plot pareto", f"Success by start time. {label}", 90, shapes)


def _difficulty(outcomes: dict[int, bool | None]) -> tuple[float, list[int]]:
    scored = [value for value in outcomes.values() if value is not None]
    rate = sum(scored) / len(scored) if scored else -1.0
    return rate, [int(value is True) for _, value in sorted(outcomes.items())]


def _heat_row(cells: Sequence[bool | str | None]) -> Iterator[tuple[tuple[str, str], float, float]]:
    """Yield a row's shades (class and opacity) with the start and end of each, as fractions.

    Neighbours of one shade are one shape. Of more tasks than a screen can resolve, several share a column,
    which shows the share of them that succeeded.
    """
    columns = min(len(cells), _MOST_COLUMNS)
    shades: list[tuple[str, str] | None] = []
    for column in range(columns):
        shared = cells[column * len(cells) // columns : (column + 1) * len(cells) // columns]
        known = [cell for cell in shared if isinstance(cell, bool)]
        if known:
            share = sum(known) / len(known)
            kind, strength = ("pass", share) if share >= 0.5 else ("fail", 1 - share)  # half
            shades.append((kind, f"{round(5 * strength) / 5:g}"))
        else:  # nothing scored, or nothing ran at all
            shades.append(("void", "1") if None in shared else None)
    start = 0
    for shade, run in groupby(shades):
        end = start + len(list(run))
        if shade is not None:
            yield shade, start / columns, end / columns
        start = end


class CostPoint(NamedTuple):
    """A run's cost and success, with intervals; no run is both cheaper and better than one on the front."""

    run: int
    label: str
    cost: float
    rate: float
    low: float | None
    high: float | None
    front: bool
    known: int
    trials: int
    least: float | None = None
    most: float | None = None


def cost_points(report: Report) -> list[CostPoint]:
    """Return the runs whose cost per trial is known, the cheapest first."""
    found = []
    for index, run in enumerate(report.runs):
        rate, cost = run.summary.success, run.summary.cost_usd.mean
        if rate.estimate is not None and cost is not None:
            low, high = (
                (rate.new_tasks.low, rate.new_tasks.high) if rate.new_tasks else (None, None)
            )
            spread = run.summary.cost_usd
            point = CostPoint(
                index, run.label, cost, rate.estimate, low, high,
                front=False, known=spread.known, trials=spread.known + spread.unknown,
            )  # fmt: skip
            found_cost = run.cost
            if found_cost and found_cost.low is not None and found_cost.high is not None:
                within = found_cost.low <= cost <= found_cost.high
                ends = (found_cost.low, found_cost.high) if within else (None, None)
                point = point._replace(least=ends[0], most=ends[1])
            found.append(point)
    found.sort(key=lambda each: (each.cost, -each.rate))
    best, points = -1.0, []
    for each in found:
        points.append(each._replace(front=each.rate > best))
        best = max(best, each.rate)
    return points


def pareto_plot(points: Sequence[CostPoint]) -> Markup:
    """Draw success against cost per trial, with intervals and the Pareto front."""
    place = _scale([each.cost for each in points])
    left, right = cost_range([each.cost for each in points])
    height = 200
    parts = [
        f'<line class="tick" x1="0" x2="100%" y1="{y}%" y2="{y}%"/>' for y in (0, 25, 50, 75, 100)
    ]
    for one, other in pairwise(each for each in points if each.front):
        # The front between two runs: the cheaper one's rate, up to the cost of the dearer one.
        x1, x2 = position(place(one.cost)), position(place(other.cost))
        y1, y2 = position(100 - 100 * one.rate), position(100 - 100 * other.rate)
        parts.append(f'<line class="front" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y1}"/>')
        parts.append(f'<line class="front" x1="{x2}" x2="{x2}" y1="{y1}" y2="{y2}"/>')
    for each in points:
        tone = tone_class(each.run)
        x, y = position(place(each.cost)), position(100 - 100 * each.rate)
        if each.low is not None and each.high is not None:
            parts.append(
                f'<line class="whisker {tone}" x1="{x}" x2="{x}" '
                f'y1="{position(100 - 100 * each.high)}" y2="{position(100 - 100 * each.low)}"/>'
            )
        parts.append(
            f'<circle class="point {tone}" cx="{x}" cy="{y}" r="{6 if each.front else 4.5}"/>'
        )
        if each.least is not None and each.most is not None:
            parts.append(
                f'<line class="whisker {tone}" x1="{position(place(max(each.least, left)))}" '
                f'x2="{position(place(min(each.most, right)))}" y1="{y}" y2="{y}"/>'
            )
    label = "; ".join(
        f"{each.label}: {percent(each.rate)} at {dollars(each.cost)} a trial"
        f"{', on the front' if each.front else ''} (price known of {price_known(each.known, each.trials)})"
        for each in points
    )
    return image("plot pareto", f"Success against cost. {label}", height, parts)


def _scale(costs: Sequence[float]) -> Callable[[float], float]:
    """Return where a cost is in percent of the plot's width."""
    low, high = cost_range(costs)
    if low > 0 and high / low >= _LOG_FROM:
        return lambda cost: 100 * math.log(cost / low) / math.log(high / low)
    return lambda cost: 100 * (cost - low) / (high - low)


def cost_range(costs: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the cost axis: logarithmic if they differ twentyfold, else from zero.

    From zero, so that two runs a cent apart do not stand at the two ends of the plot.
    """
    low, high = min(costs), max(costs)
    if low > 0 and high / low >= _LOG_FROM:
        return low / 1.3, high * 1.3
    return 0.0, high * 1.15 or 1.0


def _stretched(
    classes: str,
    label: str,
    height: int,
    parts: Sequence[str],
    *,
    box: tuple[int, int] = (100, 100),
) -> Markup:
    """Wrap shapes on a box that is stretched to any width; strokes keep theirs."""
    body = Markup("".join(parts))  # noqa: S704  # made of numbers alone
    return Markup(
        '<svg class="{}" role="img" aria-label="{}" width="100%" height="{}" viewBox="0 0 {} {}" '
        'preserveAspectRatio="none">{}</svg>'
    ).format(classes, label, height, *box, body)
