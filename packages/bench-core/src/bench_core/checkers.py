"""End states that a benchmark's own checkers accept: a right one, made wrong or harmlessly different.

An operator makes a mutant of a right end state: the act on the wrong item, a field missing, the same request
twice. Each mutant states its change and whether it is right; the benchmark's own checker decides. Wrongly accepted
mutants make a success rate too high, wrongly refused ones too low.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import Field, JsonValue, PositiveInt, ValidationError

from bench_core.errors import InputError, NotEstimableError
from bench_core.records import Record, Task
from bench_core.records.codec import decode_json
from bench_core.records.problems import problems_of
from bench_core.run_folder.provenance import canonical_hash
from bench_core.seeded import seeded
from bench_core.terminal import counted

__all__ = [
    "AuditedTask",
    "Checker",
    "CheckerAudit",
    "Finding",
    "Findings",
    "Mutant",
    "NoMutantsError",
    "Outcome",
    "Share",
    "Verdict",
    "audit_checkers",
    "find_mutant",
    "read_findings",
    "shipped_findings",
    "weak_checkers",
]

_SHIPPED = "checker_findings.json"
_RATES = "bench_core.statistics.rates"
"""Imported when a share is asked for: the base does without numpy."""

Verdict = Literal["wrong", "right", "unknown"]
"""Whether an end state fulfils the task; `unknown` is shown and never counted."""


class NoMutantsError(Exception):
    """No end state of a task can be made; the message says why."""


class Mutant(Record):
    """An end state made from a right one.

    Attributes:
        operator: How it was made, e.g. `field-missing`.
        number: Tells apart the mutants of one operator in one task.
        change: The change, in words and without a judgement.
        why: Why it is wrong, right or not certain.
        evidence: The facts that a reader needs to judge it.
        material: The input of the checker; made anew from the seed, and in no record.
    """

    task_id: str
    operator: str
    number: int = 1
    verdict: Verdict
    change: str
    why: str
    evidence: JsonValue = None
    material: Any = Field(default=None, exclude=True, repr=False)

    @property
    def mutant_id(self) -> str:
        """Its name within its task."""
        return f"{self.operator}-{self.number}"


class Outcome(Record):
    """A mutant and the checker's decision on it.

    Attributes:
        accepted: None if the checker did not decide.
        said: The checker's words.
    """

    mutant: Mutant
    accepted: bool | None
    said: str | None = None


class AuditedTask(Record):
    """The outcomes of one task's mutants.

    Attributes:
        definition: A digest of the task's definition that was looked at.
        none_because: Why there are none.
    """

    task_id: str
    definition: str = ""
    outcomes: tuple[Outcome, ...] = ()
    none_because: str | None = None

    def decided(self, verdict: Verdict) -> list[Outcome]:
        """Return the outcomes of mutants with this verdict that the checker decided."""
        return [o for o in self.outcomes if o.mutant.verdict == verdict and o.accepted is not None]

    @property
    def wrong_accepted(self) -> list[Outcome]:
        """Wrong end states that the checker accepts."""
        return [each for each in self.decided("wrong") if each.accepted]

    @property
    def right_refused(self) -> list[Outcome]:
        """Right end states that the checker refuses."""
        return [each for each in self.decided("right") if not each.accepted]


class Share(Record):
    """The mean over tasks of a share of their end states, with its interval at 95%; tasks are the clusters."""

    estimate: float
    low: float
    high: float
    tasks: int
    method: str

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}] over {self.tasks} tasks"


class Finding(Record):
    """The findings of an audit on the checker of one task.

    Attributes:
        tried: Wrong end states that the checker decided.
        accepts: How those were made that it accepts: names of operators.
    """

    task_id: str
    tried: PositiveInt
    accepts: tuple[str, ...] = ()


class Findings(Record):
    """The findings of audits, as they come with a benchmark: task by task, without end states.

    Attributes:
        tasks: The findings, by a digest of the audited definition: a built-in world may define a task
            of the same name in another way.
    """

    schema_version: Literal[1] = 1
    checker: str
    seed: int
    tasks: dict[str, Finding]

    def applied(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the tasks with the mutants their checkers accept; None if this definition was not audited."""
        return [task.model_copy(update={"accepts": self._accepts(task)}) for task in tasks]

    def _accepts(self, task: Task) -> tuple[str, ...] | None:
        found = self.tasks.get(_definition(task))
        return found.accepts if found and found.task_id == task.task_id else None


class CheckerAudit(Record):
    """The end states that the checkers of a benchmark's tasks accept.

    Attributes:
        checker: The checker and its version.
        wrong_accepted: The share of wrong end states accepted; None if it cannot be estimated.
        right_refused: The share of right ones refused, likewise.
    """

    schema_version: Literal[1] = 1
    benchmark: str
    checker: str
    seed: int
    tasks: tuple[AuditedTask, ...]
    wrong_accepted: Share | None = None
    right_refused: Share | None = None

    @property
    def outcomes(self) -> Iterator[Outcome]:
        """All outcomes, task by task."""
        return (each for task in self.tasks for each in task.outcomes)

    @property
    def findings(self) -> Findings:
        """The findings, as later runs of these tasks report them."""
        found = {
            task.definition: Finding(
                task_id=task.task_id,
                tried=len(wrong),
                accepts=tuple(sorted({each.mutant.operator for each in task.wrong_accepted})),
            )
            for task in self.tasks
            if (wrong := task.decided("wrong"))
        }
        return Findings(checker=self.checker, seed=self.seed, tasks=found)

    def drawn(self, count: int) -> list[Outcome]:
        """Return `count` mutants with a verdict, drawn by the seed from those of all tasks."""
        certain = [each for each in self.outcomes if each.mutant.verdict != "unknown"]
        draw = seeded(f"{self.seed}:draw")
        return draw.sample(certain, min(count, len(certain)))

    def by_operator(self) -> list[tuple[str, Verdict, int, int]]:
        """Return each operator with its verdict, how many mutants were accepted, and of how many decided."""
        counts: dict[tuple[str, Verdict], list[bool]] = {}
        for each in self.outcomes:
            if each.accepted is not None:
                key = each.mutant.operator, each.mutant.verdict
                counts.setdefault(key, []).append(each.accepted)
        return [(*key, sum(counts[key]), len(counts[key])) for key in sorted(counts)]


class Checker(Protocol):
    """A benchmark's checker, and the maker of end states for it.

    Attributes:
        benchmark: The benchmark's name.
        name: The checker and its version.
    """

    benchmark: str
    name: str

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        """Return the task's mutants; all random choices are made by `draw`.

        Raises:
            NoMutantsError: None can be made.
        """
        ...

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Return whether the checker accepts the mutant, None if it does not decide, and its words."""
        ...


def audit_checkers(
    checker: Checker,
    tasks: Iterable[Task],
    seed: int = 0,
    done: Callable[[AuditedTask], None] = lambda _: None,
) -> CheckerAudit:
    """Let the checker judge every mutant of the tasks; `done` is called after each task.

    The same seed makes the same mutants, whichever other tasks are looked at.
    """
    audited = []
    for task in tasks:
        try:
            mutants = checker.mutants(task, _draw(checker, task, seed))
            judged = [(each, *checker.judge(task, each)) for each in mutants]
            outcomes = tuple(Outcome(mutant=m, accepted=yes, said=said) for m, yes, said in judged)
            found = AuditedTask(
                task_id=task.task_id, definition=_definition(task), outcomes=outcomes
            )
        except NoMutantsError as error:
            found = AuditedTask(task_id=task.task_id, none_because=str(error))
        done(found)
        audited.append(found)
    return CheckerAudit(
        benchmark=checker.benchmark,
        checker=checker.name,
        seed=seed,
        tasks=tuple(audited),
        wrong_accepted=_rate(audited, "wrong", accepted=True),
        right_refused=_rate(audited, "right", accepted=False),
    )


def find_mutant(checker: Checker, task: Task, mutant_id: str, seed: int = 0) -> Mutant:
    """Make one mutant again.

    Raises:
        InputError: The task has no mutant of this name.
    """
    try:
        known = {each.mutant_id: each for each in checker.mutants(task, _draw(checker, task, seed))}
    except NoMutantsError as error:
        raise InputError(f"task {task.task_id} has no mutants: {error}") from error
    if mutant_id not in known:
        raise InputError(
            f"task {task.task_id} has no mutant {mutant_id!r} with seed {seed}: "
            f"it has {', '.join(known)}"
        )
    return known[mutant_id]


def read_findings(path: Path) -> Findings:
    """Read findings that `tasks --checkers --json` wrote, or that come with a benchmark.

    Raises:
        InputError: It is neither.
    """
    try:
        data = decode_json(path.read_text(encoding="utf-8"))
        if "benchmark" in data:
            return CheckerAudit.model_validate(data).findings
        return Findings.model_validate(data)
    except (OSError, ValueError, TypeError) as error:
        why = problems_of(error, Findings) if isinstance(error, ValidationError) else error
        raise InputError(f"{path} is not what `tasks --checkers --json` writes: {why}") from error


@cache
def shipped_findings(package: str) -> Findings:
    """Return the findings that come with an installed package in its `checker_findings.json`."""
    return read_findings(Path(str(files(package))) / _SHIPPED)


def weak_checkers(tasks: Sequence[Task]) -> str | None:
    """Return a run's warning about the checkers of these tasks; None if none was audited, or none is weak."""
    weak = [task.accepts for task in tasks if task.accepts]
    if not weak:
        return None
    counts = Counter(each for accepts in weak for each in accepts)
    listed = ", ".join(f"{name} ({n})" for name, n in counts.most_common())
    strict = sum(task.accepts == () for task in tasks)
    unseen = sum(task.accepts is None for task in tasks)
    return (
        f"the checkers of {len(weak)} of {len(tasks)} tasks are known to accept a wrong end state: {listed}"
        + (f"; no one has looked at {unseen}" if unseen else "")
        + f". Reports say what of it the trials' own files show; --checker strict takes {counted(strict, 'task')}"
    )


def _definition(task: Task) -> str:
    return canonical_hash(task.config)[:16]


def _draw(checker: Checker, task: Task, seed: int) -> random.Random:
    key = f"{seed}:{checker.benchmark}:{task.task_id}"
    return seeded(key)


def _rate(tasks: Sequence[AuditedTask], verdict: Verdict, *, accepted: bool) -> Share | None:
    rates = import_module(_RATES)
    scores = {
        task.task_id: [float(each.accepted is accepted) for each in task.decided(verdict)]
        for task in tasks
    }
    try:
        found = rates.success_rate_interval({name: each for name, each in scores.items() if each})
    except NotEstimableError:
        return None
    return Share.model_validate({name: getattr(found, name) for name in Share.model_fields})
