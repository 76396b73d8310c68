"""End states of tasks as their evaluators see them: done right, done differently, and not done.

`end_states.json` gives, by task, metric or getter, the state of a VM before and after the right work, and the
changes that make it wrong; `$name` stands for a value from the task's evaluator. Faults of a file, a setting, a
table or a text are the same for all tasks; this module makes them, worded as in `words`.
"""

from __future__ import annotations

import copy
import functools
import json
import ntpath
import random
import re
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from importlib import resources
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from bench_core.checkers import Mutant, NoMutantsError, Verdict
from bench_core.records import SUCCESS_SCORE, Task
from waa_server_ext.built_in.state_files import content_of, file_of
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture.machine import FixtureMachine
from waa_server_ext.fixture.routes import make_vm_app
from waa_server_ext.native.evaluator import NativeEvaluator, VmConnections
from waa_server_ext.vm.client import VmResponse
from waa_server_ext.vm.state import VmState

__all__ = ["end_states", "judge_end_state"]

State = dict[str, Any]

_BYSTANDER = r"C:\Users\Docker\Music\letter to the landlord.txt"
_GOING = r"\b(?:delet|remov|clear|clean|trash|get rid|getting rid|uninstall|music)"
_COMMENTED = ("settings.json", "keybindings.json")
"""Files in which VS Code reads comments."""


def end_states(task: Task, draw: random.Random) -> list[Mutant]:
    """Return end states of a task; `draw` chooses which of several places in a file is changed.

    Raises:
        NoMutantsError: No right end state is described; the message says why.
    """
    evaluator: Any = task.config["evaluator"]
    result, expected = _first(evaluator.get("result")), _first(evaluator.get("expected"))
    stem = task.task_id.rpartition("/")[2]
    keys = (stem, stem[:8], str(_first(evaluator["func"])), str(result.get("type")))
    found = next((each for key in keys if (each := _described().get(key))), {"none": f"no end state for its getter {keys[-1]} is described"})  # fmt: skip
    if "none" in found:
        raise NoMutantsError(found["none"])
    now = datetime.now()  # noqa: DTZ005  # the evaluator's clock
    days = {f"in_{n}_days": f"{now + timedelta(n - now.weekday()):%Y-%m-%d}" for n in (7, 8)}
    known = {**days, "file": result.get("path", ""), **result, **expected.get("rules", {})}
    made = _Made(task, _filled({"file": known["file"], **found}, known), draw)
    if evaluator["func"] == "infeasible":
        made.infeasible()
    else:
        made.whole()
        made.elsewhere()
        made.of_content()
    return made.found


def judge_end_state(task: Task, mutant: Mutant) -> tuple[bool | None, str | None]:
    """Return whether the task's evaluator gives the full score for an end state, and its reason."""
    end, reference, history = mutant.material
    state = {**end, "files": {path: file_of(each) for path, each in end.get("files", {}).items()}}
    if "wallpaper" in end:
        state["wallpaper_b64"] = file_of(state.pop("wallpaper"))["b64"]
    vm = _InProcess(VmState.load(state))
    reached = VmConnections(vm, lambda _: content_of(reference), replayed=True)
    with tempfile.TemporaryDirectory(prefix="waa-end-state-") as cache:
        settings = EvaluatorSettings(cache=Path(cache), offline=True, skip_sleeps=True)
        verdict = NativeEvaluator(settings).evaluate_in(task.config, history, reached)
    return (None if verdict.score is None else verdict.score >= SUCCESS_SCORE), verdict.reason


class _InProcess:
    """A fixture's routes without a socket: stopping its server would take longer than all the questions."""

    vm = "127.0.0.1:5000"

    def __init__(self, state: VmState) -> None:
        self._client, kept = _routes()
        vars(kept).update(vars(FixtureMachine(state)))

    def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> VmResponse:
        return _answer(self._client.get(path, query_string=params))

    def post(self, path: str, *, json: Any = None, form: Any = None, **_: Any) -> VmResponse:
        return _answer(self._client.post(path, json=json, data=form))


@functools.cache
def _routes() -> tuple[FlaskClient, FixtureMachine]:
    """Make the routes once, which takes as long as an evaluation; only their machine changes."""
    machine = FixtureMachine(VmState())
    return make_vm_app(machine).test_client(), machine


def _answer(given: TestResponse) -> VmResponse:
    return VmResponse(given.status_code, given.data, given.content_type)


@functools.cache
def _described() -> Mapping[str, Any]:
    file = resources.files("waa_server_ext.built_in").joinpath("end_states.json")
    held: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
    return held


def _first(value: Any) -> Any:
    return (value[0] if isinstance(value, list) else value) or {}


def _filled(value: Any, known: Mapping[str, Any]) -> Any:
    """Replace `$name` by its value: with its type if it stands alone, as text within a text."""
    if isinstance(value, dict):
        return {_filled(name, known): _filled(each, known) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, known) for each in value]
    if isinstance(value, str):
        if value[:1] == "$" and value[1:] in known:
            return known[value[1:]]
        return re.sub(r"\$(\w+)", lambda name: str(known.get(name[1], name[0])), value)
    return value


class _Made:
    """The end states of one task."""

    def __init__(self, task: Task, entry: Mapping[str, Any], draw: random.Random) -> None:
        self.found: list[Mutant] = []
        self._task, self._entry, self._draw = task, entry, draw
        self._path = str(entry["file"])
        self._before, self._right = self._state(entry["before"]), self._state(entry["right"])
        self._content = self._right.get("files", {}).get(self._path)

    def infeasible(self) -> None:
        """Add the end states of a task that cannot be done."""
        self._say("infeasible.given-up", {}, history=("FAIL",))
        self._say("infeasible.nothing-done", {}, history=())
        self._say("infeasible.only-claimed", {})
        self._say("infeasible.given-up-unseen", {}, history=("FAIL",))

    def whole(self) -> None:
        """Add states that differ in whether the task was done at all, and those described for this task."""
        compared = "reference" in self._entry
        self._say("compared.as-done" if compared else "as-done", self._right)
        for operator, history in (("nothing-done", ()), ("only-claimed", ("DONE",)), ("given-up", ("FAIL",))):  # fmt: skip
            self._say(operator, self._before, history=history, doubt=self._entry.get("idle"))
        held = {**self._before.get("files", {}), _BYSTANDER: "Please mend the tap."}
        going = re.search(_GOING, self._task.goal, re.IGNORECASE)
        doubt = f"the task speaks of {going[0]!r}: something may have to go" if going else None
        self._say("unrelated-deletion", self._right, doubt=doubt, before={**self._before, "files": held}, path=_BYSTANDER)  # fmt: skip
        for operator, verdict, change, why, state, *start in self._entry.get("changes", ()):
            before = self._state(start[0]) if start else None
            self._add(operator, verdict, change, why, self._state(state), before=before)

    def elsewhere(self) -> None:
        """Add states with the right file in a wrong place, and none in the right one."""
        if self._content is None:
            return
        folder, name = ntpath.split(self._path.replace("/", "\\"))
        stem, suffix = ntpath.splitext(name)
        held, goal = self._before.get("files", {}), self._task.goal.casefold()
        for operator, said, path in (
            ("other-folder", ntpath.basename(folder), rf"C:\Users\Docker\Videos\{name}"),
            ("other-name", stem, rf"{folder}\{stem} (1){suffix}"),
            ("other-format", stem, rf"{folder}\{name}.bak"),
        ):
            doubt = None if said.casefold() in goal else "the task does not say which"
            state = {**self._right, "files": {**held, path: self._content}}
            self._say(operator, state, doubt=doubt, path=path, file=self._path)
        if not self._entry.get("may_be_empty"):
            self._say("empty-file", self._with(""), file=self._path)

    def of_content(self) -> None:
        """Add states with faults or harmless differences in the file's content."""
        content = self._content
        if isinstance(content, str) and "text" in self._entry:
            self._of_text(content)
        elif isinstance(content, dict) and "json" in content:
            self._of_json(content["json"])
        elif isinstance(content, dict) and "xlsx" in content:
            for name, rows in content["xlsx"].items():
                self._of_sheet(content, name, rows)

    def _of_text(self, text: str) -> None:
        if numbers := list(re.finditer(r"\d+", text)):
            one = self._draw.choice(numbers)
            for other in (int(one[0]) + 1, f"1{one[0]}"):
                changed = f"{text[: one.start()]}{other}{text[one.end() :]}"
                self._say("text.wrong-number", self._with(changed), new=other, old=one[0])
        if places := [at for at, letter in enumerate(text) if letter.isalpha()]:
            at = self._draw.choice(places)
            other = "q" if text[at] != "q" else "z"
            changed = f"{text[:at]}{other}{text[at + 1 :]}"
            self._say("text.wrong-letter", self._with(changed), new=other, old=text[at])
        self._say("text.superset", self._with(f"{text}\nand something else"))
        self._say("text.subset", self._with(text[: len(text) // 2]))
        self._say("text.byte-order-mark", self._with({"bom": text}))
        self._say("text.final-newline", self._with(f"{text}\n"))
        if "\n" in text:
            self._say("text.line-ends", self._with(text.replace("\n", "\r\n")))

    def _of_json(self, value: Any) -> None:
        if isinstance(value, dict):
            for at, held in _leaves(value):
                name = ".".join(at)
                if name in self._entry.get("default", ()):
                    continue
                self._say("json.field-missing", self._with({"json": _put(value, at, None)}), name=name)  # fmt: skip
                new = _near(held, self._entry.get("others", {}))
                if new is not None:
                    changed = self._with({"json": _put(value, at, new)})
                    self._say("json.field-wrong", changed, name=name, new=repr(new), old=repr(held))
            own = self._entry.get("kept", {"editor.fontSize": 15})
            if own:
                start = self._before["files"][self._path]["json"]
                before = self._with({"json": {**start, **own}})
                kept = {**value, **own}
                turned = dict(reversed(kept.items()))
                self._say("json.other-settings", self._with({"json": kept}), before=before)
                self._say("json.other-order", self._with({"json": turned}), before=before)
        if ntpath.basename(self._path) in _COMMENTED:
            text = json.dumps(value, indent=4)
            self._say("json.indentation", self._with(text))
            self._say("json.with-comment", self._with(text.replace("{", "{\n    // mine", 1)))

    def _of_sheet(self, content: State, name: str, rows: list[Any]) -> None:
        at = self._draw.randrange(1, len(rows))
        *others, held = rows[at]
        cell = f"{chr(65 + len(others))}{at + 1} of {name}"
        for operator, row in (
            ("field-wrong", [*others, held + 1]),
            ("field-missing", [*others, None]),
            ("number-as-text", [*others, str(held)]),
        ):
            changed = {**content["xlsx"], name: [*rows[:at], row, *rows[at + 1 :]]}
            end = self._with({**content, "xlsx": changed})
            self._say(f"sheet.{operator}", end, cell=cell, new=repr(row[-1]), old=repr(held))
        for operator, many in (
            ("subset", rows[:-1]),
            ("superset", [*rows, ["More", *[9] * len(others)]]),
        ):
            changed = {**content["xlsx"], name: many}
            self._say(f"sheet.{operator}", self._with({**content, "xlsx": changed}), name=name)

    def _state(self, described: Any) -> State:
        """Return a state; one with `content` has only the task's file."""
        state = dict(described)
        if "content" in state and (content := state.pop("content")) is not None:
            state["files"] = {self._path: content}
        return state

    def _with(self, content: Any) -> State:
        """Return the right state with another content of the task's file."""
        return {**self._right, "files": {**self._right["files"], self._path: content}}

    def _say(
        self,
        name: str,
        end: State,
        /,
        *,
        history: tuple[str, ...] = ("DONE",),
        doubt: str | None = None,
        before: State | None = None,
        **values: Any,
    ) -> None:
        """Add an end state, worded by its name; one in doubt is not counted."""
        verdict, change, why = _filled(_described()["words"][name], values)
        if doubt is not None:
            verdict, why = "unknown", doubt
        self._add(name.rpartition(".")[2], verdict, change, why, end, history, before)

    def _add(
        self,
        operator: str,
        verdict: Verdict,
        change: str,
        why: str,
        end: State,
        history: tuple[str, ...] = ("DONE",),
        before: State | None = None,
    ) -> None:
        reference = self._entry.get("reference")
        shown = (
            {}
            if reference is None
            else {"reference, which stands for the benchmark's own": reference}
        )
        self.found.append(
            Mutant(
                task_id=self._task.task_id,
                operator=operator,
                number=1 + sum(each.operator == operator for each in self.found),
                verdict=verdict,
                change=change,
                why=why,
                evidence={
                    "before": before or self._before,
                    "at the end": end,
                    "the agent ends with": " ".join(history),
                    **shown,
                },
                material=(end, reference, history),
            )
        )


def _leaves(
    value: Mapping[str, Any], at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, each in value.items():
        if isinstance(each, dict):
            yield from _leaves(each, (*at, name))
        else:
            yield (*at, name), each


def _put(value: Mapping[str, Any], at: tuple[str, ...], new: Any) -> dict[str, Any]:
    """Return `value` with one leaf replaced, or removed if `new` is None."""
    made = copy.deepcopy(dict(value))
    held = functools.reduce(lambda part, name: part[name], at[:-1], made)
    held[at[-1]] = new
    if new is None:
        del held[at[-1]]
    return made


def _near(value: Any, others: Mapping[str, Any]) -> Any:
    """Return a value close to this one; None if none is known."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else others.get(str(value))
