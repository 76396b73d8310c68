"""A run folder live on a terminal, as lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from bench_core.terminal import duration, plain_text, shorten
from bench_report.text import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import Console, RenderableType

    from bench_core.records import TrialResult
    from bench_core.statistics import Look
    from bench_report.live.progress import LiveBudget, Snapshot

_SYMBOLS = {True: ("✓", "green"), False: ("✗", "red"), None: ("-", "yellow")}
_IN_FLIGHT = 8
_PART_CELLS = 40


def headline(found: Snapshot) -> str:
    """Return in one line how far a run is."""
    words = [f"{found.ended:,}/{found.planned:,} trials"]
    if found.rate:
        words.append(f"{numbers.percent(found.rate.estimate)} ({numbers.interval(found.rate)})")
    words.append(f"{found.succeeded:,} of {found.scored:,} scored succeeded")
    if found.ended > found.scored:
        words.append(f"{found.ended - found.scored:,} not scored")
    if found.look:
        words.append(look_words(found.look))
    if found.budget:
        words += budget_words(found.budget)
    elif found.cost_usd:
        words.append(numbers.dollars(found.cost_usd))
    words.append(duration(found.elapsed_s))
    if found.eta_s is not None:
        words.append(f"~{duration(found.eta_s)} left")
    if found.over:
        words.append((found.outcome or "not started").replace("_", " "))
    return " · ".join(words)


def damage_words(found: Snapshot) -> list[str]:
    """Return the first damage of a run, and the command that tells more."""
    if not found.damage:
        return []
    more = f", and {len(found.damage) - 1} more" if len(found.damage) > 1 else ""
    return [f"DAMAGED: {plain_text(found.damage[0])}{more}: see `bench-core check`"]


def look_words(found: Look) -> str:
    """Return the finding of a look: its interval is valid while the run goes on."""
    ends = numbers.points_interval(found.low, found.high)
    return f"look {found.number} of {found.of}: {found.reason} ({ends})"


def budget_words(found: LiveBudget) -> list[str]:
    """Return the spending against each limit."""
    spent = (
        (found.max_cost_usd, found.cost_usd, numbers.dollars, ""),
        (found.max_tokens, found.tokens, numbers.short, " tokens"),
        (found.max_minutes, found.minutes, numbers.plain, " minutes"),
    )
    return [
        f"{write(now)} of {write(limit)}{unit} ({numbers.percent(min(1.0, now / limit))})"
        for limit, now, write, unit in spent
        if limit
    ]


def show_lines(found: Iterable[Snapshot], write: Callable[[str], object]) -> None:
    """Write a line whenever something has ended or is found damaged."""
    seen: tuple[object, ...] | None = None
    for each in found:
        if (each.ended, each.over, each.damage) != seen:
            seen = each.ended, each.over, each.damage
            write(" · ".join([headline(each), *damage_words(each)]))


def show_live(found: Iterable[Snapshot], stream: TextIO, *, console: Console | None = None) -> None:
    """Draw the run until it is over."""
    from rich.console import Console  # only for terminals
    from rich.live import Live

    with Live(console=console or Console(file=stream, highlight=False), auto_refresh=False) as live:
        for each in found:
            live.update(_rendered(each), refresh=True)


def _rendered(found: Snapshot) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    bar = Table.grid(expand=True)  # a bar alone does not end its line
    bar.add_row(ProgressBar(total=max(1, found.planned), completed=found.ended))
    who = " · ".join(filter(None, (found.agent, found.model, found.benchmark)))
    lines: list[RenderableType] = [
        Text(shorten(f"{who}  {found.run_id}", 200), style="bold", no_wrap=True),
        bar,
        Text(headline(found), overflow="ellipsis", no_wrap=True),
    ]
    parts = [_counts("ended by", found.statuses), _counts("failed by", found.failure_modes)]
    lines += [Text(part, style="dim", overflow="ellipsis", no_wrap=True) for part in parts if part]
    lines += [Text(each, style="bold red") for each in damage_words(found)]
    lines += [_recent(each) for each in found.recent]
    for each in found.in_flight[:_IN_FLIGHT]:
        again = f"  attempt {each.attempt}" if each.attempt > 1 else ""
        name = shorten(f"{each.task_id} trial {each.trial}", _PART_CELLS)
        text = f"· {name}  running{again}"
        lines.append(Text(text, style="cyan", overflow="ellipsis", no_wrap=True))
    more = len(found.in_flight) - _IN_FLIGHT
    if more > 0:
        lines.append(Text(f"  ... and {more:,} more running", style="dim"))
    return Group(*lines)


def _counts(about: str, counts: dict[str, int]) -> str:
    listed = ", ".join(
        f"{shorten(name.replace('_', ' '), _PART_CELLS)} {n:,}" for name, n in counts.items()
    )
    return f"{about}: {listed}" if listed else ""


def _recent(result: TrialResult) -> RenderableType:
    from rich.text import Text

    symbol, style = _SYMBOLS[result.success]
    name = shorten(f"{result.task_id} trial {result.trial}", _PART_CELLS)
    why = result.failure_mode or result.status.value
    message = f": {plain_text(result.error.message)}" if result.error else ""
    return Text.assemble(
        (symbol, style), f" {name}  ", (f"{why.replace('_', ' ')}{message}", "dim"),
        overflow="ellipsis", no_wrap=True,
    )  # fmt: skip
