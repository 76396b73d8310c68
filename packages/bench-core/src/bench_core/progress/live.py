"""A bar and the trials in flight, on a terminal, drawn by rich."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bench_core.progress.interface import RunStart
from bench_core.progress.plain import trial_name
from bench_core.progress.tally import Tally
from bench_core.terminal import dollars, duration, pad, plain_text, shorten, width

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

    from bench_core.records import SessionOutcome, TrialResult
    from bench_core.run_spec import PlannedTrial

_SHOWN_IN_FLIGHT = 8
_REFRESHES_PER_SECOND = 4
_LEAST_NAME_CELLS = 18
_BESIDE_NAMES = 42
"""Width of a line without the name: mark, score, time and status."""
_STYLES = {"cancelled": "dim"}


class LiveProgress:
    """Scrolls one line per finished trial above a bar and the trials that run now.

    Args:
        stream: A terminal.
        redact: Removes secrets from error messages.
        monotonic: Gives the time in seconds.
        console: Draws; a seam for tests.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        redact: Callable[[str], str] = str,
        monotonic: Callable[[], float] = time.monotonic,
        console: Console | None = None,
    ) -> None:
        self._console = console or Console(file=stream, highlight=False)
        self._redact = redact
        self._monotonic = monotonic
        self._tally = Tally(RunStart("", "", 0), monotonic)
        self._name_cells = _LEAST_NAME_CELLS
        self._in_flight: dict[tuple[str, int], tuple[PlannedTrial, int, float]] = {}
        self._live = Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=_REFRESHES_PER_SECOND,
            transient=True,
            # rich would replace the process's streams, to which agents also print.
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def begin(self, start: RunStart) -> None:
        """Print the plan and start drawing."""
        self._tally = Tally(start, self._monotonic)
        before = f", {start.done:,} done before" if start.done else ""
        self._print(Text(f"{start.run_id}  {start.planned:,} trials{before}", style="bold"))
        self._print(Text(start.folder, style="dim"))
        self._live.start()

    def started(self, trial: PlannedTrial, attempt: int) -> None:
        """Show the trial among those in flight."""
        self._in_flight[trial.key.task_id, trial.key.trial] = (trial, attempt, self._monotonic())

    def retrying(self, result: TrialResult, delay_s: float) -> None:
        """Say that a trial is tried again, and why."""
        self._in_flight.pop((result.task_id, result.trial), None)
        status = f"environment error, again in {duration(delay_s)}"
        self._print(self._line("↻", "yellow", result, status))

    def finished(self, result: TrialResult) -> None:
        """Scroll the trial's line up and count it."""
        self._in_flight.pop((result.task_id, result.trial), None)
        self._tally.add(result)
        mark, style = _mark(result)
        self._print(self._line(mark, style, result, result.status.value.replace("_", " ")))

    def note(self, text: str) -> None:
        """Write a line above the bar."""
        self._console.print(Text(self._redact(plain_text(text)), style="yellow"))

    def end(self, outcome: SessionOutcome) -> None:
        """Take the bar away and say how it ended."""
        self._live.stop()
        took = duration(self._tally.elapsed_s)
        words = f"{outcome.replace('_', ' ')} after {took}: {self._tally.in_words()}"
        self._print(Text(words, style="bold"))

    def _print(self, line: Text) -> None:
        self._console.print(line, overflow="ellipsis", no_wrap=True, crop=True)

    def _line(self, mark: str, style: str, result: TrialResult, status: str) -> Text:
        name = self._name(result.task_id, result.trial)
        score = "-" if result.score is None else f"{result.score:.2f}"
        took = duration(result.timings_s.get("total", 0.0))
        line = Text.assemble((mark, style), " ", f"{name}  {score:>5}  {took:>12}")
        line.append(f"  {status}", style=style)
        if result.error is not None:
            why = plain_text(self._redact(result.error.message))
            fits = len(line) + 2 + width(why) <= self._console.width
            # a long one begins with an address and ends with the reason: its middle can go
            shown = f": {why}" if fits else f":\n  {_ends(why, self._console.width - 2)}"
            line.append(shown, style="dim")
        return line

    def _name(self, task_id: str, trial: int) -> str:
        """Return a trial's name as wide as the longest so far, as far as the terminal has room for it."""
        name = trial_name(task_id, trial)
        room = max(_LEAST_NAME_CELLS, self._console.width - _BESIDE_NAMES)
        self._name_cells = min(room, max(self._name_cells, width(name)))
        return pad(shorten(name, self._name_cells), self._name_cells)

    def _render(self) -> RenderableType:
        return Group(*self._flight_lines(), self._bar(), self._summary())

    def _flight_lines(self) -> list[Text]:
        now = self._monotonic()
        shown = list(self._in_flight.values())[:_SHOWN_IN_FLIGHT]
        lines = [self._flight_line(*each, now) for each in shown]
        more = len(self._in_flight) - len(shown)
        return [*lines, Text(f"  ... and {more} more", style="dim")] if more else lines

    def _flight_line(self, trial: PlannedTrial, attempt: int, since: float, now: float) -> Text:
        name = self._name(trial.key.task_id, trial.key.trial)
        again = f"  attempt {attempt}" if attempt > 1 else ""
        text = f"· {name}         {duration(now - since):>12}{again}"
        goal_cells = self._console.width - len(text) - 2
        goal = shorten(self._redact(trial.task.goal), goal_cells)
        return Text.assemble((text, "cyan"), "  ", (goal, "dim"), no_wrap=True, overflow="ellipsis")

    def _bar(self) -> RenderableType:
        tally = self._tally
        row = Table.grid(padding=(0, 1), expand=True)
        row.add_column(ratio=1)
        row.add_column(justify="right", no_wrap=True)
        row.add_row(
            ProgressBar(total=max(1, tally.planned), completed=tally.finished),
            f"{tally.finished:,}/{tally.planned:,}",
        )
        return row

    def _summary(self) -> Text:
        tally = self._tally
        words = [tally.in_words(), duration(tally.elapsed_s)]
        if tally.eta_s is not None and tally.left:
            words.append(f"~{duration(tally.eta_s)} left")
        if tally.cost_usd:
            words.append(dollars(tally.cost_usd))
        return Text(" · ".join(words), no_wrap=True, overflow="ellipsis")


def _ends(text: str, cells: int) -> str:
    """Return the beginning and the end of a text, the end in two thirds of the room."""
    if width(text) <= cells:
        return text
    end = text[-(2 * cells // 3) :]
    return f"{shorten(text, cells - width(end))}{end}"


def _mark(result: TrialResult) -> tuple[str, str]:
    if result.success:
        return "✓", "green"
    if result.score is not None:
        return "✗", "red"
    return "-", _STYLES.get(result.status.value, "yellow")
