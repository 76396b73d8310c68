"""The state that evidence is checked against, with the goal, the applications and their time zone."""

from __future__ import annotations

import itertools
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfoNotFoundError

from bench_core.records.judge import Evidence
from llm_judge.evidence.fields import Field, field_of
from llm_judge.evidence.provenance import is_free_text
from llm_judge.language.statements import Statement, parse_criterion
from llm_judge.language.values import (
    ParsedValue,
    inferred_offsets,
    parse_value,
    words,
    zone_offsets,
)
from llm_judge.states.locations import Location, StateIndex, is_id_key
from llm_judge.states.pointers import MISSING, resolve, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


_MAIL = frozenset({"mail", "email", "emails", "mails", "e-mail"})
_LEAST_NOUN = 6
_LEAST_APP = 4  # shorter names are in too many words
_LISTS = 400  # records to infer a time zone from; states hold many thousands


class ResolvedEvidence(NamedTuple):
    """A quotation with the location of its pointer and the value there."""

    evidence: Evidence
    location: Location
    value: Any


@dataclass
class JudgedState:
    """The state that evidence is checked against.

    Attributes:
        state: The whole end state.
        initial: The state from before, where it is stored apart.
        apps: Names of applications that belong to the case, whether or not they were recorded.
        zone: The time zone of the applications (IANA), `None` where it is inferred from the records.
    """

    state: Any
    goal: str = ""
    initial: Any = None
    apps: Sequence[str] = ()
    zone: str | None = None
    _offsets: dict[str, Callable[[Any], Iterable[Any]]] = field(default_factory=dict)

    @cached_property
    def index(self) -> StateIndex:
        """Where the apps, snapshots and records of the state are."""
        return StateIndex(self.state, self.initial)

    @cached_property
    def names(self) -> dict[str, str]:
        """The apps' names, in one case and without spaces, and as they are written."""
        known = [app.name for app in self.index.apps if app.name] + list(self.apps)
        return {_joined(each): each for each in known if _joined(each)}

    def is_app(self, name: str) -> bool:
        """Return whether a name is an application's."""
        plain = _joined(name)
        return len(plain) >= _LEAST_APP and any(_same_app(plain, each) for each in self.names)

    def statement(self, text: str) -> Statement:
        """Return what a criterion states."""
        return parse_criterion(
            text, self.goal, self.is_app, lambda at: resolve(self.state, at) is not MISSING
        )

    def named_apps(self, text: str) -> frozenset[str]:
        """Return the apps that a text names, by name or by what they are for (`calendar`, `email`)."""
        found = set()
        spoken = words(text)
        pairs = {a + b for a, b in itertools.pairwise(spoken)}
        glued = {_joined(each) for each in text.split()} | set(spoken) | pairs
        for plain in self.names:
            if (
                any(
                    len(each) >= _LEAST_APP and (_same_app(each, plain) or each.startswith(plain))
                    for each in glued
                )
                or ("mail" in plain and _MAIL & set(spoken))
                or any(len(each) >= _LEAST_NOUN and plain.endswith(each) for each in spoken)
            ):
                found.add(plain)
        return frozenset(found)

    def fields(self, quoted: ResolvedEvidence) -> list[Field]:
        """Return the scalars of the record around a quotation."""
        location = quoted.location
        found = []
        for pointer, value in self.index.neighbours(location):
            record = (
                location.record
                if pointer.startswith(location.record)
                else pointer.rpartition("/")[0]
            )
            key = (tokens(pointer) or [""])[-1]
            free = isinstance(value, str) and is_free_text(key) and not self.is_main_text(pointer)
            found.append(field_of(pointer, record, value, self.parse(value, location), free=free))
        return found

    def is_main_text(self, pointer: str) -> bool:
        """Return whether a text is all that names its record, as that of an item of a list to do."""
        # without this exception no item of a to-do list could ever be proven
        holder = resolve(self.state, pointer.rpartition("/")[0])
        if not isinstance(holder, dict) or self.index.locate(pointer).collection is None:
            return False
        texts = [
            key
            for key, value in holder.items()
            if isinstance(value, str) and not is_id_key(key) and not parse_value(value).days
        ]
        return texts == (tokens(pointer) or [""])[-1:] and not any(
            isinstance(each, dict | list) and each for each in holder.values()
        )

    def parse(self, value: Any, location: Location) -> ParsedValue:
        """Return what a value says, with the application's local time."""
        return parse_value(value, self._offset(location))

    def _offset(self, location: Location) -> Callable[[Any], Iterable[Any]]:
        key = location.collection or location.record
        if key not in self._offsets:
            zone = None
            # a case's metadata may name a zone that does not exist: then it is inferred
            with suppress(ZoneInfoNotFoundError, ValueError):
                zone = None if self.zone is None else zone_offsets(self.zone)
            self._offsets[key] = zone or inferred_offsets(self._dated(location))
        return self._offsets[key]

    def _dated(self, location: Location) -> list[Any]:
        """Records to infer the application's time zone from; other applications may keep time otherwise."""
        found = [resolve(self.state, location.record), *self.index.siblings(location)]
        for part in (*location.app.after, *location.app.changes) if location.app else ():
            found += _first_records(part.value, _LISTS)
        return found

    def counts(self, records: Sequence[ResolvedEvidence]) -> list[tuple[int, int]]:
        """Return for each record quoted how many of its kind may be meant, at least and at most."""
        cited: dict[str, set[str]] = {}
        for each in records:
            cited.setdefault(each.location.collection or each.location.record, set()).add(
                each.location.record
            )
        found = [
            (len(each.value), len(each.value)) for each in records if isinstance(each.value, list)
        ]
        for each in records:
            held = self.index.elements(each.location)
            named = len(cited[each.location.collection or each.location.record])
            if held is None:
                found.append((named, named))
            elif held[1]:  # that many are new: neither more nor less were made
                found.append((held[1], held[1]))
            else:
                found.append((named, held[0]))
        return found

    def in_named_app(self, location: Location, text: str) -> bool:
        """Return whether a location is in an application that a text names, or none is named."""
        named = self.named_apps(text)
        if not named or location.app is None or not location.app.name:
            return True
        return _joined(location.app.name) in named

    def resolve(self, evidence: Evidence) -> ResolvedEvidence:
        """Return a quotation with what stands at its pointer."""
        pointer = evidence.pointer or ""
        return ResolvedEvidence(evidence, self.index.locate(pointer), resolve(self.state, pointer))

    def at(self, pointer: str) -> ResolvedEvidence:
        """Return what stands at a pointer as if it were quoted."""
        return self.resolve(Evidence(pointer=pointer))

    def of_app(self, quoted: ResolvedEvidence, text: str) -> bool:
        """Return whether a quotation is from the end state or the changes of an app that a text names."""
        return quoted.location.role in {"after", "changes", "gone"} and self.in_named_app(
            quoted.location, text
        )


def _first_records(value: Any, most: int, depth: int = 0) -> list[Any]:
    if isinstance(value, list):
        return value[:most]
    if isinstance(value, dict) and depth < 3:  # lists stand near the root
        return [
            record
            for each in value.values()
            for record in (
                _first_records(each, most, depth + 1) if isinstance(each, dict | list) else []
            )
        ] + list(value.values())[:most]
    return []


def _joined(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _same_app(one: str, other: str) -> bool:
    return one == other or (len(other) >= _LEAST_NOUN and one == f"{other}s")
