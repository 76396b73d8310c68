"""What the evaluators of WAA's tasks accept, tried on the simulated desktop.

Its solutions are done right, done otherwise, not done and only claimed, and the installed evaluator scores what is
left. It comes with the world `waa`, which this package does not import: whoever has both gets `tasks --checkers`.
Where the desktop has no solution of a task, only what needs none is tried.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import Self

from bench_core.agents import Action, Click, Done, ElementRef, named_targets
from bench_core.checkers import Mutant, Verdict
from bench_core.errors import AgentError, EvaluationError
from bench_core.records import Task
from waa_client.desktop import View, WaaDesktop
from waa_client.evaluation import EvaluationClient
from waa_client.tasks import is_infeasible, load_tasks
from waa_client.timing import TIMINGS
from waa_client.vm import VmClient, calls
from waa_client.world.launch import built_in_world

__all__ = ["DesktopChecker"]

_BYSTANDER = r"C:\Users\Docker\Music\letter to the landlord.txt"
"""A file of the user's that no task speaks of."""
_REMOVING = re.compile(
    r"\b(?:delet|remov|clear|clean|trash|get rid|getting rid|uninstall|music)", re.IGNORECASE
)
_SUCCESS = 1.0
# nothing on the simulated desktop changes by waiting
_AT_ONCE = TIMINGS["fast"].model_copy(update={"after_action_s": 0.0, "settle_s": 0.0})


@dataclass(frozen=True)
class _Acts:
    """What an agent does: actions, whether it then deletes the bystander, looks around, and how it ends."""

    actions: tuple[Action, ...] = ()
    ends: str | None = "DONE"
    deletes: bool = False
    looks: bool = False


class DesktopChecker:
    """The evaluators of the installed simulated desktop; use it as `with`, which ends the desktop.

    Raises:
        UnknownPluginError: None is installed.
    """

    benchmark = "waa"
    name = "native evaluators on the simulated desktop"

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

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:  # noqa: ARG002  # of the protocol
        """Return what can be tried of a task; nothing is left to `draw`."""
        made = _Made(task)
        if is_infeasible(task):
            made.infeasible()
            return made.found
        made.nothing_done()
        solution = self._solutions.get(task.task_id)
        if solution is None:
            made.add("done", "unknown", _Acts(), "the task is done",
                     "the simulated desktop has no solution of it")  # fmt: skip
        else:
            made.done(solution)
        return made.found

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Return whether the evaluator gives the full score after these acts, and its reason."""
        solved = task.task_id in self._solutions and self._own[task.task_id] != task.config
        if self._world is None or (solved and self._serves != task.task_id):
            # a world makes the reference files of its own tasks and of the one that it starts with
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
            history = [*desktop.history, *([acts.ends] if acts.ends else [])]
            verdict = await evaluator.evaluate(task.config, history)
        except AgentError as error:
            return None, f"cannot be done: {error}"
        except EvaluationError as error:
            return None, str(error)
    return (None if verdict.score is None else verdict.score >= _SUCCESS), verdict.reason


class _Made:
    """The mutants of one task."""

    def __init__(self, task: Task) -> None:
        self.found: list[Mutant] = []
        self._task = task

    def add(self, operator: str, verdict: Verdict, acts: _Acts, change: str, why: str) -> None:
        """Add one."""
        shown = [each.model_dump(mode="json", exclude_none=True) for each in acts.actions]
        ends = [acts.ends] if acts.ends else []
        more = [f"deletes {_BYSTANDER}"] if acts.deletes else []
        number = 1 + sum(each.operator == operator for each in self.found)
        self.found.append(
            Mutant(task_id=self._task.task_id, operator=operator, number=number, verdict=verdict, change=change,
                   why=why, evidence={"actions": [*shown, *more, *ends]}, material=acts)
        )  # fmt: skip

    def infeasible(self) -> None:
        """Add those of a task that cannot be done."""
        why = "the benchmark says that the task cannot be done: only saying so is right"
        self.add("given-up", "right", _Acts(ends="FAIL"), "nothing is done, and the agent says that it cannot be done", why)  # fmt: skip
        self.add("nothing-done", "wrong", _Acts(ends=None), "nothing is done or said", why)
        self.add("only-claimed", "wrong", _Acts(), "nothing is done, and the agent says that it is", why)  # fmt: skip
        self.add("given-up-unseen", "unknown", _Acts(ends="FAIL"), "the agent gives up before it has looked",
                 "the end state does not show whether it found out")  # fmt: skip

    def nothing_done(self) -> None:
        """Add those in which a task that can be done is not done."""
        why = "the task asks for something to be done on the desktop"
        self.add("nothing-done", "wrong", _Acts(ends=None), "nothing is done or said", why)
        self.add("only-claimed", "wrong", _Acts(), "nothing is done, and the agent says that it is", why)  # fmt: skip
        self.add("given-up", "wrong", _Acts(ends="FAIL"), "nothing is done, and the agent says that it cannot be done",
                 "the task can be done")  # fmt: skip

    def done(self, solution: Any) -> None:
        """Add those made from a solution."""
        steps = tuple(each for each in solution.elements if not isinstance(each, Done))
        goal = self._task.goal
        self.add("as-done", "right", _Acts(steps), "the task is done by its solution", "nothing is changed")  # fmt: skip
        self.add("by-place", "right", _Acts(tuple(solution.pixels)), "the same is clicked by its place on the screen",
                 "what was clicked is the same")  # fmt: skip
        self.add("extra-reads", "right", _Acts(steps, looks=True), "the task is done; then a folder is listed",
                 "looking changes nothing")  # fmt: skip
        removing = _REMOVING.search(goal)
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
