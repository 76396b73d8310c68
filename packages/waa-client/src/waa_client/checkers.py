"""End states that the evaluators of WAA's tasks accept: described ones, and solutions on the simulated desktop.

Both come with the world `waa`, which this package does not import: `tasks --checkers` works if both are installed.
The world describes a VM's states after right and wrong work and lets its evaluators read them; if it has a solution
of the task, that is also done as it is, done differently and followed by a deletion, and the evaluator scores.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import Self

from bench_core.agents import Action, Click, Done, ElementRef, named_targets
from bench_core.checkers import Mutant, NoMutantsError, Verdict
from bench_core.errors import AgentError, EvaluationError
from bench_core.records import Task
from waa_client.desktop import View, WaaDesktop
from waa_client.evaluation import EvaluationClient
from waa_client.tasks import load_tasks
from waa_client.timing import TIMINGS
from waa_client.user_files import REMOVING
from waa_client.vm import VmClient, calls
from waa_client.world.launch import built_in_world

__all__ = ["DesktopChecker"]

_BYSTANDER = r"C:\Users\Docker\Music\letter to the landlord.txt"
"""A file of the user's that no task mentions."""
_DOUBTS = {
    "file_explorer/5316686e-5688-4115-be24-052037df599f-WOS":
        "the solution shows hidden files only, and the task says system files, too",
}  # fmt: skip
"""Tasks whose solutions satisfy the evaluator without doing everything that the task asks for."""
_SUCCESS = 1.0
# waiting changes nothing on the simulated desktop
_AT_ONCE = TIMINGS["fast"].model_copy(update={"after_action_s": 0.0, "settle_s": 0.0})


@dataclass(frozen=True)
class _Acts:
    """An agent's actions, and whether it then deletes the bystander or looks around."""

    actions: tuple[Action, ...]
    deletes: bool = False
    looks: bool = False


class DesktopChecker:
    """The evaluators of the installed simulated desktop; a `with` block ends the desktop.

    Raises:
        UnknownPluginError: None is installed.
    """

    benchmark = "waa"
    name = "native evaluators"

    def __init__(self) -> None:
        self._class = built_in_world()
        self._solutions = self._class.solutions()
        self._own = {each.task_id: each.config for each in load_tasks(self._class.tasks_folder())}
        self._world: Any = None
        self._serves: str | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._world is not None:
            self._world.close()

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        """Return the described end states of a task, and those made with its solution.

        Raises:
            NoMutantsError: The task has neither.
        """
        solution = self._solutions.get(task.task_id)
        try:
            made = _Made(task, self._class.end_states(task, draw))
        except NoMutantsError:
            if solution is None:
                raise
            made = _Made(task, [])
        if solution is not None:
            made.done(solution)
        return made.found

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Return whether the evaluator gives this end state, or these acts, the full score, and its reason."""
        if not isinstance(mutant.material, _Acts):
            held: tuple[bool | None, str | None] = self._class.judge_end_state(task, mutant)
            return held
        solved = task.task_id in self._solutions and self._own[task.task_id] != task.config
        if self._world is None or (solved and self._serves != task.task_id):
            # a world makes the reference files of its own tasks and of the one it is started with
            self.__exit__()
            self._world = self._class()
            asyncio.run(self._world.start(task=task.config))
            self._serves = task.task_id
        self._world.reset()
        return asyncio.run(_judged(self._world, task, mutant.material))


async def _judged(world: Any, task: Task, acts: _Acts) -> tuple[bool | None, str | None]:
    async with VmClient(world.vm_url) as vm, EvaluationClient(world.evaluate_url) as evaluator:
        try:
            await evaluator.set_up(task.config)
            if acts.deletes:
                await vm.send(calls.create_file(_BYSTANDER, "Please mend the tap."))
            desktop = WaaDesktop(vm, View(elements=True), _AT_ONCE, simulated=True)
            for action in acts.actions:
                seen = await desktop.observe()
                done = await desktop.act(named_targets(action, seen.elements))
                if not done.ok:
                    return None, f"cannot be done: {done.error}"
            if acts.deletes:
                await vm.send(calls.recycle(_BYSTANDER))
                if await vm.send(calls.file(_BYSTANDER)) is not None:
                    return None, "the file could not be deleted"
            if acts.looks:
                await vm.send(calls.list_directory(r"C:\Users\Docker\Pictures"))
                await vm.send(calls.screenshot())
            verdict = await evaluator.evaluate(task.config, [*desktop.history, "DONE"])
        except AgentError as error:
            return None, f"cannot be done: {error}"
        except EvaluationError as error:
            return None, str(error)
    return (None if verdict.score is None else verdict.score >= _SUCCESS), verdict.reason


class _Made:
    """The mutants of one task."""

    def __init__(self, task: Task, described: Sequence[Mutant]) -> None:
        self.found = list(described)
        self._task = task

    def add(self, operator: str, verdict: Verdict, acts: _Acts, change: str, why: str) -> None:
        """Add a mutant."""
        shown = [each.model_dump(mode="json", exclude_none=True) for each in acts.actions]
        more = [f"deletes {_BYSTANDER}"] if acts.deletes else []
        number = 1 + sum(each.operator == operator for each in self.found)
        self.found.append(
            Mutant(task_id=self._task.task_id, operator=operator, number=number, verdict=verdict, change=change,
                   why=why, evidence={"actions": [*shown, *more, "DONE"]}, material=acts)
        )  # fmt: skip

    def done(self, solution: Any) -> None:
        """Add the mutants made from a solution."""
        steps = tuple(each for each in solution.elements if not isinstance(each, Done))
        goal, doubt = self._task.goal, _DOUBTS.get(self._task.task_id)
        right: Verdict = "unknown" if doubt else "right"
        self.add("as-done", right, _Acts(steps), "the task is done by its solution", doubt or "nothing is changed")  # fmt: skip
        self.add("by-place", right, _Acts(tuple(solution.pixels)), "the same is clicked by its place on the screen",
                 doubt or "what was clicked is the same")  # fmt: skip
        self.add("extra-reads", right, _Acts(steps, looks=True), "the task is done; then a folder is listed",
                 doubt or "looking changes nothing")  # fmt: skip
        removing = REMOVING.search(goal)
        self.add(
            "unrelated-deletion", "unknown" if removing else "wrong", _Acts(steps, deletes=True),
            f"the task is done; then {_BYSTANDER} is deleted, which was there before",
            f"the task speaks of {removing[0]!r}: something may have to go" if removing
            else "the task does not ask for this file to be deleted",
        )  # fmt: skip
        self._wrong_variant(solution, steps)
        last = steps[-1]
        if isinstance(last, Click) and last.target == ElementRef(element="Save"):
            self.add("not-saved", "wrong", _Acts(steps[:-1]), "all is filled in, and Save is not clicked",
                     "the task asks for what only saving leaves")  # fmt: skip

    def _wrong_variant(self, solution: Any, steps: tuple[Action, ...]) -> None:
        wrong = tuple(solution.wrong)
        swaps = [
            f"{_what(other)!r} instead of {_what(step)!r}"
            for step, other in zip(steps, wrong, strict=False)
            if step != other
        ]
        self.add("wrong-item", "wrong", _Acts(wrong), f"the task is done with {', '.join(swaps)}",
                 "it is not what the task asks for")  # fmt: skip


def _what(action: Any) -> str:
    target = getattr(action, "target", None) or getattr(action, "start", None)
    return str(getattr(target, "element", None) or getattr(action, "text", None) or "+".join(getattr(action, "keys", ())))  # fmt: skip
