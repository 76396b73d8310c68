"""The names and notation of a state's fields: all that a compiler of claims may see of an end state.

Values are shown of the state before the run only. End states, which claims will judge, add fields'
names, types and masks of notation (`99,99 €`), so that a claim can bind to a list empty at first.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_judge.claims.evaluation import States
from llm_judge.claims.values import currencies_of
from llm_judge.states.changes import ID_KEYS
from llm_judge.states.pointers import MISSING, child

__all__ = ["Shape", "shape_of"]

_MOST_VALUES = 12
_MOST_MASKS = 5
_MOST_FIELDS = 600
_LONG = 48
_MOST_SCALARS = 200_000
_KEY_OF_MAP = re.compile(r"\d|[@#/ ]|^[0-9a-f-]{16,}$")


@dataclass
class _Field:
    types: set[str] = field(default_factory=set)
    masks: dict[str, None] = field(default_factory=dict)
    values: dict[str, None] = field(default_factory=dict)
    before: int = 0


@dataclass(frozen=True)
class Shape:
    """Fields by pattern: a pointer with `*` for the elements of a list and the values of a map."""

    fields: dict[str, _Field]
    maps: frozenset[str]

    @property
    def digest(self) -> str:
        """Changes with a new field, type or notation."""
        known = {name: [sorted(f.types), sorted(f.masks)] for name, f in self.fields.items()}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def text(self) -> str:
        """One field per line, for a model."""
        lines = []
        for name, found in list(self.fields.items())[:_MOST_FIELDS]:
            notes = [" or ".join(sorted(found.types))]
            if name.endswith("/*"):
                notes = [
                    f"each {'value of a map, its key is @key' if name[:-2] in self.maps else 'element of a list'}"
                ]
                notes.append(f"{found.before} before the run")
            elif found.masks:
                notes.append(
                    f"written like {', '.join(json.dumps(m, ensure_ascii=False) for m in found.masks)}"
                )
            if found.values:
                more = ", ..." if len(found.values) >= _MOST_VALUES else ""
                what = "keys before the run" if name.endswith("/*") else "before the run"
                notes.append(f"{what}: {', '.join(found.values)}{more}")
            if name.rpartition("/")[2] in ID_KEYS:
                notes.append("tells records apart")
            lines.append(f"{name or '(the whole state)'}: {'; '.join(notes)}")
        if len(self.fields) > _MOST_FIELDS:
            lines.append(f"({len(self.fields) - _MOST_FIELDS} further fields are left out)")
        return "\n".join(lines)


def shape_of(states: Sequence[States]) -> Shape:
    """Return the shape of the states of one task, united; values are those of the state before the run.

    >>> from llm_judge.claims.evaluation import States
    >>> print(shape_of([States({"carts": [{"sum": "12,50 €"}]}, {"carts": []})]).text)
    /carts/*: each element of a list; 0 before the run
    /carts/*/sum: text; written like "99,99 €"
    """
    maps = _maps(
        [side for each in states for side in (each.start, each.end) if side is not MISSING]
    )
    fields: dict[str, _Field] = defaultdict(_Field)
    budget = _MOST_SCALARS
    starts: list[Any] = []
    for each in states:
        sides = [(each.end, False)]
        if each.start is not MISSING and not any(each.start is known for known in starts):
            starts.append(each.start)
            # values of one state before the run: another trial's may hold an agent's changes
            sides.insert(0, (each.start, len(starts) == 1))
        for value, with_values in sides:
            for pattern, found, key in _walk(value, "", maps):
                budget -= 1
                if budget < 0:
                    break
                _note(fields[pattern], pattern, found, key, with_values=with_values)
    return Shape(dict(sorted(fields.items())), frozenset(maps))


def _walk(
    value: Any, pattern: str, maps: set[str], depth: int = 0
) -> Iterator[tuple[str, Any, str | None]]:
    if depth > 40:
        return
    if isinstance(value, dict | list):
        many = isinstance(value, list) or pattern in maps
        if many and not value:
            yield f"{pattern}/*", MISSING, None
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            below = f"{pattern}/*" if many else child(pattern, key)
            if many:
                yield (
                    below,
                    MISSING if isinstance(each, dict | list) else each,
                    str(key) if isinstance(value, dict) else "",
                )
                if not isinstance(each, dict | list):
                    continue
            yield from _walk(each, below, maps, depth + 1)
        if not value and not many:
            yield pattern, value, None
    else:
        yield pattern, value, None


def _note(one: _Field, pattern: str, value: Any, key: str | None, *, with_values: bool) -> None:
    element = pattern.endswith("/*")
    if element and key is not None and with_values:
        one.before += 1
        if key and len(one.values) < _MOST_VALUES:
            one.values[json.dumps(key[:_LONG], ensure_ascii=False)] = None
    if value is MISSING:
        return
    kind = {str: "text", bool: "true/false", int: "number", float: "number", dict: "object"}
    one.types.add("null" if value is None else kind.get(type(value), "other"))
    if isinstance(value, str) and len(one.masks) < _MOST_MASKS:
        one.masks[_mask(value)] = None
    if (
        with_values
        and not element
        and value is not None
        and len(one.values) < _MOST_VALUES
        and value != {}
    ):
        shown = (
            value if not isinstance(value, str) or len(value) <= _LONG else f"{value[:_LONG]}..."
        )
        one.values[json.dumps(shown, ensure_ascii=False)] = None


def _mask(text: str) -> str:
    """Return the mask of a text's notation: digits as 9, words as `Aa` or `aa`, marks unchanged."""
    if len(text) > _LONG:
        return "a long text"
    masked = re.sub(r"\d", "9", text)
    return re.sub(r"[^\W\d_]+", _letters, masked)


def _letters(found: re.Match[str]) -> str:
    word = found[0]
    if (len(word) == 3 and word.isupper() and currencies_of(word)) or word in {
        "T",
        "Z",
        "AM",
        "PM",
        "am",
        "pm",
        "h",
        "Uhr",
    }:
        return word
    return "AA" if word.isupper() and len(word) > 1 else "Aa" if word[0].isupper() else "aa"


def _maps(roots: Sequence[Any]) -> set[str]:
    """Return the patterns of objects whose keys are data: keys that look so or differ between states."""
    found: set[str] = set()
    level: dict[str, list[Any]] = {"": list(roots)}
    for _ in range(40):
        below: dict[str, list[Any]] = defaultdict(list)
        for pattern, values in level.items():
            objects = [each for each in values if isinstance(each, dict)]
            # the members of a state are its parts, whatever they have in common
            if _is_map(objects, parts=not pattern):
                found.add(pattern)
            for each in values[:2_000]:
                if isinstance(each, dict):
                    for key, value in each.items():
                        below[f"{pattern}/*" if pattern in found else child(pattern, key)].append(
                            value
                        )
                elif isinstance(each, list):
                    below[f"{pattern}/*"] += each
        if not below or sum(map(len, below.values())) > _MOST_SCALARS:
            break
        level = below
    return found


def _is_map(objects: Sequence[dict[str, Any]], *, parts: bool) -> bool:
    keys = {str(key) for each in objects for key in each}
    values = [value for each in objects for value in each.values()]
    if not keys:
        return False
    looks = sum(bool(_KEY_OF_MAP.search(key)) for key in keys)
    if looks * 2 > len(keys) and len({type(each) for each in values}) == 1:
        return True
    records = [frozenset(each) for each in values if isinstance(each, dict) and each]
    if parts or len(keys) < 2 or len(records) < len(values):
        return False
    common = frozenset.intersection(*records)
    return len(common) >= 2 and all(len(common) * 3 >= len(each) * 2 for each in records)
