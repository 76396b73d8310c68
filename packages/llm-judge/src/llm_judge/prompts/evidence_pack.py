"""Choose the evidence to show from a state: all of it if it fits a budget of characters, else the relevant parts.

A large state is shown in this order: the run's changes in each app, with the lists and records that the criteria
mention; copies once; ranked by the words they share with goal and criteria; each app with its share of the room; then
a note on the parts left out.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field, NonNegativeInt

from bench_core.errors import InputError
from bench_core.records import Record
from bench_core.records.judge import Criterion
from llm_judge.prompts.evidence_writer import EvidenceWriter
from llm_judge.prompts.keywords import keywords, relevance, spelled
from llm_judge.states.effects import Effect, app_effects, compact, records_of
from llm_judge.states.paths import find_paths
from llm_judge.states.pointers import MISSING, child, nearest, resolve
from llm_judge.states.snapshots import App, find_apps, identical_apps

DEFAULT_CHARS = 40_000
"""About ten thousand tokens, which mostly hold a run's changes to a state of some megabytes."""
LEAST_CHARS = 1_000

# shares of the budget, so that no kind of line can fill it alone
_NAMED_SHARE = 0.2
_ASKED_SHARE = 0.6
_ASKED_BONUS = 2.0  # above any relevance, which is at most 1
_EMPTY_SHARE = 0.05
_ACTION_SHARE = 0.06
_NOTE = 400  # characters kept for the note on what was left out
_MISFITS = 300
"""After so many records in a row that did not fit, the pack counts as full."""
_ACTION_CHARS = 300
_LAST_ACTIONS = 12
_EMPTY_DEPTH = 3
_DEEPEST = 100
_LIST_SHARE = 0.25
_LEAST_NAME = 4  # shorter names of lists are parts of too many words
_INTERFACE_KEYS = ("/router", "/_persist", "/ui/", "/config/", "/loading", "/errors", "imageurl")
_AGENT_TEXT_KEYS = (
    "answer", "conclusion", "evaluation", "memory", "message", "plan", "rationale", "reason",
    "reflection", "result", "summary", "think", "thought",  # the agent's statements about itself
    "description", "formatted", "index", "timestamp",  # fields that the recorder adds
)  # fmt: skip


class PackedLine(Record):
    """The subject of one line of evidence; `copies` are other places with the same value."""

    kind: Literal[
        "added",
        "removed",
        "changed",
        "listed",
        "present",
        "there",
        "missing",
        "empty",
        "action",
        "identical",
    ]
    pointer: str
    copies: tuple[str, ...] = ()
    app: str = ""


class EvidencePack(Record):
    """The evidence from a state that a model is shown.

    Attributes:
        text: One JSON object per line, ASCII.
        lines: The subjects of the lines, in the same order; a last line of the text may state the parts left out.
        records: Records the run changed, as far as the state shows.
        omitted: How many of them did not fit, by app.
        omitted_pointers: Places of the first of those.
        recorded: For each app, whether the state shows the run's changes in it.
        whole: Whether the text shows the entire end state.
    """

    schema_version: Literal[1] = 1
    text: str
    lines: tuple[PackedLine, ...] = ()
    chars: NonNegativeInt
    records: NonNegativeInt = 0
    omitted: dict[str, NonNegativeInt] = Field(default_factory=dict)
    omitted_pointers: tuple[str, ...] = ()
    recorded: dict[str, bool] = Field(default_factory=dict)
    whole: bool = False


def pack(
    state: Any,
    goal: str = "",
    criteria: Sequence[Criterion | str] = (),
    *,
    initial: Any = None,
    actions: Sequence[Any] = (),
    chars: int = DEFAULT_CHARS,
) -> EvidencePack:
    """Choose the evidence to show from `state`; no model is needed.

    Args:
        state: The end state, any JSON.
        goal: The agent's task; records that share words with it come first.
        criteria: The criteria to ask about; places they name are shown even if nothing changed there.
        initial: The state before the run, if `state` does not contain it.
        actions: The agent's actions, oldest first; the last ones are shown, without its reasoning.
        chars: Maximum length of the text.

    Raises:
        InputError: The budget is too small or the state is nested too deeply.

    >>> shown = pack({"cart": {"before": {"items": []}, "after": {"items": [{"id": 1, "qty": 2}]}}})
    >>> print(shown.text)
    {"n":1,"at":"/cart/after/items/0","is":"added","value":{"id":1,"qty":2}}
    {"whole":true}
    """
    if chars < LEAST_CHARS:
        raise InputError(f"a budget of {chars} characters shows nothing: use {LEAST_CHARS} or more")
    asked = [
        Criterion(id=f"c{number}", text=each) if isinstance(each, str) else each
        for number, each in enumerate(criteria, 1)
    ]
    if state is None:  # then only actions or pictures can be shown
        draft = _Draft(EvidenceWriter(chars - _NOTE), {})
        _write_actions(draft, (), actions)
        return draft.finish(chars)
    try:
        apps = find_apps(state, initial)
        recorded = {app.name: app.recorded for app in apps}
        roots = [app.pointer for app in apps] + [part.pointer for app in apps for part in app.after]
        if len(compact(state)) <= chars:
            draft = _Draft(EvidenceWriter(chars - _NOTE, likeness=False), recorded)
            _write_identical(draft, apps)
            _write_named(draft, state, find_paths(state, asked, roots))
            if _write_whole(draft, apps):
                _write_actions(draft, apps, actions)
                return draft.finish(chars, whole=True)
        draft = _Draft(EvidenceWriter(chars - _NOTE), recorded)
        named = (*find_paths(state, asked, roots), *_spoken_of(apps, asked, chars * _LIST_SHARE))
        _write_identical(draft, apps)
        _write_named(draft, state, named)
        _write_empty(draft, apps)
        _write_actions(draft, apps, actions)
        wanted = keywords(goal, *(each.text for each in asked))
        _write_effects(draft, apps, wanted, _of_named(state, named, apps))
        _write_rest(draft, apps, keywords(*(each.text for each in asked)))
    except RecursionError as error:
        raise InputError("the state is nested too deeply to be shown") from error
    return draft.finish(chars)


@dataclass
class _Draft:
    writer: EvidenceWriter
    recorded: dict[str, bool]
    records: int = 0
    omitted: list[Effect] = field(default_factory=list)

    def finish(self, chars: int, *, whole: bool = False) -> EvidencePack:
        counts = Counter(each.app for each in self.omitted)
        text = self.writer.text()
        if whole:
            text = f"{text}\n{compact({'whole': True})}".lstrip()
        if self.omitted:
            names = dict(itertools.islice(((k[:40], n) for k, n in counts.items()), 8))
            note = compact({"left_out": names, "reason": "no room"})
            text = f"{text}\n{note[: _NOTE - 1]}" if text else note
        return EvidencePack(
            text=text,
            lines=tuple(
                PackedLine(
                    kind=each.kind, pointer=each.pointer, copies=tuple(each.copies), app=each.app
                )
                for each in self.writer.lines
            ),
            chars=chars,
            records=self.records,
            omitted=dict(counts),
            omitted_pointers=tuple(each.pointer for each in self.omitted[:20]),
            recorded=self.recorded,
            whole=whole,
        )


def _write_identical(draft: _Draft, apps: Sequence[App]) -> None:
    for pair in identical_apps(apps):
        draft.writer.write("identical", "", "", {"is": "identical", "apps": pair})


def _write_whole(draft: _Draft, apps: Sequence[App]) -> bool:
    """Show all changes and the entire end state; return False if that is too much."""
    shown: set[str] = set()
    for app in apps:
        for effect in app_effects(app):
            if not draft.writer.add(effect):
                return False
            draft.records += 1
            shown.update(_places(effect) if effect.kind not in {"removed", "changed"} else ())
    for app in apps:
        for part in app.after:
            for record in records_of(app.name, "there", part.pointer, part.value):
                if not shown.issuperset(_places(record)) and not draft.writer.add(record):
                    return False
        empty = [
            pointer
            for part in (*app.changes, *app.after)
            for pointer in _empties(part.value, part.pointer, 0, _DEEPEST)
        ]
        shown_empty = {"is": "empty", "at": empty}
        if empty and not draft.writer.write("empty", app.pointer, app.name, shown_empty):
            return False
    return True


def _spoken_of(apps: Sequence[App], asked: Sequence[Criterion], room: float) -> list[str]:
    """Return the small lists that criteria name, in singular or plural: `all` and `none` need them whole."""
    spoken = {_singular(word) for each in asked for word in spelled(each.text).split()}
    found = []
    for app in apps:
        for part in app.after[:1]:
            for pointer, value in _collections(part.value, part.pointer, 0):
                name = _singular(spelled(pointer.rpartition("/")[2]).rpartition(" ")[2])
                if len(name) >= _LEAST_NAME and name in spoken and len(compact(value)) <= room:
                    found.append(pointer)
    return found


def _collections(value: Any, pointer: str, depth: int) -> Iterator[tuple[str, Any]]:
    for key, each in value.items() if isinstance(value, dict) and depth <= _EMPTY_DEPTH else ():
        if isinstance(each, dict | list) and each:
            yield child(pointer, key), each
            yield from _collections(each, child(pointer, key), depth + 1)


def _singular(word: str) -> str:
    return word.removesuffix("s") if not word.endswith("ss") else word


def _write_named(draft: _Draft, state: Any, named: Sequence[str]) -> None:
    """Show the places named by criteria at which there is nothing, or something empty."""
    limit = draft.writer.chars * _NAMED_SHARE
    for pointer in named:
        value = resolve(state, pointer)
        if value is MISSING:
            reached, there = nearest(state, pointer)
            shown = {"at": pointer, "is": "missing", "nearest": reached, "holds": _members(there)}
        elif value in ({}, []):
            shown = {"at": pointer, "is": "there", "value": value}
        else:
            continue
        if draft.writer.used + len(compact(shown)) <= limit:
            draft.writer.write("missing" if value is MISSING else "there", pointer, "", shown)


def _members(value: Any) -> Any:
    if isinstance(value, dict):
        return {"keys": [str(key)[:60] for key in itertools.islice(value, 20)], "of": len(value)}
    if isinstance(value, list):
        return {"elements": len(value)}
    return value if not isinstance(value, str) else value[:200]


def _write_empty(draft: _Draft, apps: Sequence[App]) -> None:
    """Name empty collections, as emptiness is evidence, too."""
    limit = draft.writer.chars * _EMPTY_SHARE
    for app in apps:
        found: list[str] = []
        size = 0
        for part in (*app.changes, *app.after[:1]):
            for pointer in _empties(part.value, part.pointer, 0, _EMPTY_DEPTH):
                size += len(pointer) + 3
                if size <= limit / len(apps) - 40:
                    found.append(pointer)
        if found:
            draft.writer.write("empty", app.pointer, app.name, {"is": "empty", "at": found})


def _empties(value: Any, pointer: str, depth: int, deepest: int) -> Iterator[str]:
    if value in ({}, []) and depth:
        yield pointer
    elif isinstance(value, dict) and depth <= deepest:
        for key, each in value.items():
            if isinstance(each, dict | list):
                yield from _empties(each, child(pointer, key), depth + 1, deepest)


def _write_actions(draft: _Draft, apps: Sequence[App], actions: Sequence[Any]) -> None:
    """Show the last actions: the agent's, or else those that the apps recorded."""
    limit = draft.writer.used + draft.writer.chars * (_ACTION_SHARE if apps else 1)
    sources = [("/actions", list(actions))] if actions else [
        (part.pointer, part.value) for app in apps for part in app.actions
        if isinstance(part.value, list)
    ]  # fmt: skip
    share = max(1, _LAST_ACTIONS // max(1, len(sources))) if apps else len(actions)
    for pointer, done in sources:
        for number in range(max(0, len(done) - share), len(done)):
            where = child(pointer, number)
            did = _without_thoughts(done[number])
            text = compact(did)
            did = did if len(text) <= _ACTION_CHARS else text[:_ACTION_CHARS]
            shown = {"is": "action", "at": where, "did": did}
            if draft.writer.used + len(compact(shown)) <= limit:
                draft.writer.write("action", where, "", shown)


def _without_thoughts(action: Any) -> Any:
    """Drop the agent's own account: rewriting it alone turned up to 90 points of fails into passes (arXiv 2601.14691)."""
    if isinstance(action, dict):
        return {
            key: _without_thoughts(value)
            for key, value in action.items()
            if not any(each in str(key).lower() for each in _AGENT_TEXT_KEYS)
        }
    if isinstance(action, list):
        return [_without_thoughts(each) for each in action]
    return action


def _of_named(state: Any, named: Sequence[str], apps: Sequence[App]) -> list[Effect]:
    """Return the values at places that criteria name, whether or not the run changed them."""
    found: list[Effect] = []
    for pointer in named:
        value = resolve(state, pointer)
        if value is not MISSING and value not in ({}, []):
            holding = [app for app in apps if f"{pointer}/".startswith(f"{app.pointer}/")]
            app = max(holding, key=lambda each: len(each.pointer)).name if holding else apps[0].name
            found += records_of(app, "there", pointer, value)
    return found


def _write_effects(
    draft: _Draft, apps: Sequence[App], wanted: Sequence[str], named: Sequence[Effect]
) -> None:
    """Write the most relevant record of the app that has used the least room, until none fits."""
    effects = [effect for app in apps for effect in app_effects(app)]
    if named:
        changed = {place for each in effects if each.kind != "removed" for place in _places(each)}
        effects += [each for each in named if not changed.issuperset(_places(each))]
    draft.records = len(effects)
    scores = _scores(effects, wanted)
    preferred = _preferred(effects, scores, named, draft.writer.chars * _ASKED_SHARE)
    queues: dict[str, list[tuple[float, int, Effect]]] = {app.name: [] for app in apps}
    for number, (effect, score) in enumerate(zip(effects, scores, strict=True)):
        queues[effect.app].append((-score - (number in preferred) * _ASKED_BONUS, number, effect))
    draft.omitted += _fill(draft.writer, queues)


def _places(effect: Effect) -> list[str]:
    return [effect.pointer + relative for relative, _ in effect.leaves]


def _preferred(
    effects: Sequence[Effect], scores: Sequence[float], named: Sequence[Effect], room: float
) -> set[int]:
    """Return the records that criteria ask about, which come first, the most relevant first."""
    found: set[int] = set()
    if not named:
        return found
    asked = {place for each in named for place in _places(each)}
    for number in sorted(range(len(effects)), key=lambda n: -scores[n]):
        if not asked.isdisjoint(_places(effects[number])):
            room -= len(effects[number].text)
            if room < 0:
                break
            found.add(number)
    return found


def _write_rest(draft: _Draft, apps: Sequence[App], asked: Sequence[str]) -> None:
    """Show unchanged records in the remaining room, first those with words of the criteria.

    In an app without any change, every record may matter: the app may have been reloaded.
    """
    shown = {line.pointer for line in draft.writer.lines}
    queues: dict[str, list[tuple[float, int, Effect]]] = {}
    for app in apps:
        if app.before is None or not app.after:
            continue
        untouched = not any(True for _ in app_effects(app))
        part = app.after[0]
        records = [
            each
            for each in records_of(app.name, "there", part.pointer, part.value)
            if each.pointer not in shown
        ]
        scored = zip(_scores(records, asked), itertools.count(), records, strict=False)
        queues[app.name] = [
            (-score, number, record) for score, number, record in scored if untouched or score > 0
        ]
    _fill(draft.writer, queues)


def _fill(
    writer: EvidenceWriter, queues: dict[str, list[tuple[float, int, Effect]]]
) -> list[Effect]:
    """Write records of the apps in turn, so that one large app cannot crowd out the others; return the rest."""
    omitted = []
    taken = dict.fromkeys(queues, 0)
    for queue in queues.values():
        heapq.heapify(queue)
    misfits = 0
    while any(queues.values()) and misfits < _MISFITS:
        name = min((name for name, queue in queues.items() if queue), key=taken.__getitem__)
        effect = heapq.heappop(queues[name])[2]
        before = writer.used
        if writer.add(effect):
            taken[name] += writer.used - before
            misfits = 0
        else:
            omitted.append(effect)
            misfits += 1
    return omitted + [each[2] for queue in queues.values() for each in sorted(queue)]


def _scores(effects: Sequence[Effect], wanted: Sequence[str]) -> list[float]:
    texts = [f"{effect.pointer} {effect.text}" for effect in effects]
    found = relevance(texts, wanted)
    return [score - _handicap(effect) for effect, score in zip(effects, found, strict=True)]


def _handicap(effect: Effect) -> float:
    """Show state of the interface last, but do not leave it out: an app may keep records there."""
    lowered = f"{effect.pointer.lower()}/"
    interface = any(each in lowered for each in _INTERFACE_KEYS)
    # a catalogue that was unloaded: large, and seldom what was asked for
    unloaded = effect.kind == "removed" and effect.first_row is not None
    return interface * 1.0 + unloaded * 1.0 + (effect.kind == "listed") * 0.2
