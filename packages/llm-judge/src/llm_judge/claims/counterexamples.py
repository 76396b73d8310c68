"""End states on which a claim and another rule for the same criterion, such as a query, differ."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bench_core.records.claims import Claim
from bench_core.records.judge import Counterexample, JudgeCase
from bench_core.seeded import seeded
from llm_judge.claims.decisions import ClaimFile
from llm_judge.claims.evaluation import States, states_of
from llm_judge.claims.mutated_states import mutated
from llm_judge.claims.witnesses import append, without
from llm_judge.states.mutations import Leaf, changed_leaves, likeness, replaced, value_at
from llm_judge.states.pointers import MISSING, child, tokens
from llm_judge.states.snapshots import find_apps

Path = tuple[str | int, ...]
_DIGITS = re.compile(r"\d+")
_Edit = tuple[Path, Any, Any]


def counterexamples(
    claims: ClaimFile, case: JudgeCase, state: Any, rules: Mapping[str, Callable[[Any], bool]]
) -> Iterator[Counterexample]:
    """Yield the smallest change after which a claim and the rule of its criterion differ, one per criterion.

    Args:
        claims: Those that decide are compared; see `ClaimFile`.
        case: Goal, criteria and setting.
        state: An end state; it is tried as it is and with one or two places changed.
        rules: Whether an end state meets a criterion, by the criterion's id.
    """
    base = states_of(state, case.initial_state)
    document = _Document(state, case.initial_state, base)
    for claim, truth_of in claims.deciding(case):
        if (rule := rules.get(claim.criterion_id)) is None:
            continue
        for made in document.changed_for(claim):
            truth = truth_of(states_of(made.end, case.initial_state)).truth
            # a rule that knows the app's notation may refuse others, which the app never writes
            if truth is None or (truth and made.other_notation):
                continue
            met = rule(made.end)
            if met is not truth:
                yield Counterexample(
                    criterion_id=claim.criterion_id,
                    change=made.told,
                    claim=truth,
                    rule=met,
                    claim_by=claim.approved_by,
                    state=made.end,
                )
                break


class _Changed(NamedTuple):
    told: str
    end: Any
    other_notation: bool


class _Document:
    """An end state with all its copies of a value: in the state, and in the app's own lists of changes."""

    def __init__(self, state: Any, initial: Any, base: States) -> None:
        self.state, self.base = state, base
        apps = find_apps(state, initial)
        self.lists_changes = any(app.changes for app in apps)
        parts = [part for app in apps for part in (app.before, *app.actions) if part is not None]
        self.not_after = {part.pointer for part in parts} if initial is None else set()
        self.copies: dict[Any, list[Path]] = {}
        for leaf in changed_leaves(state, initial):
            self.copies.setdefault(likeness(leaf), []).append(leaf.path)

    @functools.cached_property
    def at_start(self) -> set[str]:
        return {json.dumps(each) for _, each in _objects(self.base.start, (), frozenset())}

    def changed_for(self, claim: Claim) -> Iterator[_Changed]:
        """Yield the document as it is, then changed at places that a claim reads; the smallest changes first."""
        chosen = seeded(0)
        tried = (each for _, each in mutated((claim,), [self.base], chosen))
        edits = [[*_edits(self.base.end, each.end)] for each in tried if each.start is self.base.start]  # fmt: skip
        for each in sorted(edits, key=len):
            if (made := self._changed_by(each)) is not None:
                yield made

    def _changed_by(self, edits: list[_Edit]) -> _Changed | None:
        """Return the document with edits of its end state; None if they cannot be made everywhere.

        If the app lists its changes, a record that the run did not make or change is left alone:
        the list would lack the change, and that would be the cause of any difference.
        """
        # paths are those of the unchanged document, so removals come last
        ordered = sorted(edits, key=lambda each: each[2] is MISSING)
        if sum(new is MISSING for _, _, new in edits) > 1:
            return None
        told, document = [], self.state
        for path, old, new in ordered:
            made = (
                self._with_value(document, path, old, new)
                if old is not MISSING and new is not MISSING
                else self._with_member(document, path, old, new)
            )
            if made is None:
                return None
            where, document = made
            told.append(f"{where} {_in_words(old, new)}")
        other_notation = any(not _written_alike(old, new) for _, old, new in edits)
        return _Changed(" and ".join(told) or "nothing changed", document, other_notation)

    def _with_value(self, document: Any, path: Path, old: Any, new: Any) -> tuple[str, Any] | None:
        place = self._place(path)
        if not place:
            return None
        places = self.copies.get(likeness(Leaf(place, old, 0)), [])
        if place not in places:
            if self.lists_changes:
                return None
            places = [place]
        for each in places:
            document = replaced(document, each, new)
        return _pointer(place), document

    def _with_member(self, document: Any, path: Path, old: Any, new: Any) -> tuple[str, Any] | None:
        """Add or remove a record at its own place, or next to a record that the run made."""
        place = self._place(path[:-1])
        if place is None:
            return None
        beside = value_at(self.base.end, path[:-1])
        members = list(beside.values()) if isinstance(beside, dict) else beside
        sought = [old] if new is MISSING else members
        found = [each for one in list(filter(self._is_new, sought))[-1:] for each in self._equal(one)]  # fmt: skip
        if not found and self.lists_changes:
            return None
        if new is MISSING:
            for each in reversed(found or [(*place, path[-1])]):
                document = without(document, each)
            return _pointer((*place, path[-1])), document
        for each in dict.fromkeys(one[:-1] for one in found or [(*place, "")]):
            document = append(document, each, new)[0]
        return _pointer(place), document

    def _is_new(self, record: Any) -> bool:
        return isinstance(record, dict) and json.dumps(record) not in self.at_start

    def _equal(self, record: Any) -> list[Path]:
        after = _objects(self.state, (), frozenset(self.not_after))
        return [path for path, each in after if each == record]

    def _place(self, path: Path) -> Path | None:
        """Return the path in the document for a path in `base.end`."""
        found: Any = self.state
        steps: list[str | int] = []
        for step in tokens(self.base.place(_pointer(path))) or ():
            own: Any = int(step) if isinstance(found, list) and step.isdecimal() else step
            try:
                found = found[own]
            except (LookupError, TypeError):
                return None
            steps.append(own)
        return tuple(steps)


def _edits(old: Any, new: Any, at: Path = ()) -> Iterator[_Edit]:
    """Yield the differences as old and new value; a member that only one has is `MISSING` in the other."""
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            yield from _edits(old.get(key, MISSING), new.get(key, MISSING), (*at, key))
    elif isinstance(old, list) and isinstance(new, list):
        if len(new) < len(old):
            gone = (number for number, each in enumerate(old) if each not in new)
            yield from (((*at, number), old[number], MISSING) for number in gone)
            return
        for number, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from _edits(one, other, (*at, number))
        yield from (((*at, len(old)), MISSING, each) for each in new[len(old) :])
    elif isinstance(old, list) and len(old) == 1 and isinstance(new, str):
        # one recipient, changed as if the list were the text
        yield from _edits(old[0], new, (*at, 0))
    elif isinstance(old, bool) is not isinstance(new, bool) or old != new:
        yield at, old, new


def _objects(value: Any, at: Path, left_out: frozenset[str]) -> Iterator[tuple[Path, Any]]:
    if not isinstance(value, dict | list) or (left_out and _pointer(at) in left_out):
        return
    if isinstance(value, dict):
        yield at, value
    # apps and their parts stand near the root
    below = left_out if len(at) < 4 else frozenset[str]()
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _objects(each, (*at, key), below)


def _written_alike(old: Any, new: Any) -> bool:
    """Whether a value differs from another in its numbers alone; a record that is gone or new always does."""
    if MISSING in (old, new):
        return True
    if isinstance(old, str) and isinstance(new, str):
        return _DIGITS.sub("0", old) == _DIGITS.sub("0", new)
    return type(old) is type(new)


def _in_words(old: Any, new: Any) -> str:
    if new is MISSING:
        return "is gone"
    shown = json.dumps(new, ensure_ascii=False, default=str)[:200]
    if old is MISSING:
        return f"also holds {shown}"
    return f"is {shown} instead of {json.dumps(old, ensure_ascii=False, default=str)[:200]}"


def _pointer(path: Path) -> str:
    return functools.reduce(child, path, "")
