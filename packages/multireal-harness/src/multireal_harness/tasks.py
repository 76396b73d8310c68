"""Tasks read from a folder of JSON files, as Proctor's tasks, with filters."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import PositiveInt, ValidationError

from bench_core.checkers import shipped_findings
from bench_core.errors import InputError
from bench_core.records import Record, Task
from bench_core.records.problems import problems_of
from multireal_harness.definitions import Definition, definition_of

__all__ = [
    "BENCHMARK",
    "TASKS_VARIABLE",
    "TaskQuery",
    "full_id",
    "load_definitions",
    "load_tasks",
    "resolve_tasks_dir",
    "select_tasks",
    "task_of",
    "task_set_hash",
]

BENCHMARK = "multireal"
TASKS_VARIABLE = "MULTIREAL_TASKS_DIR"
"""The environment variable with the folder of tasks, for where no option names one."""

_PREFIXES = ("multi", "v1", "v2")


class TaskQuery(Record):
    """A filter of tasks; a task must meet all its conditions.

    Attributes:
        apps: Only tasks that use one of these.
        min_apps: Only tasks that use at least so many.
        max_apps: Only tasks that use at most so many.
        difficulties: Only tasks of one of these.
    """

    apps: tuple[str, ...] = ()
    min_apps: PositiveInt | None = None
    max_apps: PositiveInt | None = None
    difficulties: tuple[str, ...] = ()

    @property
    def narrows(self) -> bool:
        """Whether it leaves out any task."""
        return any(
            getattr(self, each) != kind.default for each, kind in TaskQuery.model_fields.items()
        )


def load_tasks(directory: Path | str) -> list[Task]:
    """Return the tasks of a directory in order of their ids.

    Args:
        directory: A folder with `*.json`; or `v1` or `v2` for agisdk's tasks, or `built-in`.

    Raises:
        InputError: The directory is missing or empty, or a file is not a task.
    """
    folder = resolve_tasks_dir(directory)
    definitions = load_definitions(folder)
    tasks = [task_of(each, folder) for each in definitions]
    return shipped_findings(__package__).applied(tasks)


def load_definitions(folder: Path) -> list[Definition]:
    """Return the definitions in a folder, sorted by id.

    Raises:
        InputError: A file is not a task, or two tasks have one id.
    """
    homes: dict[str, Path] = {}
    definitions = []
    for path in sorted(folder.glob("*.json")):
        definition = _read(path)
        if definition.id in homes:
            # one published commit has two example files with the ids of other tasks
            raise InputError(
                f"{homes[definition.id]} and {path} both define the task {definition.id!r}: "
                "remove one of them"
            )
        homes[definition.id] = path
        definitions.append(definition)
    if not definitions:
        raise InputError(f"{folder} has no tasks (*.json)")
    return sorted(definitions, key=lambda each: each.id)


def resolve_tasks_dir(directory: Path | str | None) -> Path:
    """Return the folder of tasks that an option, the variable or one of the known names means.

    Raises:
        InputError: No folder is named, or it does not exist.
    """
    named = directory or os.environ.get(TASKS_VARIABLE)
    if not named:
        raise InputError(
            f"where are the tasks? Pass --tasks-dir DIR, or set {TASKS_VARIABLE}; "
            "`--tasks-dir built-in` has tasks on local apps"
        )
    if str(named) == "built-in":
        return Path(__file__).parent / "world" / "tasks"
    if str(named) in {"v1", "v2"} and not Path(named).is_dir():
        # The folder of an installed agisdk's tasks, found without its slow import
        version = str(named)
        found = importlib.util.find_spec("agisdk")
        for home in (found.submodule_search_locations or ()) if found else ():
            folder = Path(home) / "REAL" / "browsergym" / "webclones" / version / "tasks"
            if folder.is_dir():
                return folder
        raise InputError(
            f"the tasks of {version} come with agisdk, which is not installed: "
            # agisdk's dependencies take 411 MB, of which its task files need none
            "`pip install --no-deps agisdk`, or name their folder"
        )
    folder = Path(named)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of tasks")
    return folder


def task_of(definition: Definition, folder: Path | None = None) -> Task:
    """Return a definition as a task, with the sources of its scripts.

    Raises:
        InputError: A script is missing.
    """
    scripts = {one.script: _script(one.script, folder) for one in definition.evals if one.script}
    raw = definition.model_dump(mode="json", by_alias=True, exclude={"sites"}, exclude_unset=True)
    if "website" not in raw and "websites" not in raw:
        raw["websites"] = [site.model_dump(mode="json") for site in definition.sites]
    config: dict[str, Any] = {"definition": raw}
    if scripts:
        config["eval_scripts"] = scripts
    return Task(
        benchmark=BENCHMARK,
        task_id=full_id(definition),
        goal=definition.goal,
        groups={
            "app": definition.apps,
            "apps": (str(len(definition.sites)),),
            "difficulty": (definition.difficulty or "unknown",),
            "set": (_prefix(definition),),
        },
        config=config,
    )


def full_id(definition: Definition) -> str:
    """Return the id with the prefix of its task set, e.g. `multi.gomail-topwork-1`."""
    return f"{_prefix(definition)}.{definition.id}"


def select_tasks(
    tasks: Sequence[Task], query: TaskQuery, ids: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return the ids of the tasks that match `query`, of those in `ids` where any are given.

    The ids may be given without prefix.

    Raises:
        InputError: No task uses an app of the query, or no task matches.
    """
    known = {task.task_id for task in tasks}
    wanted = set()
    for name in ids:
        full = (name, *(f"{prefix}.{name}" for prefix in _PREFIXES))
        wanted.add(next((each for each in full if each in known), name))
    apps = {app for task in tasks for app in task.groups["app"]}
    if unknown := sorted(set(query.apps) - apps):
        unused = ", ".join(map(repr, unknown))
        raise InputError(f"no task uses {unused}: the apps are {', '.join(sorted(apps))}")
    chosen = tuple(
        task.task_id
        for task in tasks
        if (not wanted or task.task_id in wanted) and _fits(definition_of(task), query)
    )
    missing = sorted(wanted - known)
    if not chosen and not missing:
        raise InputError(f"none of the {len(tasks)} tasks fits the filter")
    return (*chosen, *missing)  # the run itself refuses unknown ids, with a proposal


def task_set_hash(tasks: Iterable[Task]) -> str:
    """Return the SHA-256 of the definitions, which does not depend on where their files are.

    The published set has changed from commit to commit, from 84 to 63 tasks, without a version.
    """
    configs = [[task.task_id, task.config] for task in tasks]
    # JSON allows half surrogate pairs, which UTF-8 does not encode without `surrogatepass`
    text = json.dumps(configs, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _read(path: Path) -> Definition:
    try:
        return Definition.model_validate(json.loads(path.read_bytes()))
    except ValidationError as error:
        raise InputError(f"{path} is not a task: {problems_of(error, Definition)}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def _script(name: str, folder: Path | None) -> str:
    if Path(name).name != name:
        raise InputError(f"the script {name!r} must be a file name without a folder")
    homes = [] if folder is None else [folder.parent / "eval_scripts", folder]
    for home in homes:
        if (home / name).is_file():
            return (home / name).read_text(encoding="utf-8")
    searched = " and ".join(map(str, homes)) or "no folder"
    raise InputError(f"the eval script {name!r} is missing: it was looked for in {searched}")


def _prefix(definition: Definition) -> str:
    if definition.multi:
        return "multi"
    return definition.version if definition.version in _PREFIXES else "v1"


def _fits(definition: Definition, query: TaskQuery) -> bool:
    count = len(definition.sites)
    return (
        (not query.apps or bool(set(query.apps) & set(definition.apps)))
        and (query.min_apps is None or count >= query.min_apps)
        and (query.max_apps is None or count <= query.max_apps)
        and (not query.difficulties or definition.difficulty in query.difficulties)
    )
