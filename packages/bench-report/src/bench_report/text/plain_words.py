"""Runs and differences in one plain sentence each, for readers who want nothing else."""

from __future__ import annotations

from bench_report.model import Difference, RunReport
from bench_report.text.numbers import counted


def whole(value: float) -> str:
    """Write a share in whole percent; only none and all are 0% and 100%.

    >>> whole(0.614), whole(0.999), whole(0.001)
    ('61%', 'nearly 100%', 'nearly 0%')
    """
    text = f"{value:.0%}"
    return f"nearly {text}" if text in {"0%", "100%"} and value not in {0, 1} else text


def run_sentence(run: RunReport) -> str:
    """Say which share of how many tasks a run solved, and which to expect of new ones."""
    main = run.summary.success
    if main.estimate is None:
        return f"{run.label} has no scored trial yet, so there is no rate to report."
    tasks = counted(main.tasks, "task")
    sofar = " so far" if run.state == "running" else ""
    trials = "" if main.trials <= main.tasks else f" ({counted(main.trials, 'trial')})"
    solved = f"{run.label} solved {whole(main.estimate)} of {tasks}{trials}{sofar}"
    found = main.new_tasks
    if found is None:
        return f"{solved}; what to expect of new tasks cannot be said from these."
    low = whole(found.low).removesuffix("%")
    return f"{solved}; on new tasks of this kind expect {low} to {whole(found.high)}."


def difference_sentence(found: Difference) -> str:
    """Say whether two runs can be distinguished, and by how much."""
    if found.value is None:
        return f"{found.run} cannot be compared with {found.baseline}: {found.note}."
    # of several runs, the limits that hold for all of them together
    low = found.low if found.joint_low is None else found.joint_low
    high = found.high if found.joint_high is None else found.joint_high
    if low is None or high is None:
        return (
            f"{found.run} is at {_points(found.value)} against {found.baseline}; whether that is more "
            f"than chance cannot be said."
        )
    ends = f"{_points(low, bare=True)} to {_points(high)}"
    if low > 0 or high < 0:
        word = "more" if found.value > 0 else "less"
        return (
            f"{found.run} solves {word} than {found.baseline}: {_points(found.value)} on the tasks both "
            f"did; on new tasks expect {ends}."
        )
    return f"These runs do not distinguish {found.run} from {found.baseline}: on new tasks the difference is {ends}."


def _points(value: float, *, bare: bool = False) -> str:
    # as `numbers.points` in the same line: +6.5, not +7
    number = f"{value * 100:+.1f}".removesuffix(".0").replace("-", "\u2212")
    number = "0" if number in {"+0", "\u22120"} else number
    if bare:
        return number
    return f"{number} {'point' if number in {'+1', chr(0x2212) + '1'} else 'points'}"
