"""Score the apps' states after each step of a trial, from the histories in built-in end states.

Nothing is opened for it. An end state of the real apps holds a history, too, but the effect of its actions on a state is
known to the apps alone; reading `/finish` after each step would make the agent's pages write over each other's store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from bench_core.errors import EvaluationError
from bench_core.records import Step, Task, TrialResult
from multireal_harness.definitions import definition_of
from multireal_harness.evaluation import EvaluationRules, checks_of_states
from multireal_harness.results import states_in
from multireal_harness.world.replay import Beginning, disagreements, report_before


def passed_after(
    task: Task, result: TrialResult, folder: Path, steps: Sequence[Step], rules: EvaluationRules
) -> list[bool | None]:
    """Return for each step whether the state before the next one passes the checks of states.

    Raises:
        EvaluationError: The apps are not the built-in ones, the answer alone decides, the steps have no times, or
            a state is missing or does not agree with its history.
    """
    if result.world != "built-in":
        raise EvaluationError("only the histories of the built-in apps can be replayed")
    begun = [1000 * each.started.timestamp() for each in steps if each.started is not None]
    if len(begun) < len(steps):
        raise EvaluationError("the steps have no times")
    states = states_in(folder)
    for app, report in states.items():
        wrong = disagreements(Beginning(app, report.get("initialstate"), ()), report)
        if wrong:
            raise EvaluationError(f"{app}: {wrong[0]}")
    found: list[bool | None] = []
    for end in (*begun[1:], math.inf):
        then = {app: report_before(app, report, end) for app, report in states.items()}
        checks = checks_of_states(task, definition_of(task), then, rules)
        if not checks:
            raise EvaluationError("the answer alone decides this task")
        found.append(all(each.passed for each in checks))
    return found
