"""Small inline SVG plots in percentages, so that they stretch without distortion.

Only numbers enter; colours come from the CSS by class: the page's policy (CSP) forbids `style` attributes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from bench_core.statistics import Interval
from bench_report.text.numbers import interval, percent, points, points_interval

TONES = 8
"""Runs with a colour of their own; the ninth has the first one's colour in another shape."""

_TICKS = (0, 25, 50, 75, 100)
_MAX_BINS = 24
_SHARE_TOPS = {"pass": 0, "fail": 6, "void": 11}
"""Tops of the parts of a share bar: failures are lower than successes, so that colour is not alone."""


def position(value: float) -> str:
    """Write a position between 0 and 100 for SVG, as a percentage."""
    return f"{min(max(value, 0.0), 100.0):.3f}".rstrip("0").rstrip(".") + "%"


def tone_class(run: int) -> str:
    """Return the CSS classes that give a run its colour, and its shape if there are more runs than colours."""
    again = run // TONES % 4
    return f"tone-{run % TONES}" + (f" again-{again}" if again else "")


def interval_plot(
    value: float | None, found: Interval | None, *, tone: int | None = None, tall: bool = False
) -> Markup:
    """Draw an estimate as a point on its interval over an axis from 0 to 100%."""
    height = 44 if tall else 22
    middle = height / 2
    parts = [f'<line class="tick" x1="{t}%" x2="{t}%" y1="0" y2="{height}"/>' for t in _TICKS]
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{middle:g}" y2="{middle:g}"/>')
    if found is not None:
        parts.append(_band(found.low * 100, found.high * 100, height))
    if value is not None:
        radius = 8 if tall else 4.5
        parts.append(
            f'<circle class="point" cx="{position(value * 100)}" cy="{middle:g}" r="{radius}"/>'
        )
    classes = (
        "plot interval"
        + (" tall" if tall else "")
        + ("" if tone is None else f" {tone_class(tone)}")
    )
    if value is None:
        label = "no value"
    elif found is None:
        label = f"{percent(value)}, no interval"
    else:
        label = f"{percent(value)}, {found.level:.0%} interval {interval(found)}"
    return image(classes, label, height, parts)


def difference_reach(ends: Iterable[float | None]) -> float:
    """Return a round limit that differences and the ends of their intervals stay within."""
    widest = max((abs(end) for end in ends if end is not None), default=1.0)
    return next((limit for limit in (0.1, 0.25, 0.5) if widest <= limit), 1.0)


def difference_plot(
    value: float | None, low: float | None, high: float | None, *, reach: float, tone: int
) -> Markup:
    """Draw a difference as a point on its interval around zero, from -reach to +reach."""

    def place(value: float) -> float:
        return 50 + 50 * value / reach

    parts = [
        '<line class="axis" x1="0" x2="100%" y1="11" y2="11"/>',
        '<line class="zero" x1="50%" x2="50%" y1="0" y2="22"/>',
    ]
    if low is not None and high is not None:
        parts.append(_band(place(low), place(high), 22))
    if value is not None:
        parts.append(f'<circle class="point" cx="{position(place(value))}" cy="11" r="4.5"/>')
    label = f"difference {points(value)}"
    if low is not None:
        label += f", interval {points_interval(low, high)}"
    return image(f"plot interval difference {tone_class(tone)}", label, 22, parts)


def _band(low: float, high: float, height: float) -> str:
    """Draw an interval: a soft band, a line through it, a cap at both ends."""
    half = height * 0.3
    top, bottom, middle = height / 2 - half, height / 2 + half, height / 2
    width = max(high - low, 0.0)
    return (
        f'<rect class="band" x="{position(low)}" width="{position(width)}" y="{top:g}" height="{2 * half:g}" rx="3"/>'
        f'<line class="whisker" x1="{position(low)}" x2="{position(high)}" y1="{middle:g}" y2="{middle:g}"/>'
        f'<line class="whisker" x1="{position(low)}" x2="{position(low)}" y1="{top:g}" y2="{bottom:g}"/>'
        f'<line class="whisker" x1="{position(high)}" x2="{position(high)}" y1="{top:g}" y2="{bottom:g}"/>'
    )


def share_bar(parts: Sequence[tuple[str, int]], *, label: str) -> Markup:
    """Draw counts, each with a CSS class of its own, as one bar divided by share."""
    total = sum(count for _, count in parts) or 1
    drawn: list[str] = []
    gaps: list[str] = []
    start = 0.0
    for kind, count in parts:
        width = 100 * count / total
        top = _SHARE_TOPS.get(kind, 0)
        drawn.append(
            f'<rect class="part {kind}" x="{position(start)}" width="{position(width)}" y="{top}" '
            f'height="{28 - 2 * top}"/>'
        )
        start += width
        end = position(start)
        gaps.append(f'<line class="gap" x1="{end}" x2="{end}" y1="0" y2="28"/>')
    # A thin separator between neighbours, above all of them; none after the last.
    return image("plot shares", label, 28, drawn + gaps[:-1])


def histogram(values: Sequence[float], *, label: str, height: int = 72) -> Markup:
    """Draw how values are distributed from zero to the largest, in equal bins."""
    if not values:
        return Markup("")
    top = max(values) or 1.0
    bins = max(1, min(_MAX_BINS, round(len(values) ** 0.5) * 2))  # few values: few bins
    counts = Counter(int(value / top * bins) for value in values)
    counts[bins - 1] += counts.pop(bins, 0)  # the largest value ends the last bin
    tallest = max(counts.values())
    width = 100 / bins
    bars = "".join(
        f'<rect class="bar" x="{position(i * width + width * 0.06)}" width="{position(width * 0.88)}" '
        f'y="{height - n / tallest * height:.1f}" height="{n / tallest * height:.1f}" rx="1.5"/>'
        for i, n in sorted(counts.items())
        if n
    )
    base = f'<line class="axis" x1="0" x2="100%" y1="{height}" y2="{height}"/>'
    return image("plot histogram", label, height + 1, [bars, base])


def image(classes: str, label: str, height: float, parts: Sequence[str]) -> Markup:
    """Wrap shapes, made of numbers alone, as an image with a name for those who cannot see it."""
    body = Markup("".join(parts))  # noqa: S704  # see above
    return Markup(
        '<svg class="{}" role="img" aria-label="{}" width="100%" height="{}">{}</svg>'
    ).format(classes, label, height, body)
