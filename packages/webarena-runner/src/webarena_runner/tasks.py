"""The 812 tasks of webarena-verified as Proctor's records, and filters of tasks.

The dataset is read from the installed distribution's file: importing `webarena_verified` costs
more than a second, reading its JSON a fiftieth of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_core.checkers import shipped_findings
from bench_core.errors import InputError, UnknownTaskError
from bench_core.records import Limits, Record, Resource, Task
from bench_core.records.codec import decode_json
from webarena_runner.evaluator_loader import evaluator_folder
from webarena_runner.site_facts import SITES

BENCHMARK = "webarena"

TASK_TYPES = ("MUTATE", "NAVIGATE", "RETRIEVE")

DEFAULT_LIMITS = Limits(max_steps=30, time_limit_s=600.0)
"""The limits of a trial unless the run sets others; 30 steps are usual for WebArena."""

_DATASET = Path("assets", "dataset", "webarena-verified.json")
_HARD = Path("assets", "dataset", "subsets", "webarena-verified-hard.json")


class TaskQuery(Record):
    """A filter of tasks; empty fields select everything, a task must match all others.

    It has no filter by expected status: a run of only the tasks that expect an error would give the
    agent the answer.

    Attributes:
        sites: Only tasks that use any of these sites; with `exact_sites`, exactly these.
        without_sites: No tasks that use any of these.
        types: Some of `MUTATE`, `NAVIGATE`, `RETRIEVE`.
        templates: Intent template ids.
        hard: True for the hard subset of 258, False for the rest.
    """

    sites: tuple[str, ...] = ()
    exact_sites: bool = False
    without_sites: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    hard: bool | None = None

    @property
    def narrows(self) -> bool:
        """Whether it leaves out any task."""
        return any(
            getattr(self, each) != kind.default for each, kind in TaskQuery.model_fields.items()
        )


def load_tasks(dataset: Path | None = None) -> list[Task]:
    """Return every task of the dataset in order of its id.

    Args:
        dataset: A file in webarena-verified's format; by default the installed one.

    Raises:
        InputError: webarena-verified is not installed or the file is not its dataset.
    """
    package = evaluator_folder()
    rows = _read_json(dataset or dataset_path())
    hard = frozenset(_read_json(package / _HARD)["task_ids"])
    try:
        tasks = [_task(row, hard=row["task_id"] in hard) for row in rows]
    except (KeyError, TypeError, StopIteration) as error:
        raise InputError(f"{dataset} is not a webarena-verified dataset: {error!r}") from error
    return shipped_findings(__package__).applied(sorted(tasks, key=lambda task: int(task.task_id)))


def dataset_path() -> Path:
    """Return the file of the installed data set.

    Raises:
        InputError: webarena-verified is not installed.
    """
    return evaluator_folder() / _DATASET


def select_tasks(
    tasks: Sequence[Task], wanted: TaskQuery, ids: str | None = None, owner: str = BENCHMARK
) -> list[Task]:
    """Return the tasks that match `wanted`, in their order.

    Args:
        tasks: The tasks.
        wanted: The filter.
        ids: Task ids and ranges, e.g. `"0-50,132"`; by default all.
        owner: Owner of the tasks, for errors.

    Raises:
        UnknownTaskError: An id does not exist.
        InputError: A site, type or id is misspelled, or no task remains.
    """
    _refuse_unknown("site", (*wanted.sites, *wanted.without_sites), SITES)
    types = tuple(each.upper() for each in wanted.types)
    _refuse_unknown("task type", types, TASK_TYPES)
    known = [task.task_id for task in tasks]
    named = set(known if ids is None else parse_ids(ids, known, owner))
    chosen = wanted.model_copy(update={"types": types})
    left = [task for task in tasks if task.task_id in named and _fits(task, chosen)]
    if not left:
        raise InputError(f"none of the {len(tasks)} tasks of {owner} fits the filter")
    return left


def parse_ids(text: str, known: Sequence[str], owner: str = BENCHMARK) -> list[str]:
    """Return the task ids of `"0-50,132"`, each once, in the order given.

    Raises:
        UnknownTaskError: An id, or an end of a range, is not among `known`.
        InputError: A part is neither a number nor a range.
    """
    numbers = sorted(int(each) for each in known)
    chosen: dict[str, None] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        first, dash, last = part.partition("-")
        ends = [first.strip(), last.strip()] if dash else [part]
        if not all(end.isascii() and end.isdecimal() for end in ends):
            raise InputError(f"{part!r} is not a task id: ids are numbers, ranges look like '0-50'")
        low, high = int(ends[0]), int(ends[-1])
        if low > high:
            raise InputError(f"the range {part!r} is empty: write '{high}-{low}'")
        for end in (low, high):
            if end not in numbers:
                near = sorted(sorted(numbers, key=lambda number: abs(number - end))[:3])
                raise UnknownTaskError(owner, str(end), list(map(str, near)))
        chosen.update((str(number), None) for number in numbers if low <= number <= high)
    if not chosen:
        raise InputError(f"{text!r} names no task: give ids and ranges like '0-50,132'")
    return list(chosen)


def task_sites(task: Task) -> tuple[str, ...]:
    """Return the sites a task uses, sorted."""
    return task.groups["site"]


def task_type(task: Task) -> str:
    """Return the type that the evaluator expects; it is scored, so agents never get it."""
    return task.groups["type"][0]


def start_urls(task: Task) -> tuple[str, ...]:
    """Return the start URLs with placeholders such as `__GITLAB__`, one tab each."""
    return tuple(task.config["start_urls"])  # type: ignore[arg-type]  # a list of str, read as JSON


def _fits(task: Task, wanted: TaskQuery) -> bool:
    sites = set(task_sites(task))
    asked = set(wanted.sites)
    return all(
        (
            not asked or (sites == asked if wanted.exact_sites else bool(sites & asked)),
            not sites & set(wanted.without_sites),
            not wanted.types or task_type(task) in wanted.types,
            not wanted.templates or task.template in wanted.templates,
            wanted.hard is None or task.groups["difficulty"] == (_difficulty(hard=wanted.hard),),
        )
    )


def _task(row: Mapping[str, Any], *, hard: bool) -> Task:
    sites = tuple(sorted(row["sites"]))  # the data set has both gitlab-reddit and reddit-gitlab
    # all 812 tasks have exactly one of these evaluators
    answer = next(each for each in row["eval"] if each["evaluator"] == "AgentResponseEvaluator")
    kind = str(answer["expected"]["task_type"]).upper()
    # the data set's own `require_reset` is false for all tasks, so the expected type decides
    mode = "exclusive" if kind == "MUTATE" else "shared"
    template = str(row["intent_template_id"])
    return Task(
        benchmark=BENCHMARK,
        task_id=str(row["task_id"]),
        goal=row["intent"],
        groups={"site": sites, "type": (kind,), "difficulty": (_difficulty(hard=hard),)},
        template=template,
        limits=DEFAULT_LIMITS,
        resources=tuple(Resource(name=f"{BENCHMARK}:{site}", mode=mode) for site in sites),
        inputs={
            "sites": list(row["sites"]),
            "start_urls": list(row["start_urls"]),
            "intent_template_id": row["intent_template_id"],
        },
        config=dict(row),
    )


def _difficulty(*, hard: bool) -> str:
    return "hard" if hard else "not-hard"


def _refuse_unknown(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    for each in given:
        if each not in known:
            raise InputError(f"unknown {what} {each!r}: choose from {', '.join(known)}")


def _read_json(path: Path) -> Any:
    try:
        return decode_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the dataset {path}: {error}") from error
