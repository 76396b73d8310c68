"""Findings from each task's own definition: whether it can score, and its requirements.

Everything is derived from the task files, so a corrected file loses its note. The rules were found by
scoring a desktop on which nothing had been done, with upstream's evaluators, and by reading upstream's
task files; they never change scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import PureWindowsPath
from typing import Any, Literal, get_args

from bench_core.cli import render_table
from bench_core.records import Record, Task
from waa_client.browser_profile import drives_default_profile
from waa_client.tasks import is_infeasible

__all__ = [
    "MEANINGS",
    "HealthNote",
    "NoteKind",
    "task_notes",
]

NoteKind = Literal[
    "never",
    "idle",
    "unprepared",
    "no-score",
    "give-up",
    "moving-date",
    "live-site",
    "live-browser",
    "default-profile",
    "ignored-step",
    "gold-host",
    "setup-host",
    "installed-app",
]

MEANINGS: Mapping[NoteKind, str] = {
    "never": "score 0 for the right work",
    "idle": "may score 1 for doing nothing",
    "unprepared": "score 1 for doing nothing where their set-up did not work",
    "no-score": "have no score, instead of 0, where nothing was done",
    "give-up": "score 1 for giving up at once",
    "moving-date": "ask for a date that depends on the day of the run",
    "live-site": "need public web sites as they were",
    "live-browser": "are evaluated in the live browser",
    "default-profile": "cannot be set up where Chrome or Edge is version 136 or later",
    "ignored-step": "have steps that do nothing on Windows",
    "gold-host": "are compared with a file on the Internet",
    "setup-host": "are set up with files from the Internet",
    "installed-app": "need applications that Windows does not bring along",
}
"""The wording for tasks with a note of this kind, after "n tasks"; the gravest first."""

FLAGGED: frozenset[NoteKind] = frozenset({"never", "idle", "unprepared", "no-score"})
"""The kinds that trials are flagged with, as `task-<kind>`: their score may be misleading."""

_IDLE_CHECK = "waa-client tasks --health --evaluate URL, on a VM where nothing was done"
_FILE_CHECK = "waa-client tasks --health --json --task {task}"
_HOST_CHECK = "waa-client tasks --health --check-hosts --task {task}"
_SAME_NAME = 0.9
_FEW = 20
_LINK = re.compile(r"(?:https?://|(?=www\.))([\w.-]+\.\w{2,})", re.IGNORECASE)
_QUOTED_FILE = re.compile(r"[\"'“]([^\"'”]+\.\w{2,4})[\"'”]")
_ABROAD = re.compile(r"(?:https?://|www\.)(?!localhost|127\.)", re.IGNORECASE)
_INSTALLED = ("libreoffice", "vlc", "vscode", "vs_code", "chrome")
_BROWSERS = frozenset({"chrome", "msedge"})
_LIVE = frozenset({"active_tab_info", "open_tabs_info", "page_info", "pdf_from_url"})
"""Getters that ask the browser itself, over its DevTools port."""


class HealthNote(Record):
    """A note on a task.

    Attributes:
        check: The command that shows it; `URL` stands for an evaluator's address.
    """

    task_id: str
    kind: NoteKind
    reason: str
    check: str


def task_notes(tasks: Iterable[Task]) -> tuple[HealthNote, ...]:
    """Return the notes on tasks, by task and then by kind, the gravest first."""
    return tuple(note for task in tasks for note in _notes(task))


def task_flags(task: Task) -> tuple[str, ...]:
    """Return the flags of a task's trials: `task-<kind>` for each note of a flagged kind."""
    return tuple(f"task-{note.kind}" for note in _notes(task) if note.kind in FLAGGED)


def task_warnings(tasks: Sequence[Task]) -> list[str]:
    """Return a sentence for each flagged kind that some of the tasks have."""
    found = _by_kind(task_notes(tasks))
    return [
        f"{len(found[kind])} of {len(tasks)} tasks {MEANINGS[kind]} (`waa-client tasks --health`)"
        for kind in MEANINGS
        if kind in found and kind in FLAGGED
    ]


def health_text(notes: Sequence[HealthNote], tasks: Sequence[Task]) -> str:
    """Return the notes as tables: the number of tasks with each kind, and the tasks of rare kinds."""
    found = _by_kind(notes)
    rows = [(kind, str(len(found[kind])), MEANINGS[kind]) for kind in MEANINGS if kind in found]
    shown = [note for note in notes if len(tasks) <= _FEW or len(found[note.kind]) <= _FEW]
    order = list(MEANINGS)
    details = [
        (note.task_id, note.kind, note.reason)
        for note in sorted(shown, key=lambda each: order.index(each.kind))
    ]
    without = len(tasks) - len({note.task_id for note in notes})
    parts = [f"{len(tasks)} tasks looked at, {without} without a note"]
    if rows:
        parts.insert(0, render_table(("note", "tasks", "these tasks"), rows))
    if details:
        parts.insert(1, render_table(("task", "note", "why"), details))
    if len(shown) < len(notes):
        parts.append("--json has all notes, each with the command that checks it")
    return "\n\n".join(parts)


def _by_kind(notes: Iterable[HealthNote]) -> dict[NoteKind, set[str]]:
    found: dict[NoteKind, set[str]] = {}
    for note in notes:
        found.setdefault(note.kind, set()).add(note.task_id)
    return found


def files_of(task: Task) -> dict[str, tuple[str, ...]]:
    """Return the URLs of the files that a task's setup and its evaluation fetch, by note kind.

    >>> from bench_core.records import Task
    >>> task = Task(benchmark="waa", task_id="notepad/a", goal="Write.", config={"evaluator": {}})
    >>> files_of(task)
    {'setup-host': (), 'gold-host': ()}
    """
    setup = [
        str(each.get("url"))
        for step in _steps(task.config.get("config"))
        if step.get("type") == "download"
        for each in _parts((step.get("parameters") or {}).get("files"))
    ]
    gold = [
        str(url)
        for each in _parts(_evaluator(task).get("expected"))
        if each.get("type") in {"cloud_file", "pdf_from_url"}
        for url in _listed(each.get("path"))
    ]
    return {"setup-host": tuple(setup), "gold-host": tuple(gold)}


def _notes(task: Task) -> list[HealthNote]:
    found = [
        HealthNote(
            task_id=task.task_id,
            kind=kind,
            reason=reason,
            check=check.format(task=task.task_id),
        )
        for kind, check, rule in _RULES
        for reason in rule(task)
    ]
    order = get_args(NoteKind)
    return sorted(found, key=lambda note: order.index(note.kind))


def _evaluator(task: Task) -> dict[str, Any]:
    found = task.config.get("evaluator")
    return found if isinstance(found, dict) else {}


def _metrics(task: Task) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield metric, result getter and expected getter of each part of the evaluation."""
    evaluator = _evaluator(task)
    for at, name in enumerate(_listed(evaluator.get("func"))):
        yield str(name), _at(evaluator.get("result"), at), _at(evaluator.get("expected"), at)


def _at(value: Any, at: int) -> dict[str, Any]:
    parts = _parts(value)
    return parts[at] if at < len(parts) else {}


def _parts(value: Any) -> list[dict[str, Any]]:
    return [each for each in _listed(value) if isinstance(each, dict)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _steps(value: Any) -> list[dict[str, Any]]:
    return [each for each in _parts(value) if isinstance(each.get("parameters"), dict | None)]


def _rules(expected: dict[str, Any]) -> dict[str, Any]:
    found = expected.get("rules")
    return found if isinstance(found, dict) else {}


def _misspelt_file(task: Task) -> Iterator[str]:
    """Find evaluators that look for a file whose name almost equals the one in the instruction."""
    named = _QUOTED_FILE.findall(task.goal)
    for _, result, _ in _metrics(task):
        name = PureWindowsPath(str(result.get("path", ""))).name
        for asked in named if name and name not in named else ():
            if SequenceMatcher(None, name.casefold(), asked.casefold()).ratio() > _SAME_NAME:
                yield f"the instruction asks for {asked!r}, the evaluator looks for {name!r}"


def _unnamed_url(task: Task) -> Iterator[str]:
    for metric, _, expected in _metrics(task):
        rules = _rules(expected)
        if metric == "is_shortcut_on_desktop" and rules.get("type") == "url" and "url" not in rules:
            yield "the evaluator compares shortcuts with a URL that its rule does not give (V2's rules)"


def _renamed_engine(task: Task) -> Iterator[str]:
    for _, result, expected in _metrics(task):
        asked = _rules(expected).get("expected")
        if result.get("type") == "default_search_engine" and asked == "Bing":
            yield "the evaluator expects 'Bing'; Chrome now calls it 'Microsoft Bing'"


def _default_passes(task: Task) -> Iterator[str]:
    for metric, _, expected in _metrics(task):
        if metric == "check_qt_video_resize":
            yield f"an untouched vlcrc passes: the metric's default is {_rules(expected)} already"


def _missing_passes(task: Task) -> Iterator[str]:
    for metric, _, _ in _metrics(task):
        if metric == "is_cookie_deleted":
            yield "a cookie database that is missing or locked counts as cleaned (V2's rules)"


def _unprepared_passes(task: Task) -> Iterator[str]:
    for metric, result, expected in _metrics(task):
        rules = _rules(expected)
        if metric == "is_extension_installed" and rules.get("type") == "not_contain":
            yield f"{rules.get('expected')!r} is not there before the set-up makes it"
        if result.get("type") == "are_files_sorted_by_modified_time" and rules.get("expected"):
            yield "a folder without files counts as sorted"


def _raises_when_idle(task: Task) -> Iterator[str]:
    for metric, _, expected in _metrics(task):
        if metric == "check_history_deleted":
            yield "the evaluator raises where the browser has no history yet"
        if metric == "compare_text_file" and expected.get("type") == "vm_file":
            yield "the evaluator raises where the file to compare with is not on the VM"


def _infeasible(task: Task) -> Iterator[str]:
    if is_infeasible(task):
        yield "it cannot be done; the last action FAIL scores 1"


def _relative_date(task: Task) -> Iterator[str]:
    for _, _, expected in _metrics(task):
        if expected.get("type") == "rule_relativeTime":
            relative = _rules(expected).get("relativeTime") or {}
            yield f"{relative.get('from')!r} counts from the clock of the evaluator"


def _live_site(task: Task) -> Iterator[str]:
    if task.groups["domain"][0] not in _BROWSERS:
        return
    text = json.dumps([task.config.get("config"), task.goal, _evaluator(task)])
    if _ABROAD.search(text):
        yield f"opens or names {', '.join(sorted(set(_LINK.findall(text)))[:4]) or 'a web site'}"


def _live_browser(task: Task) -> Iterator[str]:
    for _, result, expected in _metrics(task):
        for getter in (result.get("type"), expected.get("type")):
            if getter in _LIVE:
                yield f"{getter} asks the open browser; later only what was recorded is scored"


def _default_profile(task: Task) -> Iterator[str]:
    if drives_default_profile(task.config):
        yield "set-up drives a browser with the default profile, which new browsers refuse: --browser-profile own"


def _idle_steps(task: Task) -> Iterator[str]:
    for step in _steps(task.config.get("config")):
        for each in _parts((step.get("parameters") or {}).get("files")):
            if str(each.get("path", "")).startswith("/"):
                yield f"downloads to {each['path']}, which is no path of Windows"
    for step in _steps(_evaluator(task).get("postconfig")):
        command = _listed((step.get("parameters") or {}).get("command"))
        if command[:1] == ["Stop-Process"]:
            yield "Stop-Process is a command of PowerShell and is started as a program"


def _gold_host(task: Task) -> Iterator[str]:
    return _fetched(files_of(task)["gold-host"])


def _setup_host(task: Task) -> Iterator[str]:
    return _fetched(files_of(task)["setup-host"])


def _fetched(urls: Sequence[str]) -> Iterator[str]:
    hosts = sorted({host for url in urls for host in _LINK.findall(url)})
    if hosts:
        yield f"{len(urls)} file{'s' * (len(urls) > 1)} of {', '.join(hosts)}; not verified"


def _installed_app(task: Task) -> Iterator[str]:
    needed = sorted({app for app in task.groups["app"] if app.casefold().startswith(_INSTALLED)})
    if needed:
        yield f"{', '.join(needed)}: the image's own set-up must have installed it"


_RULES: tuple[tuple[NoteKind, str, Callable[[Task], Iterator[str]]], ...] = (
    ("never", _FILE_CHECK, _misspelt_file),
    ("never", _FILE_CHECK, _unnamed_url),
    ("never", _FILE_CHECK, _renamed_engine),
    ("idle", _IDLE_CHECK, _default_passes),
    ("idle", _IDLE_CHECK, _missing_passes),
    ("unprepared", _IDLE_CHECK, _unprepared_passes),
    ("no-score", _IDLE_CHECK, _raises_when_idle),
    ("give-up", "waa-client tasks --infeasible", _infeasible),
    ("moving-date", _FILE_CHECK, _relative_date),
    ("live-site", _HOST_CHECK, _live_site),
    ("live-browser", _FILE_CHECK, _live_browser),
    ("default-profile", _FILE_CHECK, _default_profile),
    ("ignored-step", _FILE_CHECK, _idle_steps),
    ("gold-host", _HOST_CHECK, _gold_host),
    ("setup-host", _HOST_CHECK, _setup_host),
    ("installed-app", "waa-client probe --vm URL", _installed_app),
)
"""Each rule with the kind of its notes and the command that verifies one."""
