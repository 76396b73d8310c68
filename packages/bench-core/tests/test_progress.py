"""What people and machines see of a run."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

from bench_core.progress import Progress, RunStart
from bench_core.progress.json_lines import JsonProgress
from bench_core.progress.live import LiveProgress
from bench_core.progress.plain import PlainProgress
from bench_core.progress.selection import make_progress
from bench_core.progress.tally import Tally
from bench_core.records import ErrorInfo, LeftOut, Status, Task, TrialKey, TrialResult, Usage
from bench_core.redaction import Redactor
from bench_core.run_spec import PlannedTrial

if TYPE_CHECKING:
    from collections.abc import Callable

EVIL = "\x1b[2J\x1b]0;owned\x07\nnext \u202eline"
START = RunStart("demo", "runs/demo", planned=12, done=2, scored=2, succeeded=1, workers=4)


class Clock:
    """Stands still until told otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def result(task_id: str = "103", score: float | None = 1.0, **fields: Any) -> TrialResult:
    status = Status.COMPLETED if score is not None else Status.ENVIRONMENT_ERROR
    error = None if score is not None else ErrorInfo(kind="SiteError", message="502" + EVIL)
    return TrialResult(
        benchmark="demo",
        task_id=task_id,
        agent="a",
        **{
            "status": status,
            "score": score,
            "error": error,
            "timings_s": {"total": 42.1},
            **fields,
        },
    )


def trial(task_id: str = "103", goal: str = "Star it") -> PlannedTrial:
    task = Task(benchmark="demo", task_id=task_id, goal=goal)
    return PlannedTrial(key=TrialKey(task_id=task_id), task=task)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def play(progress: Progress, clock: Clock) -> None:
    """A session of two trials, one of which is tried again in vain."""
    progress.begin(START)
    progress.started(trial("103", "Star " + EVIL), 1)
    clock.now += 10
    progress.finished(result("103"))
    progress.started(trial("gitlab-7"), 1)
    progress.retrying(result("gitlab-7", None), 1.5)
    progress.started(trial("gitlab-7"), 2)
    clock.now += 10
    progress.finished(result("gitlab-7", None, trial=2))
    progress.note("Budget: spent" + EVIL)
    progress.end("budget_exceeded")


def test_plain_progress_is_one_aligned_line_per_trial(stream: io.StringIO, clock: Clock) -> None:
    play(PlainProgress(stream, monotonic=clock), clock)
    assert stream.getvalue().splitlines() == [
        "demo: 12 trials, 2 done before, 4 workers, in runs/demo",
        " 3/12  completed         1.00        42.1 s  103               2 of 3 succeeded, 1 min 30 s left",
        " 3/12  try again            -      in 1.5 s  gitlab-7  502 next line",
        " 4/12  environment_error    -        42.1 s  gitlab-7 #2       2 of 3 succeeded, 1 min 20 s left  502 next line",
        "Budget: spent next line",
        "budget exceeded after 20.0 s: 2 of 3 scored succeeded, 1 unscored",
    ]


def test_columns_stay_below_each_other_after_a_long_name(stream: io.StringIO, clock: Clock) -> None:
    plain = PlainProgress(stream, monotonic=clock)
    plain.begin(START)
    for name in ("webarena/solver/101", "44", "webarena/idler/7"):
        plain.finished(result(name))
    lines = stream.getvalue().splitlines()[1:]
    assert len({line.index(" succeeded") for line in lines}) == 1


def test_json_progress_is_one_object_per_line(stream: io.StringIO, clock: Clock) -> None:
    play(JsonProgress(stream), clock)
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "run_started", "trial_started", "trial_finished", "trial_started", "trial_retried",
        "trial_started", "trial_finished", "note", "run_ended",
    ]  # fmt: skip
    assert events[2] == {
        "event": "trial_finished", "task_id": "103", "trial": 1, "status": "completed",
        "score": 1.0, "attempts": 0, "duration_s": 42.1, "cost_usd": None, "error": None,
    }  # fmt: skip


@pytest.fixture
def screen(stream: io.StringIO) -> Callable[[int], Console]:
    def terminal(width: int) -> Console:
        return Console(
            file=stream, force_terminal=True, width=width, height=24, highlight=False,
            color_system=None, legacy_windows=False,
        )  # fmt: skip

    return terminal


@pytest.mark.parametrize("width", [80, 120])
def test_tasks_of_one_domain_and_the_reason_of_an_error_can_be_told_apart(
    stream: io.StringIO, clock: Clock, screen: Callable[[int], Console], width: int
) -> None:
    progress = LiveProgress(stream, monotonic=clock, console=screen(width))
    error = ErrorInfo(kind="VmError", message=f"http://{'h' * 150}:5000: connection refused")
    for task in ("libreoffice_writer/0810415c-bde4-wos", "libreoffice_writer/0a0faba3-5580-wos"):
        progress.finished(result(task, None, error=error))
    first, _, second, reason = stream.getvalue().splitlines()
    assert ("/0810415c-" in first, "/0a0faba3-" in second) == (True, True)
    assert reason.startswith("  http://hhh")
    assert reason.endswith("h:5000: connection refused")
    assert max(map(len, (first, second, reason))) <= width


def test_a_log_has_all_of_a_reason(stream: io.StringIO, clock: Clock) -> None:
    error = ErrorInfo(kind="VmError", message=f"{'h' * 500} refused")
    PlainProgress(stream, monotonic=clock).finished(result("1", None, error=error))
    assert stream.getvalue().endswith("h refused\n")


@pytest.mark.parametrize("width", [80, 120])
def test_live_progress_fits_the_terminal_and_obeys_nothing_in_the_text(
    stream: io.StringIO, clock: Clock, screen: Callable[[int], Console], width: int
) -> None:
    play(LiveProgress(stream, monotonic=clock, console=screen(width)), clock)
    text = stream.getvalue()
    assert "owned" not in text
    assert "\u202e" not in text
    assert "✓ 103" in text
    assert "environment error, again in 1.5 s:" in text
    assert "4/12" in text
    assert "budget exceeded after 20.0 s: 2 of 3 scored succeeded, 1 unscored" in text
    lines = [line for line in text.splitlines() if "\x1b" not in line]
    assert max(len(line) for line in lines) <= width


def test_live_progress_takes_its_bar_away_in_the_end(
    stream: io.StringIO, clock: Clock, screen: Callable[[int], Console]
) -> None:
    progress = LiveProgress(stream, monotonic=clock, console=screen(80))
    progress.begin(START)
    assert "\x1b[?25l" in stream.getvalue()  # the cursor is hidden
    progress.end("finished")
    assert stream.getvalue().rindex("\x1b[?25h") > stream.getvalue().rindex("\x1b[?25l")


@pytest.mark.parametrize("kind", [PlainProgress, JsonProgress, LiveProgress])
def test_keys_in_errors_are_not_shown(stream: io.StringIO, clock: Clock, kind: Any) -> None:
    redact = Redactor(["correct horse battery"]).redact
    progress = kind(stream, redact=redact)
    progress.begin(START)
    error = ErrorInfo(kind="x", message="refused correct horse battery, sk-ant-api03-abcdefghijklm")
    progress.finished(result("1", None, error=error))
    progress.end("finished")
    assert "refused" in stream.getvalue()
    assert "horse" not in stream.getvalue()
    assert "sk-ant" not in stream.getvalue()


@pytest.mark.parametrize("kind", [PlainProgress, LiveProgress])
def test_no_percentage_is_ever_shown(stream: io.StringIO, clock: Clock, kind: Any) -> None:
    play(kind(stream, monotonic=clock), clock)
    assert "%" not in stream.getvalue()


def test_without_a_terminal_progress_is_plain(stream: io.StringIO) -> None:
    assert isinstance(make_progress(stream), PlainProgress)
    assert isinstance(make_progress(stream, as_json=True), JsonProgress)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("files", "words"), [(1, "1 file of agents"), (1200, "1,200 files of agents")]
)
def test_the_last_line_says_how_many_files_of_agents_are_not_kept(
    stream: io.StringIO, screen: Callable[[int], Console], files: int, words: str, live: bool
) -> None:
    progress = LiveProgress(stream, console=screen(120)) if live else PlainProgress(stream)
    progress.begin(START)
    progress.finished(result(left_out=(LeftOut(why="is a link", first="a", files=files),)))
    progress.end("finished")
    assert f"2 of 3 scored succeeded, {words} not kept" in stream.getvalue()


def test_a_tally_adds_tokens_and_cost(clock: Clock) -> None:
    tally = Tally(START, clock)
    assert tally.eta_s is None
    tally.add(result(usage=Usage(input_tokens=100, output_tokens=5), cost_usd=0.5))
    tally.add(result(score=0.0))
    clock.now += 30
    assert (tally.tokens, tally.cost_usd, tally.left) == (105, 0.5, 8)
    assert tally.eta_s == 120
    assert tally.in_words() == "2 of 4 scored succeeded"
