"""Find defects of a case before a model is asked; none is needed.

Cases are wrong surprisingly often: an app was not recorded, two apps hold the same dump, nothing
changed at all, a number of the goal is in no criterion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench_core.errors import InputError
from bench_core.records.judge import Finding, JudgeCase
from llm_judge.evidence.goal_check import goal_doubts
from llm_judge.evidence.planted_text import scan, scan_shown
from llm_judge.prompts.keywords import keywords, machine_forms
from llm_judge.states.changes import diff
from llm_judge.states.paths import find_paths
from llm_judge.states.pointers import MISSING, resolve
from llm_judge.states.snapshots import App, find_apps, identical_apps

_QUOTED = re.compile(
    r"[\"\u201c]([^\"\u201d]{3,80})[\"\u201d]|(?<!\w)['\u2018]([^'\u2019]{3,80})['\u2019](?!\w)"
)
_NUMBER = re.compile(r"(?<![\w.])\$?\d+(?:[.,:]\d+)*(?:\s?[ap]m\b)?", re.IGNORECASE)
_APP = re.compile(r"\b(?:[A-Z][a-z]+){2,}\b|\b[A-Z][a-z]+[A-Z]+\w*\b")
_WORDS_FOR = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
_SMALL = 40


def lint(case: JudgeCase, state: Any, shown: str | None = None) -> tuple[Finding, ...]:
    """Return the doubts about a case and its end state.

    Codes: `state.empty`, `state.no_history`, `state.missing_app`, `state.identical_apps`,
    `state.no_change`, `state.other_changes`, `state.goal_missing` and `state.goal_violated` (if the
    whole state is looked at), `rubric.empty`, `rubric.duplicate`, `rubric.goal_number_uncovered`,
    `rubric.not_in_goal`, `rubric.double`, `rubric.missing_path`, `planted.*`.

    Args:
        case: Goal and criteria.
        state: The end state (`case_state(case)`).
        shown: The text of the pack a model will see, to look for planted text only there.

    Raises:
        InputError: The state is nested too deeply.
    """
    found = list(_of_criteria(case))
    if state is None:
        if not (case.screenshots or case.actions or any(each.facts for each in case.criteria)):
            found.append(
                _finding(
                    "state.empty",
                    "there is neither a state nor a screenshot, an action or a fact of the answer",
                    "error",
                )
            )
        return tuple(found)
    try:
        apps = find_apps(state, case.initial_state)
        found += _of_state(case, state, apps)
        if shown is None:
            doubts = goal_doubts(state, case.goal, initial=case.initial_state)
            found += [_finding(code, message) for code, message in doubts]
            # parts where a run may have written: everything that was not there before
            parts = [part for app in apps for part in (*app.after, *app.changes)]
            found += scan(state, [f"{part.pointer}/" for part in parts])
        else:
            found += scan_shown(shown)
    except RecursionError as error:
        raise InputError(f"{case.case_id}: the state is nested too deeply to be read") from error
    return tuple(found)


def _of_criteria(case: JudgeCase) -> Iterator[Finding]:
    if not case.criteria:
        yield _finding("rubric.empty", "there is no criterion: nothing can be decided", "error")
    seen: dict[str, str] = {}
    for each in case.criteria:
        plain = " ".join(each.text.lower().split())
        if plain in seen:
            yield _finding("rubric.duplicate", f"{each.id} says the same as {seen[plain]}")
        seen.setdefault(plain, each.id)
        for quoted in [one or two for one, two in _QUOTED.findall(each.text)]:
            if not _mentioned(quoted, case.goal):
                message = f"{each.id} asks for {quoted!r}, which the goal does not mention"
                yield _finding("rubric.not_in_goal", message)
        # a long criterion, or one with several `and`s, asks several things at once
        if len(each.text.split()) > _SMALL or each.text.count(" and ") > 2:
            message = f"{each.id} asks several things at once; one verdict then hides which failed"
            yield _finding("rubric.double", message, "info")
    yield from _uncovered(case)


def _uncovered(case: JudgeCase) -> Iterator[Finding]:
    # 31 of Multi-REAL's 63 goals name a number that no criterion or query asks for
    asked = " ".join([*(each.text for each in case.criteria), *_paths(case)])
    held = (
        {form for number in _NUMBER.findall(asked) for form in _number_forms(number)}
        | {digit for word, digit in _WORDS_FOR.items() if word in asked.lower().split()}
        | set(re.findall(r"\d+", asked))
    )
    for number in dict.fromkeys(_NUMBER.findall(case.goal)):
        if not _number_forms(number) & held:
            message = f"the goal says {number!r}, which no criterion asks for"
            yield _finding("rubric.goal_number_uncovered", message, "info")


def _of_state(case: JudgeCase, state: Any, apps: Sequence[App]) -> Iterator[Finding]:
    if state in ({}, []):
        yield _finding("state.empty", "the end state is empty", "error")
        return
    yield from _missing_apps(case, state)
    for one, other in identical_apps(apps):
        message = (
            f"{one} and {other} hold the same dump: one of them was not recorded, and what is asked "
            f"about it cannot be judged"
        )
        yield _finding("state.identical_apps", message)
    known = [app for app in apps if app.recorded]
    if not known:
        message = (
            "the state does not hold what was there before, so what the run changed cannot be seen"
        )
        yield _finding("state.no_history", message, "info")
    # an empty list of changes, without the state from before, may be one that was not recorded
    unchanged = [
        app.name or "the state" for app in known if app.before is not None and not _changed(app)
    ]
    if known and len(unchanged) == len(known):
        yield _finding("state.no_change", "nothing changed in any app: the agent did nothing")
    else:
        named = re.sub(r"[^a-z0-9]", "", f"{case.goal} {case.case_id} {case.criteria}".lower())
        for name in unchanged:
            if name.lower() in named:
                yield _finding("state.no_change", f"nothing changed in {name}")
    roots = [app.pointer for app in apps] + [part.pointer for app in apps for part in app.after]
    for each in case.criteria:
        if each.paths and not any(
            resolve(state, pointer) is not MISSING for pointer in find_paths(state, [each], roots)
        ):
            message = f"{each.id}: nothing in the state stands where it points"
            yield _finding("rubric.missing_path", message, "info")


def _missing_apps(case: JudgeCase, state: Any) -> Iterator[Finding]:
    keys = (
        {re.sub(r"[^a-z0-9]", "", str(key).lower()) for key in state}
        if isinstance(state, dict)
        else set()
    )
    declared = case.metadata.get("apps")
    names = declared if isinstance(declared, list) else _APP.findall(
        " ".join([case.goal, *(each.text for each in case.criteria)])
    )  # fmt: skip
    if not keys:
        return
    for name in dict.fromkeys(map(str, names)):
        plain = re.sub(r"[^a-z0-9]", "", name.lower())
        if plain and not any(plain in key or key in plain for key in keys):
            certain = isinstance(declared, list)
            message = (
                f"{name} is asked about, but the state holds only {', '.join(sorted(keys))[:200]}"
            )
            yield _finding("state.missing_app", message, "warning" if certain else "info")


def _changed(app: App) -> bool:
    if app.before is not None and app.after:
        return any(True for part in app.after for _ in diff(app.before.value, part.value))
    return any(part.value not in ({}, [], None) for part in app.changes)


def _mentioned(quoted: str, goal: str) -> bool:
    low = goal.lower()
    words = keywords(quoted)
    hits = sum(word in low or any(form in low for form in machine_forms(word)) for word in words)
    return quoted.lower() in low or (bool(words) and 2 * hits > len(words))


def _paths(case: JudgeCase) -> Iterable[str]:
    return (path for each in case.criteria for path in each.paths)


def _number_forms(number: str) -> set[str]:
    plain = number.lower().replace("$", "").replace(",", "").strip()
    bare = re.sub(r"\s?[ap]m$", "", plain)
    return {plain, bare, bare.removesuffix(":00"), *machine_forms(number)}


def _finding(code: str, message: str, severity: str = "warning") -> Finding:
    return Finding.model_validate({"code": code, "message": message, "severity": severity})
