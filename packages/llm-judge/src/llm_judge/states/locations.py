"""Where a pointer leads: its app, snapshot and record, and whether the run made that record."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from llm_judge.language.synonyms import stems
from llm_judge.language.values import is_identifier, words
from llm_judge.states.changes import diff
from llm_judge.states.pointers import MISSING, child, leaves, resolve, tokens
from llm_judge.states.snapshots import App, find_apps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llm_judge.states.snapshots import StatePart

STRUCTURE = frozenset(
    {"added", "deleted", "removed", "updated", "changed", "created", "other_updated"}
)
_GONE = frozenset({"deleted", "removed"})
# forms and searches hold the words of the goal as soon as they are typed, booked or not
INTERFACE = frozenset({
    "applied", "config", "dialog", "edit", "editing", "error", "errors", "filter", "filters", "focused", "form", "forms",
    "input", "inputs", "loading", "modal", "modals", "navigation", "notifications", "persist", "query",
    "recent", "router", "search", "searchbar", "searches", "selected", "session", "settings", "sidebar", "suggestions",
    "ui", "view", "viewed",
})  # fmt: skip
_OF_FORMS = re.compile(
    r"(?:is)?loading|errors?|form_?errors|is[A-Z]\w*|open[A-Z]\w*|submitting|touched"
)
_ID_KEY = re.compile(r"(?:^|_)(?:id|uuid|uid|guid|key|slug|hash|index|ref)$")
# logs name whatever ever happened to a record
_LOGS = frozenset({"activity", "activities", "audit", "log", "logs", "timeline"})
_NAME_KEYS = frozenset({"name", "title", "id", "slug", "label"})
_MOST_LEAVES = 80  # a larger object is a part of the app, not a record
_ELEMENT_LEAVES = 400  # a larger element holds records itself
_ALIKE = 0.7  # the share of keys that records of one kind have in common
_KEY_LIKE_ID = re.compile(r"\d+|[\w-]*\d[\w-]*\d[\w-]*", re.ASCII)


def is_id_key(key: str) -> bool:
    """Return whether the values of a key are identifiers of records.

    >>> is_id_key("restaurantId"), is_id_key("paid")
    (True, False)
    """
    return _ID_KEY.search("_".join(words(key))) is not None


@dataclass(frozen=True)
class Location:
    """Where a pointer leads.

    Attributes:
        role: `before`, `after`, `changes` or `actions`; `gone` below a list of what was removed.
        record: The pointer of the record around it; `path` is the same below the snapshot.
        collection: Where the record is an element, the pointer of the list or object it is in.
    """

    pointer: str
    app: App | None
    part: StatePart | None
    role: str
    record: str
    collection: str | None = None

    @property
    def path(self) -> list[str]:
        """The tokens below the snapshot, without those of lists of changes."""
        below = tokens(self.pointer[len(self.part.pointer) :] if self.part else self.pointer) or []
        of = [self.part.of] if self.part and self.part.of else []
        return of + [
            each for each in below if not (self.role in {"changes", "gone"} and each in STRUCTURE)
        ]


@dataclass
class StateIndex:
    """Locates pointers in a state; keeps what it computed."""

    state: Any
    initial: Any = None
    _contents: dict[str, frozenset[str]] = field(default_factory=dict)
    _changed: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)

    @cached_property
    def apps(self) -> tuple[App, ...]:
        """The apps of the state."""
        return find_apps(self.state, self.initial)

    def locate(self, pointer: str) -> Location:
        """Return where a pointer leads."""
        app, part, role = self._part(pointer)
        base = part.pointer if part else app.pointer if app else ""
        record, collection = self._record(pointer, base)
        if role == "changes" and _GONE & set(tokens(pointer[len(base) :]) or []):
            role = "gone"
        return Location(pointer, app, part, role, record, collection)

    def is_interface(self, location: Location, asked: frozenset[str]) -> bool:
        """Return whether a location is state of the interface and no record: forms, searches, dialogs.

        Args:
            location: Where.
            asked: Words of the criterion: what it names is no mere state of the interface.
        """
        named = {word for token in location.path for word in words(token) if not token.isdecimal()}
        if (named & INTERFACE) - asked:
            return True
        record = resolve(self.state, location.record)
        if location.collection is not None or not isinstance(record, dict):
            return False
        return any(_OF_FORMS.fullmatch(key) for key in record)

    def is_new(self, location: Location) -> bool | None:
        """Return whether the run made or changed a record; `None` where the state does not show it."""
        if location.role == "changes":
            return True
        if (
            location.role != "after"
            or location.app is None
            or location.part is None
            or location.app.before is None
        ):
            return None if location.role == "after" else False
        record = resolve(self.state, location.record)
        before = location.app.before
        there = resolve(before.value, location.record[len(location.part.pointer) :])
        if location.collection is None:
            return json.dumps(there if there is not MISSING else None, sort_keys=True) != _dump(
                record
            )
        known = self._known(before, location.collection[len(location.part.pointer) :])
        if _dump(record) not in known:
            return True
        # an app that was loaded again shows no change, whatever was done in it
        return None if self.is_untouched(location.app) and not self._nothing_happened() else False

    def is_untouched(self, app: App) -> bool:
        """Return whether nothing of an app's state changed: it was not used, or loaded again."""
        return (
            app.before is not None
            and not self._leaves_changed(app)
            and not any(
                True
                for part in app.changes
                for _, value in leaves(part.value)
                if value not in ({}, [], None)
            )
        )

    def is_linked(self, location: Location, asked: frozenset[str]) -> bool:
        """Return whether something that the run changed names a record that it did not change.

        Args:
            location: Where the record is.
            asked: Stems of what was done: it has to be that which names the record.
        """
        record = resolve(self.state, location.record)
        if location.app is None or not isinstance(record, dict):
            return False
        names = {
            str(value).casefold()
            for key, value in record.items()
            # an id of one digit is in too many values
            if isinstance(value, str | int) and not isinstance(value, bool) and len(str(value)) > 1
            if key.lower() in _NAME_KEYS or is_id_key(key)
        }
        return any(
            names & values and (not asked or stems(path) & asked)
            for path, values in self._leaves_changed(location.app).items()
        )

    def neighbours(self, location: Location) -> Iterator[tuple[str, Any]]:
        """Yield pointer and value of the scalars of a record, also of its whole in the end state."""
        below = tokens(location.pointer[len(location.record) :]) or []
        yield from _of_element(_scalars(self.state, location.record), location.record, below)
        if location.role != "changes" or location.app is None or location.part is None:
            return
        record = tokens(location.record[len(location.part.pointer) :]) or []
        path = "".join(child("", each) for each in record if each not in STRUCTURE)
        for part in location.app.after[:1]:
            whole = self.locate(part.pointer + path)
            if path.count("/") > 1 and resolve(self.state, part.pointer + path) is not MISSING:
                rest = tokens(path[len(whole.record) - len(part.pointer) :] or "") or []
                yield from _of_element(
                    _scalars(self.state, whole.record), whole.record, [*rest, *below]
                )

    def elements(self, location: Location) -> tuple[int, int] | None:
        """Return how many records a collection holds and how many of them are new."""
        if location.collection is None:
            whole = self.whole(location)
            return None if whole is None else self.elements(whole)
        held = resolve(self.state, location.collection)
        members = list(held.values()) if isinstance(held, dict) else held
        if not isinstance(members, list):
            return None
        if location.role == "changes":
            return len(members), len(members)
        if location.app is None or location.app.before is None or location.part is None:
            return len(members), len(members)
        known = self._known(location.app.before, location.collection[len(location.part.pointer) :])
        return len(members), sum(_dump(each) not in known for each in members)

    def whole(self, location: Location) -> Location | None:
        """Return the location of a first record where a location is a collection as a whole."""
        value = resolve(self.state, location.pointer)
        members = (
            list(value)
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        )
        first = self.locate(child(location.pointer, members[0])) if members else None
        return first if first is not None and first.collection == location.pointer else None

    def collections(self, app: App) -> frozenset[str]:
        """Return the names of what an app keeps: the keys near its roots, and what it lists changes of."""
        return frozenset(
            key
            for part in (*app.after, *app.changes)
            for key in (part.of, *_keys(part.value, 1))
            if key and key not in STRUCTURE
        )

    def siblings(self, location: Location, most: int = 2_000) -> Sequence[Any]:
        """Return the records of a collection."""
        held = resolve(self.state, location.collection) if location.collection is not None else []
        members = list(held.values()) if isinstance(held, dict) else held
        return members[:most] if isinstance(members, list) else []

    def _part(self, pointer: str) -> tuple[App | None, StatePart | None, str]:
        holding = [app for app in self.apps if _below(pointer, app.pointer)]
        app = max(holding, key=lambda each: len(each.pointer), default=None)
        if app is None:
            return None, None, "after"
        if self.initial is not None:  # the state before is apart, so that no pointer leads into it
            return app, app.after[0], "after"
        parts = [
            *(("after", each) for each in app.after), *(("changes", each) for each in app.changes),
            *(("actions", each) for each in app.actions), *((("before", app.before),) if app.before else ()),
        ]  # fmt: skip
        for role, part in parts:
            if part is not None and _below(pointer, part.pointer):
                return app, part, role
        return app, None, "beside"

    def _record(self, pointer: str, base: str) -> tuple[str, str | None]:
        below = tokens(pointer[len(base) :]) or []
        reached, value = base, resolve(self.state, base)
        found: tuple[str, str | None] | None = None
        smallest: str | None = None
        for token in below:
            here = child(reached, token)
            inner = resolve(self.state, here)
            if isinstance(inner, dict | list):
                listed = reached.rpartition("/")[2] in STRUCTURE and any(map(str.isdigit, token))
                if _is_element(value, token, inner) or (listed and isinstance(inner, dict)):
                    if (
                        found is None
                        or _size(resolve(self.state, found[0]), _ELEMENT_LEAVES) > _ELEMENT_LEAVES
                    ):
                        found = (here, reached)
                elif (
                    isinstance(inner, dict)
                    and smallest is None
                    and token not in STRUCTURE
                    and _size(inner, _MOST_LEAVES) <= _MOST_LEAVES
                ):
                    smallest = here
            reached, value = here, inner
        return found or (
            smallest if smallest is not None else _holder(self.state, pointer, base),
            None,
        )

    def _known(self, before: StatePart, path: str) -> frozenset[str]:
        key = f"{before.pointer}\n{path}"
        if key not in self._contents:
            held = resolve(before.value, path)
            members = (
                held.values() if isinstance(held, dict) else held if isinstance(held, list) else ()
            )
            self._contents[key] = frozenset(_dump(each) for each in members)
        return self._contents[key]

    def _leaves_changed(self, app: App) -> dict[str, frozenset[str]]:
        """What the run left behind, by the names of the keys it stands below."""
        if app.pointer not in self._changed:
            changes = [
                (change.pointer, change.after)
                for part in app.after
                if app.before is not None
                for change in diff(app.before.value, part.value)
                if change.kind != "removed"
            ]
            changes += [(f"/{part.of}", part.value) for part in app.changes]
            found: dict[str, set[str]] = {}
            for below, each in changes:
                for pointer, value in leaves(each, below):
                    if value not in ({}, [], "", None):
                        path = [t for t in tokens(pointer) or [] if not t.isdecimal()]
                        found.setdefault(" ".join(path), set()).add(str(value).casefold())
            self._changed[app.pointer] = {key: frozenset(each) for key, each in found.items()}
        return self._changed[app.pointer]

    def _nothing_happened(self) -> bool:
        """Whether no app changed: then nothing was done, however often a page was loaded."""
        return all(self.is_untouched(app) for app in self.apps if app.recorded)


def _keys(value: Any, deeper: int) -> Iterator[str]:
    """Yield the names of the collections of a snapshot, and of those below its slices."""
    for key, each in value.items() if isinstance(value, dict) else ():
        if isinstance(each, dict | list):
            yield key
            if deeper:
                yield from _keys(each, deeper - 1)


def _below(pointer: str, root: str) -> bool:
    return pointer == root or pointer.startswith(f"{root}/") or root == ""


def _is_element(holder: Any, token: str, value: Any) -> bool:
    """Whether a value is one record of a list, or of an object that holds records by their ids."""
    if token in STRUCTURE or not isinstance(value, dict):
        return False
    if not isinstance(holder, dict):
        return isinstance(holder, list)
    members = [each for each in holder.values() if isinstance(each, dict)]
    if len(members) != len(holder) or STRUCTURE & (set(holder) | set(value)):
        return False
    if _KEY_LIKE_ID.fullmatch(token) or is_identifier(token):
        return True
    keys = set(value)
    alike = all(len(keys & set(each)) >= _ALIKE * max(1, len(keys | set(each))) for each in members)
    return len(members) > 1 and bool(keys) and alike  # one alone is like no other


def _holder(state: Any, pointer: str, base: str) -> str:
    """The object around a scalar, where no record is small enough."""
    value = resolve(state, pointer)
    if isinstance(value, dict | list) or pointer == base:
        return pointer
    return pointer.rpartition("/")[0]


def _scalars(state: Any, record: str) -> Iterator[tuple[str, Any]]:
    for pointer, value in leaves(resolve(state, record), record):
        if not isinstance(value, dict | list):
            yield pointer, value


def _of_element(
    scalars: Iterator[tuple[str, Any]], record: str, below: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Leave out the other elements of lists that a quotation is in, and logs of what happened."""
    for pointer, value in scalars:
        path = tokens(pointer[len(record) :]) or []
        pairs = enumerate(zip(path, below, strict=False))
        apart = next((n for n, (a, b) in pairs if a != b), len(path))
        if apart + 1 < len(path) and path[apart].isdecimal() and below[apart].isdecimal():
            continue
        if any(each.lower() in _LOGS for each in path) and not any(
            each.lower() in _LOGS for each in below
        ):
            continue
        yield pointer, value


def _size(value: Any, most: int) -> int:
    count = 0
    for _ in leaves(value):
        count += 1
        if count > most:
            break
    return count


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
