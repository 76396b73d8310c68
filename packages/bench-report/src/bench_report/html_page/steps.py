"""The steps of a trial as the page shows them: observations, actions and requests, both ends if long."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from bench_core.files import file_inside, open_inside
from bench_core.records import Step
from bench_report.html_page.model_calls import ShownCall
from bench_report.html_page.network_log import HarRequest
from bench_report.html_page.state_changes import StateChanges
from bench_report.html_page.step_actions import Box, described_actions, marks_of_step
from bench_report.run_data.artifacts import IMAGE_TYPES, TrialFolder, artifact_link
from bench_report.text.untrusted import clip, inline

_TRAJECTORY = "trajectory.jsonl"
_OBSERVATIONS = "observations.jsonl"
_TEXT = 4_000
_LINE = 500
_WORD = 120
_END_STEPS = 250
_LONGEST_LINE = 4 * 2**20
_MOST_BYTES = 2**30
_MOST_VIEWS = 32 * 2**20
_STEP_ELEMENTS = 60
_ALL_ELEMENTS = 400_000
_TABS = 12
_STEP_CALLS = 30
_TRIAL_CALLS = 300


class _Read(NamedTuple):
    """The steps at both ends of a trajectory, their number, and the fault of the file."""

    steps: list[Step]
    total: int
    problem: str | None = None


class StepReader:
    """Reads trajectories of a report.

    Args:
        picture: Turns a picture's file and its link into the source the page loads.
        elements: How many observed elements the page lists in all; beyond that only those acted on.
    """

    def __init__(
        self, picture: Callable[[Path, str], str], *, elements: int = _ALL_ELEMENTS
    ) -> None:
        self._picture = picture
        self._elements = elements

    def steps_of(
        self,
        folder: TrialFolder,
        calls: Sequence[HarRequest] = (),
        changes: StateChanges | None = None,
        model_calls: Sequence[ShownCall] = (),
    ) -> tuple[list[dict[str, Any]], str | None]:
        """Return the steps of a trial, and a note for the reader about those that are not shown."""
        read = _read(folder.path)
        views = _views(folder.path, {each.step for each in read.steps})
        during = _during(_spans(read.steps), calls, changes, model_calls)
        shown = [
            self._step(each, folder, views.get(each.step, {})) | during.get(each.step, {})
            for each in read.steps
        ]
        if not shown:  # agents that write down no steps
            shown = [
                {
                    "step": each.shown["call"],
                    "seconds": None,
                    "did": [],
                    "actions": [],
                    "results": [],
                    "model": [each.shown],
                }
                for each in model_calls
            ]
        if shown and changes is not None:
            shown[-1] |= _known(difference=changes.differences)
        notes = [read.problem] if read.problem else []
        if shown and read.total > 2 * _END_STEPS:
            shown[0]["of"] = read.total
            notes.append(
                f"Only the first and the last {_END_STEPS} of {read.total:,} steps are shown."
            )
        return shown, " ".join(notes) or None

    def _step(
        self,
        step: Step,
        folder: TrialFolder,
        view: dict[str, Any],
    ) -> dict[str, Any]:
        boxes, names, elements = self._seen(view)
        marks, elsewhere = marks_of_step(step.actions, step.results)
        found = {
            "step": step.step,
            "seconds": step.duration_s,
            "url": inline(step.url, _LINE) if step.url else None,
            "title": inline(step.title, _LINE) if step.title else None,
            "thought": clip(step.thought, _TEXT) if step.thought else None,
            "did": described_actions(step.actions, names),
            "actions": [clip(json.dumps(a, ensure_ascii=False), _TEXT) for a in step.actions],
            "results": [clip(each, _TEXT) for each in step.results],
            "error": clip(step.error, _TEXT) if step.error else None,
            "screenshot": self._screenshot(step, folder),
        }
        text = view.get("text")
        tabs = _list(view.get("tabs"))
        active = view.get("active_tab")
        front = tabs[active] if type(active) is int and 0 <= active < len(tabs) else None
        size = _list(view.get("size"))
        # no screen is larger
        is_size = len(size) == 2 and all(isinstance(n, int) and 0 < n < 100_000 for n in size)
        return found | _known(
            marks=[shown for each in marks if (shown := each.shown(boxes))],
            elsewhere=elsewhere,
            elements=elements,
            text=clip(text, _TEXT) if isinstance(text, str) else None,
            tabs=[inline(str(each), _WORD) for each in tabs[:_TABS]],
            front=inline(str(front), _WORD) if front is not None else None,
            size=size if is_size else None,
        )

    def _seen(
        self, view: dict[str, Any]
    ) -> tuple[dict[str, Box], dict[str, str], list[list[str | None]]]:
        """Return the boxes and names of elements, and the list of them to show."""
        boxes: dict[str, Box] = {}
        names: dict[str, str] = {}
        shown: list[list[str | None]] = []
        for each in _list(view.get("elements")):
            if not isinstance(each, dict):
                continue
            key = str(each.get("id", ""))
            role, name = str(each.get("role") or ""), str(each.get("name") or "")
            names[key] = name or role
            box = _list(each.get("rect"))
            if len(box) == 4 and all(isinstance(p, int | float) and abs(p) < 1e6 for p in box):
                boxes[key] = (box[0], box[1], box[2], box[3])
            if len(shown) < min(_STEP_ELEMENTS, self._elements):
                value = each.get("value")
                words = (key, role, name, None if value is None else str(value))
                shown.append([None if word is None else inline(word, _WORD) for word in words])
        self._elements -= len(shown)
        return boxes, names, shown

    def _screenshot(self, step: Step, folder: TrialFolder) -> str | None:
        if step.screenshot is None:
            return None
        file = folder.path / step.screenshot
        there = file_inside(folder.path, step.screenshot) or folder.links(step.screenshot)
        if file.suffix.lower() not in IMAGE_TYPES or not there:
            return None
        return self._picture(file, artifact_link(folder.href, step.screenshot))


def _read(folder: Path) -> _Read:
    """Read both ends of a trajectory; the lines between are counted only, as there may be a million."""
    try:
        size = (folder / _TRAJECTORY).lstat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return _Read([], 0)
    if not file_inside(folder, _TRAJECTORY):
        return _Read([], 0, "The trajectory is no plain file of a usual size, and was not opened.")
    if size > _MOST_BYTES:
        return _Read([], 0, f"The trajectory has {size / 2**20:,.0f} MB, too much to show here.")
    head: list[tuple[int, bytes]] = []
    tail: deque[tuple[int, bytes]] = deque(maxlen=_END_STEPS)
    total = 0
    for total, line in _lines(folder, _TRAJECTORY):
        (head if len(head) < _END_STEPS else tail).append((total, line))
    read = [(number, line, _parsed(line)) for number, line in (*head, *tail) if line.strip()]
    bad = next((each for each in read if isinstance(each[2], str)), None)
    problem = None
    if bad is not None:
        torn = bad[0] == total and not bad[1].endswith(b"\n")
        kind = "was cut short" if torn else "is damaged"
        problem = f"Line {bad[0]} of trajectory.jsonl {kind}: {clip(str(bad[2]), _LINE)}."
    return _Read([each for *_, each in read if isinstance(each, Step)], total, problem)


def _parsed(line: bytes) -> Step | str:
    """Return a step, or why the line is none."""
    try:
        return Step.model_validate_json(line)
    except ValidationError as error:
        return str(error.errors(include_url=False)[0]["msg"])


def _lines(folder: Path, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; of one that has no end in sight, its first part."""
    with open_inside(folder, name) as file:
        number = 0
        while line := file.readline(_LONGEST_LINE):
            number += 1
            yield number, line
            while len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(_LONGEST_LINE)


def _views(folder: Path, wanted: set[int]) -> dict[int, dict[str, Any]]:
    """Return the observations of these steps as they stand in the file, leniently."""
    found: dict[int, dict[str, Any]] = {}
    try:
        size = (folder / _OBSERVATIONS).lstat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return found
    if size > _MOST_VIEWS or not file_inside(folder, _OBSERVATIONS):
        return found
    for _, line in _lines(folder, _OBSERVATIONS):
        try:
            view = from_json(line)
        except ValueError:
            continue
        if isinstance(view, dict) and view.get("step") in wanted:
            found[view["step"]] = view
    return found


class _Span(NamedTuple):
    """When a step and its consequences were: until the next one began."""

    step: int
    start: float
    end: float


def _spans(steps: Sequence[Step]) -> list[_Span]:
    """Return when the steps were, as far as they say so and the step after them is shown, too."""
    timed = [(each.started.timestamp(), each.step) for each in steps if each.started is not None]
    if not timed:
        return []
    ends = [*(start for start, _ in timed[1:]), float("inf")]
    return [
        _Span(step, start, end)
        for (start, step), end, (here, after) in zip(
            timed, ends, pairwise([*(s for _, s in timed), timed[-1][1] + 1]), strict=True
        )
        if after
        == here + 1  # between the two ends of a long trajectory are steps that are not shown
    ]


def _during(
    spans: Sequence[_Span],
    calls: Sequence[HarRequest],
    changes: StateChanges | None,
    model_calls: Sequence[ShownCall],
) -> dict[int, dict[str, Any]]:
    """Give requests, changes of apps and calls of the model to the step during which they began."""
    found: dict[int, dict[str, Any]] = {}
    left = _TRIAL_CALLS
    for step, start, end in spans:
        sent = [each for each in calls if each.sent is not None and start <= each.sent < end]
        sent.sort(key=lambda each: each.weight)  # stable: first changes and failures, then pages
        kept = sorted(sent[: min(_STEP_CALLS, left)], key=lambda each: each.sent or 0.0)
        left -= len(kept)
        changed = [c for c in (changes.changes if changes else ()) if start <= c.at < end]
        found.setdefault(step, {}).update(
            _known(
                requests=[[each.status, each.method, each.url, each.ms] for each in kept],
                changed=[[each.app, each.kind, each.payload] for each in changed],
                model=[each.shown for each in model_calls if start <= each.began < end],
            )
        )
    return found


def _known(**values: Any) -> dict[str, Any]:
    """Return what is there of these; a hundred thousand trials have many steps, and most lack most."""
    return {name: value for name, value in values.items() if value}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
