"""The task files of Windows Agent Arena, keyed by domain and file name.

A file's own `id` cannot serve as key: six differ from the file name and two pairs share one. Six of twelve
domains have an underscore, so `domain_stem` is looked up instead of being split.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from bench_core.checkers import shipped_findings
from bench_core.errors import InputError, RecordError, UnknownTaskError
from bench_core.records import Record, Task

__all__ = [
    "BENCHMARK",
    "TASKS_VARIABLE",
    "TaskQuery",
    "Variant",
    "load_tasks",
    "select_tasks",
]

BENCHMARK = "waa"
TASKS_VARIABLE = "WAA_TASKS"
"""The environment variable with the folder of task files, used if no option names one."""

Variant = Literal["normal", "hard"]
"""`hard` starts without the windows that the normal task opens (upstream's `examples_noctxt`)."""

_FOLDERS: dict[Variant, str] = {"normal": "examples", "hard": "examples_noctxt"}
_INSIDE_CHECKOUT = "src/win-arena-container/client/evaluation_examples_windows"
_REQUIRED = ("id", "instruction", "evaluator")
_NEAR = 3
_SHORTEST_PREFIX = 6  # shorter beginnings could name several tasks
# Stems end in -WOS, -wos, -WOS-2 or -2-WOS.
_SUFFIX = re.compile(r"(-\d+)?-wos(-\d+)?$", re.IGNORECASE)
_URL = re.compile(r"https?://(?!localhost|127\.)", re.IGNORECASE)
_ABROAD = re.compile(r"https?://|www\.", re.IGNORECASE)
_BROWSERS = frozenset({"chrome", "msedge"})


class TaskQuery(Record):
    """A filter of tasks, which must meet all its conditions.

    Attributes:
        infeasible: Only tasks that cannot be done, or only those that can.
        network: Only tasks that need hosts besides the VM and its harness, or only those that do not.
        apps: Only tasks that need one of these applications.
    """

    ids: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    infeasible: bool | None = None
    network: bool | None = None
    apps: tuple[str, ...] = ()


def find_examples(folder: Path | str | None = None) -> Path:
    """Return the folder of the task files: `folder`, a place inside a checkout, or `$WAA_TASKS`.

    It contains `examples/<domain>/<id>.json`, or the domains themselves.

    Raises:
        InputError: No folder is given, or it has no task files.
    """
    given = folder or os.environ.get(TASKS_VARIABLE)
    if not given:
        raise InputError(
            f"where are the task files? Clone WindowsAgentArena and pass --tasks-dir CHECKOUT, or set "
            f"{TASKS_VARIABLE}"
        )
    root = Path(given)
    if root.name == "examples" and root.is_dir():
        return root.parent
    for place in (root, root / _INSIDE_CHECKOUT, root / "evaluation_examples_windows"):
        if (place / "examples").is_dir():
            return place
    if any(root.glob("*/*.json")):
        return root
    raise InputError(
        f"{root} has no task files: it should be a WindowsAgentArena checkout, or have a folder "
        f"`examples` of <domain>/<id>.json"
    )


def task_folders(folder: Path | str) -> Iterator[Path]:
    """Yield the folders of task files in `folder`, if any."""
    try:
        root = find_examples(folder)
    except InputError:
        return
    found = [root / name for name in _FOLDERS.values()]
    yield from [each for each in found if each.is_dir()] or [root]


def load_tasks(
    folder: Path | str | None = None, *, index: str | None = None, variant: Variant = "normal"
) -> tuple[Task, ...]:
    """Return the tasks in a stable order.

    Args:
        folder: A checkout of WindowsAgentArena, or a folder with `examples/` or the domains; else
            `$WAA_TASKS`.
        index: Only the tasks listed in this file (`test_all.json`, `test_custom.json`, or a path);
            by default all files.
        variant: The normal tasks, or upstream's hard ones.

    Raises:
        InputError: No task files were found, or the index names a missing one.
        RecordError: A file is not a task.
    """
    root = find_examples(folder)
    examples = root / _FOLDERS[variant]
    if variant == "normal" and not examples.is_dir():
        examples = root
    if not examples.is_dir():
        raise InputError(f"{root} has no {variant} tasks: there is no folder {examples.name}")
    keys = _files(examples) if index is None else read_index(_index_file(root, index))
    tasks = [_task(examples, domain, stem, variant) for domain, stem in keys]
    return tuple(shipped_findings(__package__).applied(tasks))


def read_index(path: Path) -> tuple[tuple[str, str], ...]:
    """Return the (domain, file stem) pairs of an index file, in its order.

    Raises:
        RecordError: It is not an object of lists of names.
    """
    # V2's test_all.json has 141 of the 154 tasks: infeasible ones are left out
    data = _read(path)
    if not isinstance(data, dict) or not all(
        isinstance(stems, list) and all(isinstance(each, str) for each in stems)
        for stems in data.values()
    ):
        raise RecordError(
            f'{path} is not an index: it should be like {{"chrome": ["030eeff7-..."]}}'
        )
    return tuple((domain, stem) for domain, stems in data.items() for stem in stems)


def resolve_task_id(text: str, tasks: Sequence[Task]) -> str:
    """Return the id of the one task that `text` names.

    Accepted are `domain/stem`, `domain_stem`, the stem, with or without `.json` and `-WOS`, the
    file's own id, and a unique beginning of the stem; case does not matter.

    Raises:
        UnknownTaskError: No task has this name.
        InputError: Several tasks have it.
    """
    path = text.strip().replace("\\", "/").casefold().removesuffix(".json")
    wanted = "/".join(path.split("/")[-2:])
    for named in _SPELLINGS:
        found = [task.task_id for task in tasks if named(task, wanted)]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(f"{text!r} names {len(found)} tasks: {', '.join(found[:4])}")
    spelled = {name: task.task_id for task in tasks for name in _names(task)}
    near = difflib.get_close_matches(wanted, spelled, n=_NEAR)
    raise UnknownTaskError(BENCHMARK, text, dict.fromkeys(spelled[each] for each in near))


def select_tasks(tasks: Sequence[Task], query: TaskQuery) -> tuple[Task, ...]:
    """Return the tasks that match `query`, in their order.

    Raises:
        UnknownTaskError: An id does not belong to a task.
        InputError: A domain or application does not occur in the tasks.
    """
    ids = {resolve_task_id(each, tasks) for each in query.ids}
    _refuse_unknown("domain", query.domains, {d for t in tasks for d in t.groups["domain"]})
    _refuse_unknown("application", query.apps, {a for t in tasks for a in t.groups["app"]})
    return tuple(task for task in tasks if _takes(query, ids, task))


def is_infeasible(task: Task) -> bool:
    """Return whether the task cannot be done, so that only `FAIL` as the last action scores."""
    # 13 of the 154 tasks; an agent that always gives up scores 1 on them
    return "infeasible" in task.tags


def _files(examples: Path) -> list[tuple[str, str]]:
    found = [(path.parent.name, path.stem) for path in examples.glob("*/*.json")]
    if not found:
        raise InputError(f"{examples} has no <domain>/<id>.json")
    return sorted(found)


def _index_file(root: Path, index: str) -> Path:
    for path in (Path(index), root / index, root / f"{index}.json"):
        if path.is_file():
            return path
    raise InputError(f"there is no index {index!r} in {root}: try test_all.json")


def _task(examples: Path, domain: str, stem: str, variant: Variant) -> Task:
    path = examples / domain / f"{stem}.json"
    config = _read(path)
    if not isinstance(config, dict) or any(name not in config for name in _REQUIRED):
        raise RecordError(f"{path} is not a task: it needs {', '.join(_REQUIRED)}")
    apps = tuple(map(str, config.get("related_apps") or ()))
    return Task(
        benchmark=BENCHMARK,
        task_id=f"{domain}/{stem}",
        goal=str(config["instruction"]),
        groups={"domain": (domain,), "app": apps},
        tags=tuple(_tags(domain, config, variant)),
        config=config,
    )


def _tags(domain: str, config: dict[str, Any], variant: Variant) -> Iterator[str]:
    evaluator = config["evaluator"] if isinstance(config["evaluator"], dict) else {}
    steps = [each for each in config.get("config") or () if isinstance(each, dict)]
    kinds = {str(each.get("type")) for each in steps}
    getters = set(_types([evaluator.get("result"), evaluator.get("expected")]))
    yield "infeasible" if evaluator.get("func") == "infeasible" else "feasible"
    # 67 tasks download files in their setup, and 47 a reference file for their evaluation
    if "download" in kinds:
        yield "setup-download"
    if getters & {"cloud_file", "pdf_from_url"}:
        yield "gold-download"
    if {"chrome_open_tabs", "chrome_close_tabs", "edge_open_tabs"} & kinds:
        yield "browser-setup"
    if _reaches_out(domain, config, evaluator, kinds, getters):
        yield "network"
    if variant == "hard":
        yield "hard"


def _reaches_out(
    domain: str,
    config: dict[str, Any],
    evaluator: dict[str, Any],
    kinds: set[str],
    getters: set[str],
) -> bool:
    """Return whether setup, task or evaluation need a host other than the VM and the harness."""
    if "download" in kinds or getters & {"cloud_file", "pdf_from_url"}:
        return True
    # 14 browser tasks need live web sites, which their instruction or evaluator names
    if domain in _BROWSERS and _ABROAD.search(json.dumps([config["instruction"], evaluator])):
        return True
    return bool(_URL.search(json.dumps(config.get("config") or [])))


def _types(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield str(value.get("type"))
    elif isinstance(value, list):
        for each in value:
            yield from _types(each)


def _read(path: Path) -> Any:
    try:
        # 44 of the files have em dashes and the like, which another default encoding would break
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} is missing") from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is not readable JSON: {error}") from error


def _names(task: Task) -> set[str]:
    """Return the names of the task's file, with and without its domain."""
    domain, _, stem = task.task_id.casefold().partition("/")
    return {stem, f"{domain}/{stem}", f"{domain}_{stem}"}


_SPELLINGS: tuple[Callable[[Task, str], bool], ...] = (
    lambda task, text: text in _names(task),
    lambda task, text: text in {_SUFFIX.sub("", name) for name in _names(task)},
    lambda task, text: text == str(task.config["id"]).casefold(),
    lambda task, text: (
        len(text) >= _SHORTEST_PREFIX and any(name.startswith(text) for name in _names(task))
    ),
)
"""Ways to match a name, from exact to vague; the first with a match is used."""


def _refuse_unknown(what: str, asked: Iterable[str], known: set[str]) -> None:
    for each in asked:
        if each not in known:
            raise InputError(
                f"no task has the {what} {each!r}: there are {', '.join(sorted(known))}"
            )


def _takes(query: TaskQuery, ids: set[str], task: Task) -> bool:
    return (
        (not ids or task.task_id in ids)
        and (not query.domains or bool(set(query.domains) & set(task.groups["domain"])))
        and (not query.apps or bool(set(query.apps) & set(task.groups["app"])))
        and query.infeasible in {None, is_infeasible(task)}
        and query.network in {None, "network" in task.tags}
    )
