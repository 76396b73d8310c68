"""Mutants for auditing the evals of REAL's tasks: end states made from one in which the task is done.

If no such state of a task is known, the mutants are states with nothing done, or something else. A text that the
goal quotes, or an address in it, must be in the end state: without it, the task is not done. The goal does not cover
other changes to a text, so no such change is made.
"""

from __future__ import annotations

import copy
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench_core.checkers import Mutant, NoMutantsError, Verdict
from bench_core.records import Limits, Task
from bench_core.run_folder import FINISH_STATE, read_json, read_run, trial_files
from bench_core.run_spec import RunSpec, TaskFilter, Timeouts
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from multireal_harness.definitions import Definition, definition_of, scoring_state
from multireal_harness.eval_rules.queries import query_check
from multireal_harness.ground_truth.mutations import undone
from multireal_harness.ground_truth.validation import find_truth
from multireal_harness.states.files import read_states
from multireal_harness.states.goal_checks import goal_symptoms
from multireal_harness.states.health import check_states, has_changes
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.unneeded import REMOVING, own_things

__all__ = ["EvalChecker", "known_states", "solved_states"]

_QUOTED = re.compile(
    r"(?<!\w)['\"\u2018\u201c]([^'\"\u2018\u2019\u201c\u201d]{3,80})['\"\u2019\u201d](?!\w)"
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SENDING = re.compile(r"\b(?:send|mail|email|e-mail|reply|forward)\b", re.IGNORECASE)
_MAYBE_NOTHING = re.compile(
    r"\bdo nothing\b|\bdo(?:n't| not) do anything\b|\bif it (?:is|does)\b", re.IGNORECASE
)
"""Words of goals that may ask for nothing, depending on the apps' contents."""
_UNTOUCHED_PARTS = frozenset({"initialstate", "actionhistory"})
_FREE_TEXT = frozenset({"content", "description", "notes", "body"})
_STRANGE: Mapping[str, Any] = {
    "id": "3f0c8a52-0000-4000-8000-5a1e00000001",
    "to": ["someone.else@elsewhere.test"],
    "subject": "Unrelated note",
    "content": "This has to do with something else.",
    "title": "Unrelated note",
    "start": "2031-02-03T08:00:00.000Z",
    "end": "2031-02-03T08:05:00.000Z",
    "sent": True,
    "draft": False,
    "guests": [],
}
"""Something that no goal asks for, with the names of fields that apps' things have."""


class EvalChecker:
    """The queries of the tasks.

    Args:
        right: End states in which tasks are done, by the task's id without prefix.
    """

    benchmark = "multireal"
    name = "the tasks' own queries (official)"

    def __init__(self, right: Mapping[str, Mapping[str, Any]]) -> None:
        self._right = right

    def mutants(self, task: Task, draw: random.Random) -> Sequence[Mutant]:
        """Return the mutants of the known right end state, or of an untouched one."""
        definition = definition_of(task)
        if any(one.kind != "jmespath" for one in definition.evals):
            raise NoMutantsError("a script or a judge decides, not queries alone")
        states = self._right.get(definition.id)
        made = _Made(task.task_id, definition)
        if states is None:
            made.without_right(shipped_schemas().untouched(definition.apps))
        else:
            made.from_right(states, draw)
        if not made.found:
            raise NoMutantsError(f"no end state of {', '.join(definition.apps)} is known")
        return made.found

    def judge(self, task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
        """Return whether every query of the task is satisfied, and the first that is not."""
        definition = definition_of(task)
        state = scoring_state(definition, mutant.material)
        checks = [query_check(one, state) for one in definition.evals]
        failed = next((each for each in checks if not each.passed), None)
        return failed is None, None if failed is None else f"not satisfied: {failed.criterion}"


class _Made:
    """The mutants of one task."""

    def __init__(self, task_id: str, definition: Definition) -> None:
        self.found: list[Mutant] = []
        self._id = task_id
        self._goal = definition.goal
        self._definition = definition
        self._wanted: list[str] = list(
            dict.fromkeys([*_QUOTED.findall(self._goal), *_ADDRESS.findall(self._goal)])
        )

    def without_right(self, states: Mapping[str, Any]) -> None:
        """Add the certain mutants of a task without a known right end state."""
        if not states:
            return
        self._nothing_done(states)
        strange = {app: _with_strange(state) for app, state in states.items()}
        if strange != dict(states):
            self._add("other-thing-done", "wrong", strange,
                      "in every app that shows its differences, one thing is added that has to do with something else",
                      "nothing that the task asks for was done", {"added": dict(_STRANGE)})  # fmt: skip
        self._add("done", "unknown", states, "the task is done",
                  "no end state in which this task is done is known: name a folder with --end-states")  # fmt: skip

    def from_right(self, states: Mapping[str, Any], draw: random.Random) -> None:
        """Add the mutants of an end state in which the task is done."""
        before = {app: undone(state) for app, state in states.items()}
        self._nothing_done(before)
        self._one_app_undone(states, before)
        items = [(app, item) for app, state in states.items() for item in _added(state)]
        for app, item in items:
            self._of_item(states, app, item, draw)
        self._deletion(states, draw)
        self._harmless(states, items)

    def _add(
        self, operator: str, verdict: Verdict, states: Mapping[str, Any], change: str, why: str, evidence: Any = None
    ) -> None:  # fmt: skip
        number = 1 + sum(each.operator == operator for each in self.found)
        self.found.append(
            Mutant(
                task_id=self._id,
                operator=operator,
                number=number,
                verdict=verdict,
                change=change,
                why=why,
                evidence=evidence,
                material=states,
            )
        )

    def _nothing_done(self, before: Mapping[str, Any]) -> None:
        challenge = self._definition.challenge_type
        idle = _MAYBE_NOTHING.search(self._goal)
        if "action" not in challenge or challenge == "no-action" or idle:
            what = f"that says {idle[0]!r}" if idle else f"of the kind {challenge!r}"
            why = f"a task {what} may ask for no change"
            self._add("nothing-done", "unknown", before, "no app has changed", why)
            return
        why = "the task asks for something to be done in the apps"
        unchanged = {"changes": dict.fromkeys(before)}
        self._add("nothing-done", "wrong", before, "no app has changed", why, unchanged)
        change = "no app has changed; the agent's last message says that all is done"
        self._add("only-claimed", "wrong", before, change, why, unchanged)

    def _one_app_undone(self, states: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        for app, state in states.items():
            if not has_changes(state):
                continue
            one = {**states, app: before[app]}
            lost = self._lost(states, one)
            change = (
                f"all that was done in {app} is undone; the other apps are as in a right end state"
            )
            if lost:
                self._add("done-and-undone", "wrong", one, change,
                          f"{lost!r}, which the task names, is in no app's changes any more", {"undone": app})  # fmt: skip
            else:
                self._add("done-and-undone", "unknown", one, change,
                          f"the goal quotes nothing that only {app} has", {"undone": app})  # fmt: skip

    def _of_item(
        self, states: Mapping[str, Any], app: str, item: dict[str, Any], draw: random.Random
    ) -> None:
        def edited(new: Any) -> dict[str, Any]:
            return {**states, app: _outside(states[app], lambda part: _swapped(part, item, new))}

        missing = edited(None)
        if lost := self._lost(states, missing):
            self._add("thing-missing", "wrong", missing, f"one thing that was added in {app} is not there",
                      f"{lost!r}, which the task names, is nowhere any more", {"missing": item})  # fmt: skip
        for field, value in item.items():
            for text in self._wanted:
                if not _holds(value, text):
                    continue
                other = _near_miss(text, draw)
                wrong = {**item, field: _replaced(value, text, other)}
                self._field(states, edited(wrong), "field-wrong", text, wrong,
                            f"in what was added in {app}, {field} says {other!r} instead of {text!r}")  # fmt: skip
                less = {**item, field: _replaced(value, text, "")}
                self._field(states, edited(less), "field-missing", text, less,
                            f"in what was added in {app}, {field} lacks {text!r}")  # fmt: skip
        if item.get("sent") is True and _SENDING.search(self._goal):
            draft = {**item, "sent": False, "draft": True}
            if lost := self._lost(states, missing):
                self._add("not-sent", "wrong", edited(draft), f"a mail of {app} is a draft and was not sent",
                          f"the task asks for mail, and {lost!r} is in this draft alone", draft)  # fmt: skip
        twice = {**states, app: _outside(states[app], lambda part: _doubled(part, item))}
        self._add("done-twice", "unknown", twice, f"what was added in {app} is there twice",
                  "the goal does not say that it must be there once only", {"twice": item})  # fmt: skip

    def _field(
        self, right: Mapping[str, Any], states: Mapping[str, Any], operator: str, text: str, item: Any, change: str
    ) -> None:  # fmt: skip
        if self._lost(right, states) == text:
            why = f"the task names {text!r}, which no change has any more"
            self._add(operator, "wrong", states, change, why, item)

    def _lost(self, right: Mapping[str, Any], states: Mapping[str, Any]) -> str | None:
        """Return a text that the task names and the right end state's changes have, but none of these."""

        def changes(each: Mapping[str, Any]) -> list[Any]:
            return [item for state in each.values() for item in _added(state)]

        for text in self._wanted:
            if _holds(changes(right), text) and not _holds(changes(states), text):
                return text
        return None

    def _deletion(self, states: Mapping[str, Any], draw: random.Random) -> None:
        kept = [
            (app, thing)
            for app, state in states.items()
            for name, thing in own_things(state.get("initialstate"))
            if (name, thing) in list(own_things(state.get("finalstate")))
        ]
        if not kept:
            return
        app, thing = draw.choice(kept)
        binned = {**thing, "trash": True} if "trash" in thing else None
        gone = _outside(states[app], lambda part: _swapped(part, thing, binned))
        for name, part in gone.get("differences", {}).items():
            if name in {"emails", "events", "bookings"} and isinstance(part, dict):
                where = "deleted" if binned is None else "updated"
                part[where] = (
                    {**part[where], str(thing["id"]): binned or thing}
                    if isinstance(part.get(where), dict)
                    else [*part.get(where, []), binned or thing]
                )
        removing = REMOVING.search(self._goal)
        self._add(
            "unrelated-deletion", "unknown" if removing else "wrong", {**states, app: gone},
            f"the task is done, and in {app} something of the user's that was there before is deleted",
            f"the task speaks of {removing[0]!r}: something may have to go" if removing
            else "the task asks for nothing to be removed", {"deleted": thing},
        )  # fmt: skip

    def _harmless(
        self, states: Mapping[str, Any], items: Sequence[tuple[str, dict[str, Any]]]
    ) -> None:
        doubts = [*check_states(self._definition, dict(states)), *goal_symptoms(self._definition, states)]  # fmt: skip
        verdict: Verdict = "unknown" if doubts else "right"
        doubt = f"the recorded state may not be right: {doubts[0].message}" if doubts else ""

        deleted = [each for state in states.values() for each in _listed(state, "deleted")]

        def add(operator: str, made: Mapping[str, Any], change: str, why: str) -> None:
            shown = {"added": [item for _, item in items], "deleted": deleted}
            self._add(operator, verdict, made, change, doubt or why, shown)

        add("as-done", states, "the task is done, as recorded", "nothing is changed")
        add("names-in-other-order", _reordered(states), "the names in each object come in the reverse order",
            "the objects of JSON have no order")  # fmt: skip
        reads = {app: _with_reads(state) for app, state in states.items()}
        add("extra-reads", reads, "pages were looked at once more", "looking changes nothing")
        for app, item in items:
            saved = any(
                thing == item and name.startswith("saved")
                for name, thing in own_things(states[app].get("finalstate"))
            )
            if saved or _holds(states[app].get("initialstate"), str(item.get("id"))):
                continue  # it was there before, or is part of the app's offer
            others = [{**each, "id": ""} if each is item else each for _, each in items]
            if isinstance(item.get("id"), str) and not _holds(others, item["id"]):
                other = {**item, "id": f"{item['id'][:-1]}x"}
                made = _outside(states[app], partial(_swapped, old=item, new=other))
                add("other-id", {**states, app: made}, f"the app {app} gave what was added another id",
                    "the app chooses ids, not the agent")  # fmt: skip
            for field in _FREE_TEXT & set(item):
                if isinstance(item[field], str) and item[field]:
                    spaced = {**item, field: f"{item[field]}\n"}
                    made = _outside(states[app], partial(_swapped, old=item, new=spaced))  # fmt: skip
                    add("trailing-whitespace", {**states, app: made}, f"{field} of what was added in {app} ends in a new line",
                        "whitespace after a text says nothing else")  # fmt: skip


def _added(state: Any) -> Iterator[dict[str, Any]]:
    """Yield the things that an app's differences call added or updated."""
    return _listed(state, "added", "updated")


def _listed(state: Any, *kinds: str) -> Iterator[dict[str, Any]]:
    shown = [state.get("differences", {})] + [
        {name: part} for name, part in state.items() if name.endswith("Diff")
    ]
    for collection in (part for parts in shown if isinstance(parts, dict) for part in parts.values()):  # fmt: skip
        if isinstance(collection, dict):
            for name in kinds:
                things = collection.get(name, ())
                things = things.values() if isinstance(things, dict) else things
                yield from (each for each in things if isinstance(each, dict))


def _outside(state: dict[str, Any], edit: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a state edited everywhere except in its initial state and its actions."""
    return {
        name: part if name in _UNTOUCHED_PARTS else edit(copy.deepcopy(part))
        for name, part in state.items()
    }


def _swapped(value: Any, old: Any, new: Any) -> Any:
    """Return `value` with `new` for each part that equals `old`; without them if `new` is None."""
    if value == old:
        return new
    if isinstance(value, list):
        swapped = [_swapped(each, old, new) for each in value]
        return [each for each, was in zip(swapped, value, strict=True) if each is not None or was is None]  # fmt: skip
    if isinstance(value, dict):
        parts = {name: _swapped(each, old, new) for name, each in value.items()}
        return {name: each for name, each in parts.items() if each is not None or value[name] is None}  # fmt: skip
    return value


def _doubled(value: Any, item: dict[str, Any]) -> Any:
    again = {**item, "id": f"{item['id']}-2"} if "id" in item else dict(item)
    if isinstance(value, list):
        more = [again] if item in value else []
        return [*(_doubled(each, item) for each in value), *more]
    if isinstance(value, dict):
        parts = {name: _doubled(each, item) for name, each in value.items()}
        return {**parts, "again": again} if item in value.values() else parts
    return value


def _holds(value: Any, text: str) -> bool:
    if isinstance(value, str):
        return text.casefold() in value.casefold()
    if isinstance(value, dict):
        value = list(value.values())
    return isinstance(value, list) and any(_holds(each, text) for each in value)


def _replaced(value: Any, text: str, other: str) -> Any:
    if isinstance(value, str):
        return re.sub(re.escape(text), lambda _: other, value, flags=re.IGNORECASE)
    if isinstance(value, list):
        return [_replaced(each, text, other) for each in value]
    if isinstance(value, dict):
        return {name: _replaced(each, text, other) for name, each in value.items()}
    return value


def _near_miss(text: str, draw: random.Random) -> str:
    """Return a text that differs in one number, or in one letter of one word."""
    if numbers := list(re.finditer(r"\d+", text)):
        one = draw.choice(numbers)
        return f"{text[: one.start()]}{int(one[0]) + 1}{text[one.end() :]}"
    places = [at for at, letter in enumerate(text) if letter.isalpha()]
    at = draw.choice(places or [0])
    return f"{text[:at]}{'q' if text[at] != 'q' else 'z'}{text[at + 1 :]}"


def _reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reordered(value[name]) for name in reversed(value)}
    return [_reordered(each) for each in value] if isinstance(value, list) else value


def _with_reads(state: dict[str, Any]) -> dict[str, Any]:
    history = state.get("actionhistory")
    if not isinstance(history, list) or not history:
        return state
    last = history[-1]
    more = {**last, "type": "router/locationChange", "index": len(history), "payload": {"location": {"pathname": "/"}}}  # fmt: skip
    return {**state, "actionhistory": [*history, more]}


def _with_strange(state: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(state)
    parts = [*made.get("differences", {}).values(), *(part for name, part in made.items() if name.endswith("Diff"))]  # fmt: skip
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("added"), list):
            part["added"].append(dict(_STRANGE))
        elif isinstance(part, dict) and isinstance(part.get("added"), dict):
            part["added"][_STRANGE["id"]] = dict(_STRANGE)
    return made


def known_states(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the end states in which tasks are done from a folder as `validate` reads it.

    Raises:
        InputError: The folder does not exist or holds none.
    """
    return {
        each.name: read_states(each.path).apps
        for each in find_truth(folder, negatives=False)
    }  # fmt: skip


def solved_states(tasks: Sequence[Task]) -> dict[str, Mapping[str, Any]]:
    """Do the built-in tasks in Chromium as their reference solutions say, and return the end states."""
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.environment import EnvironmentSettings
    from multireal_harness.world.launch import built_in_world

    spec = RunSpec(
        tasks=TaskFilter(), agent="scripted", workers=2, world="built-in",
        limits=Limits(max_steps=60, time_limit_s=120), timeouts=Timeouts(evaluation_grace_s=240),
        config={"solution": "good"},
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="multireal-checkers-") as made, built_in_world() as world:  # fmt: skip
        benchmark = MultiRealBenchmark(
            list(tasks), origins=world.urls, settings=EnvironmentSettings(track=False)
        )
        folder = Path(made) / "run"
        run_benchmark_sync(
            benchmark, spec, folder, run_environment=RunEnvironment(locks=NoLocks()), guard=True
        )
        run = read_run(folder)
        goals = {task.task_id: definition_of(task).id for task in tasks}
        found = {}
        for key, result in run.results.items():
            with trial_files(run, result) as kept:
                if (kept / FINISH_STATE).is_file():
                    found[goals[key.task_id]] = read_json(kept / FINISH_STATE)
        return found
