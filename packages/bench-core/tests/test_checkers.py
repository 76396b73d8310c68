"""Audits of checkers: what is counted, what is drawn, and one end state made again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from bench_core.checkers import Mutant, NoMutantsError, audit_checkers, find_mutant
from bench_core.cli import common_command, list_tasks
from bench_core.errors import InputError
from bench_core.records import Task
from bench_core.runs import TaskOptions

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

TASKS = [Task(benchmark="sums", task_id=each, goal=f"Add {each}") for each in ("1", "2", "3")]


class Sums:
    """A checker that takes any answer ending in the right digit, and no answer with a space."""

    benchmark = "sums"
    name = "sums 1"

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        if task.task_id == "3":
            raise NoMutantsError("nothing is asked for")
        made = [
            ("near-miss", "wrong", f"{draw.randint(1, 8)}{task.task_id}"),
            ("nothing", "wrong", ""),
            ("whitespace", "right", f"{task.task_id} "),
            ("words", "unknown", f"it is {task.task_id}"),
        ]
        return [
            Mutant.model_validate(
                {"task_id": task.task_id, "operator": name, "verdict": verdict, "change": f"answers {text!r}",
                 "why": "by the sum", "evidence": text, "material": text}
            )
            for name, verdict, text in made
        ]  # fmt: skip

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        return str(mutant.material).endswith(task.task_id), None


def test_unknown_end_states_are_never_counted() -> None:
    audit = audit_checkers(Sums(), TASKS)
    first, _, last = audit.tasks
    assert [each.mutant.operator for each in first.wrong_accepted] == ["near-miss"]
    assert [each.mutant.operator for each in first.right_refused] == ["whitespace"]
    assert (len(first.decided("wrong")), len(first.decided("right")), len(first.outcomes)) == (
        2,
        1,
        4,
    )
    assert last.none_because == "nothing is asked for"
    assert audit.wrong_accepted is not None
    assert audit.wrong_accepted.estimate == 0.5
    assert audit.wrong_accepted.tasks == 2
    assert audit.right_refused is None or audit.right_refused.estimate == 1.0
    assert ("near-miss", "wrong", 2, 2) in audit.by_operator()
    assert all(each.mutant.verdict != "unknown" for each in audit.drawn(100))


def test_a_task_has_the_same_mutants_alone_and_with_others() -> None:
    alone = audit_checkers(Sums(), TASKS[1:2], seed=5).tasks[0]
    assert alone == audit_checkers(Sums(), TASKS, seed=5).tasks[1]
    made = find_mutant(Sums(), TASKS[1], "near-miss-1", seed=5)
    assert made.material == alone.outcomes[0].mutant.evidence
    with pytest.raises(InputError, match="no mutant 'near-miss-2' with seed 5: it has near-miss-1"):
        find_mutant(Sums(), TASKS[1], "near-miss-2", seed=5)
    with pytest.raises(InputError, match="nothing is asked for"):
        find_mutant(Sums(), TASKS[2], "near-miss-1")


def show(*arguments: str) -> str:
    main = click.Group("sums")

    @common_command(main, checkers=True)
    def tasks(*, audit: Any, as_json: bool, **options: Any) -> None:
        """List sums."""
        list_tasks(TASKS, TaskOptions(**options), as_json=as_json, audit=audit, checker=Sums)

    result = CliRunner().invoke(main, ["tasks", *arguments])
    return result.output if result.exception is None else f"{result.output}{result.exception}"


def test_tasks_shows_the_table_one_end_state_and_a_draw_for_a_reader() -> None:
    assert "3 of 3 tasks" in show()
    table = show("--checkers")
    assert "1 of 2" in table
    assert "nothing is asked for" in table
    assert "wrong end states accepted: 0.500" in table
    assert json.loads(show("--checkers", "--json"))["checker"] == "sums 1"
    one = show("--checkers", "--task", "2", "--mutant", "whitespace-1")
    assert "should be right: by the sum\nchecker   refused" in one
    blind = [json.loads(line) for line in show("--checkers", "--draw", "3").splitlines()]
    assert [sorted(each) for each in blind] == [["change", "evidence", "number", "task"]] * 3
    labelled = [
        json.loads(line) for line in show("--checkers", "--draw", "3", "--labels").splitlines()
    ]
    assert [each["change"] for each in labelled] == [each["change"] for each in blind]
    assert {"verdict", "why", "accepted"} <= set(labelled[0])


def test_options_of_the_audit_need_checkers() -> None:
    assert "need --checkers: add it" in show("--draw", "3")
    assert "name it with --task" in show("--checkers", "--mutant", "nothing-1")
