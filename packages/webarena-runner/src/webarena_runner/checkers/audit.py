"""The official evaluator as a checker to be audited."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_core.checkers import Mutant, NoMutantsError
from bench_core.records import Task
from webarena_runner.checkers.answers import answer_changes
from webarena_runner.checkers.end_states import EndState, Variation
from webarena_runner.checkers.traffic import traffic_changes
from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.reference_solutions.traffic import traffic_for
from webarena_runner.reference_solutions.trials import answer_as_asked, write_trial
from webarena_runner.tasks import BENCHMARK, load_tasks, start_urls


class OfficialChecker:
    """webarena-verified's evaluator, and end states of its tasks.

    A right end state is the traffic and the answer that the task's definition expects.
    """

    benchmark = BENCHMARK

    def __init__(self) -> None:
        self.name = f"webarena-verified {version('webarena-verified')}"
        self._config = default_config()

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        """Return the operators' mutants of the task.

        Raises:
            NoMutantsError: The definition has a pattern that no text is found for.
        """
        try:
            right = EndState(answer_as_asked(task), tuple(traffic_for(task, self._config)))
            others = [
                answer_as_asked(each)
                for each in self._siblings[task.template or ""]
                if each != task
            ]
        except ValueError as error:
            raise NoMutantsError(
                f"its definition has a pattern without an example: {error}"
            ) from error
        pages = len(start_urls(task))
        made = [
            *traffic_changes(task, right, pages, self._config, draw),
            *answer_changes(task, right, others, draw),
        ]
        return _numbered(task, made, pages)

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Ask the evaluator."""
        state: EndState = mutant.material
        with TemporaryDirectory(prefix="webarena-mutant-") as scratch:
            folder = write_trial(
                Path(scratch), task, self._config, answer=state.answer, entries=state.entries
            )
            found = evaluate(task, folder)
        failed = [each for each in found.checks if each.passed is not True]
        said = found.problem or next((f"{e.criterion}: {e.reason}" for e in failed), None)
        return (None if found.score is None else found.score == 1.0), said

    @cached_property
    def _siblings(self) -> dict[str, list[Task]]:
        """The tasks of each template: their answers are likely confusions."""
        found = defaultdict(list)
        for task in load_tasks():
            found[task.template or ""].append(task)
        return found


def _numbered(task: Task, made: Sequence[Variation], pages: int) -> list[Mutant]:
    numbers: dict[str, int] = defaultdict(int)
    mutants = []
    for each in made:
        numbers[each.operator] += 1
        mutants.append(
            Mutant(
                task_id=task.task_id,
                operator=each.operator,
                number=numbers[each.operator],
                verdict=each.verdict,
                change=each.change,
                why=each.why,
                evidence=each.state.shown(pages),
                material=each.state,
            )
        )
    return mutants
