"""Figures as SVG files of their own: fit for papers and slides, with axes, labels and no style sheet.

Black ink, runs distinguished by label, marker and dashes: a printer without colours loses nothing. Chromium
(`pdf.py`), `rsvg-convert` and Inkscape make PDF of them; texts are plain SVG text and stay text there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from bench_report.html_page.run_charts import cost_points, cost_range, most_steps, success_by_step
from bench_report.model import Report
from bench_report.text.numbers import count, dollars, interval, percent, points, points_interval
from bench_report.text.phrases import price_known, slice_groups
from bench_report.text.untrusted import inline

_WIDTH = 720
_LABEL = 250
_VALUE = 150
_ROW = 30
_TOP = 34
_NAME = 38
_MOST_VALUES = 40
_PLOT = 300
_LEFT = 56
_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_INKS = ("#000000", "#1f5184", "#a6500f", "#66468f", "#15706f", "#9c3263", "#5c6414", "#6b4423")
_DASHES = ("", "6 3", "2 2", "8 3 2 3")


class Figure(NamedTuple):
    """One figure: the name of its file without `.svg`, and the SVG document."""

    name: str
    svg: str


def figures_of(report: Report) -> Iterator[Figure]:
    """Yield the figures of a report: rates; with several runs differences; cost, steps and slices if known."""
    yield Figure("rates", _rates(report))
    if report.comparison and any(each.value is not None for each in report.comparison.differences):
        yield Figure("differences", _differences(report))
    if len(cost_points(report)) > 1:
        yield Figure("cost", _cost(report))
    if most_steps(report) > 0:
        yield Figure("steps", _steps(report))
    for number, name in enumerate(slice_groups(report), 1):
        yield Figure(f"slices-{number}", _slices(report, name))


class _IntervalRow(NamedTuple):
    """A label with a point on its interval; `value` and ends are fractions of the axis."""

    label: str
    value: float | None
    low: float | None
    high: float | None
    words: str


def _rates(report: Report) -> str:
    rows = []
    for run in report.runs:
        main = run.summary.success
        found = main.new_tasks
        low, high = (found.low, found.high) if found else (None, None)
        words = percent(main.estimate) + (f"  {interval(found)}" if found else "")
        rows.append(_IntervalRow(run.label, main.estimate, low, high, words))
    ticks = [(tick / 100, f"{tick}%") for tick in (0, 25, 50, 75, 100)]
    return _interval_figure("Success rate with intervals for new tasks", rows, ticks)


def _differences(report: Report) -> str:
    found = report.comparison.differences if report.comparison else ()
    ends = [abs(v) for each in found for v in (each.value, each.low, each.high) if v is not None]
    reach = next((limit for limit in (0.1, 0.25, 0.5) if max(ends) <= limit), 1.0)

    def place(value: float | None) -> float | None:
        return None if value is None else 0.5 + value / reach / 2

    rows = [
        _IntervalRow(
            each.run, place(each.value), place(each.low), place(each.high),
            f"{points(each.value)}  {points_interval(each.low, each.high)}",
        )
        for each in found
    ]  # fmt: skip
    ticks = [(0.0, points(-reach)), (0.5, "0"), (1.0, points(reach))]
    baseline = report.comparison.baseline if report.comparison else ""
    return _interval_figure(f"Difference from {inline(baseline, 80)}", rows, ticks)


def _interval_figure(
    title: str, rows: Sequence[_IntervalRow], ticks: Sequence[tuple[float, str]]
) -> str:
    """Draw rows of points on intervals below one axis."""
    height = _TOP + 24 + _ROW * len(rows)
    left, right = _LABEL, _WIDTH - _VALUE

    def x(value: float) -> float:
        return left + (right - left) * min(1.0, max(0.0, value))

    parts = [_text(0, 14, title, weight="bold")]
    for value, words in ticks:
        parts += [
            _text(x(value), _TOP, words, size=11, anchor="middle"),
            _line(x(value), _TOP + 6, x(value), height - 6, ink="#cccccc"),
        ]
    for place, row in enumerate(rows):
        y = _TOP + 24 + _ROW * place
        parts.append(_text(0, y + 4, inline(row.label, _NAME)))
        parts.append(_text(right + 16, y + 4, row.words, size=11))
        if row.low is not None and row.high is not None:
            low, high = x(row.low), x(row.high)
            parts.append(_line(low, y, high, y, width=1.6))
            parts += [_line(end, y - 5, end, y + 5, width=1.6) for end in (low, high)]
        if row.value is not None:
            parts.append(f'<circle cx="{x(row.value):.2f}" cy="{y}" r="4.5"/>')
    return _document(_WIDTH + 130, height, title, parts)


def _cost(report: Report) -> str:
    found = cost_points(report)
    least, most = cost_range([each.cost for each in found])
    title = "Success rate against cost of a trial"
    parts = [
        _text(0, 14, title, weight="bold"),
        *_frame(dollars(least), f"{dollars(most)} a trial"),
    ]
    for number, each in enumerate(found):
        x = _LEFT + (_WIDTH - _LEFT - 20) * (each.cost - least) / (most - least)
        y = _down(each.rate)
        if each.low is not None and each.high is not None:
            parts.append(_line(x, _down(each.low), x, _down(each.high), width=1.4))
        if each.least is not None and each.most is not None:
            ends = [
                _LEFT + (_WIDTH - _LEFT - 20) * (min(most, max(least, v)) - least) / (most - least)
                for v in (each.least, each.most)
            ]
            parts.append(_line(ends[0], y, ends[1], y, width=1.4))
        parts.append(f'<circle cx="{x:.2f}" cy="{y:.2f}" r="{5 if each.front else 3.5}"/>')
        parts.append(_text(x + 8, y - 8, str(number + 1), size=11))
    names = [
        f"{n}  {inline(each.label, 70)}: {percent(each.rate)} at {dollars(each.cost)}"
        f"{', on the front of the estimates' if each.front else ''}, price known of {price_known(each.known, each.trials)}"
        for n, each in enumerate(found, 1)
    ]
    return _with_legend(title, parts, [(name, None) for name in names])


def _steps(report: Report) -> str:
    most = most_steps(report)
    title = "Share of scored trials that had succeeded within so many steps"
    parts = [_text(0, 14, title, weight="bold"), *_frame("0", f"{count(most)} steps")]
    names: list[tuple[str, int | None]] = []
    for number, run in enumerate(report.runs):
        curve = success_by_step(run.trials)
        if not curve:
            continue
        (_, start), *rest = curve
        stairs = "".join(
            f"H{_LEFT + (_WIDTH - _LEFT - 20) * step / most:.2f}V{_down(share):.2f}"
            for step, share in rest
        )
        parts.append(
            f'<path d="M{_LEFT} {_down(start):.2f}{stairs}H{_WIDTH - 20}" fill="none" {_stroke(number)}/>'
        )
        names.append((inline(run.label, 80), number))
    return _with_legend(title, parts, names)


def _slices(report: Report, group: str) -> str:
    """Draw the rates by slice and run as a map: darker is higher, and every cell has its number."""
    rates = {
        (number, row.name): row.success.estimate
        for number, run in enumerate(report.runs)
        for row in run.summary.groups.get(group, ())
    }
    values = sorted({name for _, name in rates})[:_MOST_VALUES]
    width = 90
    title = f"Success rate by {inline(group, 60).replace('_', ' ')}"
    parts = [_text(0, 14, title, weight="bold")]
    names: list[tuple[str, int | None]] = []
    for number, run in enumerate(report.runs):
        x = _LABEL + width * number
        parts.append(_text(x + width / 2, _TOP, str(number + 1), size=11, anchor="middle"))
        names.append((f"{number + 1}  {inline(run.label, 80)}", None))
        for place, value in enumerate(values):
            rate = rates.get((number, value))
            y = _TOP + 10 + 24 * place
            shade = 255 if rate is None else round(255 - 175 * rate)
            ink = "#ffffff" if shade < 150 else "#000000"  # readable on the shade
            fill = f"#{shade:02x}{shade:02x}{shade:02x}"
            parts.append(
                f'<rect x="{x}" y="{y}" width="{width - 2}" height="22" fill="{fill}" stroke="#999999" '
                'stroke-width="0.5"/>'
            )
            parts.append(
                _text(x + width / 2, y + 15, percent(rate), size=11, anchor="middle", ink=ink)
            )
    for place, value in enumerate(values):
        parts.append(_text(0, _TOP + 25 + 24 * place, inline(value, _NAME)))
    top = _TOP + 24 + 24 * len(values)
    return _with_legend(
        title, parts, names, top=top, width=max(_WIDTH, _LABEL + width * len(report.runs))
    )


def _frame(left: str, right: str) -> list[str]:
    """Draw the axes of a plot from 0 to 100%."""
    parts = []
    for tick in (0, 25, 50, 75, 100):
        y = _down(tick / 100)
        parts.append(_line(_LEFT, y, _WIDTH - 20, y, ink="#cccccc"))
        parts.append(_text(_LEFT - 8, y + 4, f"{tick}%", size=11, anchor="end"))
    bottom = _down(0) + 18
    return [
        *parts, _text(_LEFT, bottom, left, size=11), _text(_WIDTH - 20, bottom, right, size=11, anchor="end"),
    ]  # fmt: skip


def _down(share: float) -> float:
    return _TOP + (_PLOT - _TOP) * (1 - share)


def _with_legend(
    title: str,
    parts: Sequence[str],
    names: Sequence[tuple[str, int | None]],
    *,
    top: float = _PLOT + 36,
    width: float = _WIDTH,
) -> str:
    """Put a legend below the drawing: each name, with its line if it has one."""
    shown = []
    for place, (name, line) in enumerate(names):
        y = top + 18 * place
        if line is not None:
            shown.append(f'<path d="M0 {y - 4}H34" fill="none" {_stroke(line)}/>')
        shown.append(_text(0 if line is None else 42, y, name, size=12))
    return _document(width, top + 18 * len(names), title, [*parts, *shown])


def _stroke(number: int) -> str:
    dash = _DASHES[number // len(_INKS) % len(_DASHES)] or _DASHES[number % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{_INKS[number % len(_INKS)]}" stroke-width="1.8"{dashes}'


def _line(
    x1: float, y1: float, x2: float, y2: float, ink: str = "#000000", width: float = 1.0
) -> str:
    return (
        f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" stroke="{ink}" '
        f'stroke-width="{width}"/>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    anchor: str = "start",
    weight: str = "normal",
    ink: str = "#000000",
) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="{ink}">{escape(text)}</text>'
    )


def _document(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    box = f"-10 -6 {width + 20:.0f} {height + 16:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{width + 20:.0f}" '
        f'height="{height + 16:.0f}" font-family="{escape(_FONT, {chr(34): "&quot;"})}">\n'
        f"<title>{escape(title)}</title>\n" + "\n".join(parts) + "\n</svg>\n"
    )
