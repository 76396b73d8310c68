"""Write records one per line within a budget; copies and near-copies refer to an earlier line.

Apps keep a record in several places (lists, caches, their own lists of changes); written out each time,
copies would fill the budget.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from llm_judge.states.effects import Effect, compact

_NAMED_COPIES = 6
_LEAST_LIKENESS = 0.5
_LEAST_SHARED = 3
_LONGEST_TEXT = 1_500
_HEAD, _TAIL = 1_000, 300


@dataclass
class Line:
    """A line being written, and the pointers of its copies."""

    pointer: str
    kind: str
    app: str
    shown: dict[str, Any]
    copies: list[str] = field(default_factory=list)
    size: int = 0

    def text(self) -> str:
        """Return the line as it is shown."""
        if not self.copies:
            return compact(self.shown)
        more = len(self.copies) - _NAMED_COPIES
        also: list[Any] = [*self.copies[:_NAMED_COPIES], *([f"{more} more"] if more > 0 else [])]
        return compact({**self.shown, "also": also})


class EvidenceWriter:
    """Writes lines of evidence, never more than `chars` characters.

    Args:
        chars: The most.
        likeness: Whether a record may be written as its difference from another: shorter, and harder to read.
    """

    def __init__(self, chars: int, *, likeness: bool = True) -> None:
        self.chars = chars
        self._likeness = likeness
        self.used = 0
        self.lines: list[Line] = []
        self._numbers = 0
        self._by_content: dict[Any, Line] = {}
        self._leaves: list[frozenset[tuple[str, str]]] = []
        self._holders: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._numbered: list[Line] = []

    def add(self, effect: Effect) -> bool:
        """Write a record, or note it as a copy of one that is written; false if it does not fit."""
        # what was removed must not be written as a copy of what is there
        key = (effect.kind == "removed", effect.leaves)
        copy_of = self._by_content.get(key)
        if copy_of is not None:
            return self._grow(copy_of, effect.pointer)
        head = {"n": self._numbers + 1, "at": effect.pointer, "is": effect.kind}
        full = {**head, **_content(effect)}
        like = self._nearest(effect) if self._likeness else None
        if like is not None:
            short = {**head, **self._difference(effect, like)}
            if len(compact(short)) < len(compact(full)):
                full = short
        line = Line(effect.pointer, effect.kind, effect.app, full)
        if not self._fits(line):
            return False
        self._numbers += 1
        self._by_content[key] = line
        self._numbered.append(line)
        content = frozenset(effect.leaves)
        self._leaves.append(content)
        for leaf in content:
            self._holders[leaf].append(self._numbers)
        return True

    def write(self, kind: str, pointer: str, app: str, shown: dict[str, Any]) -> bool:
        """Write a line that is not a record of the run's effects; false if it does not fit."""
        return self._fits(Line(pointer, kind, app, shown))

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(line.text() for line in self.lines)

    def _fits(self, line: Line) -> bool:
        size = len(line.text()) + 1
        if self.used + size > self.chars:
            return False
        line.size = size
        self.used += size
        self.lines.append(line)
        return True

    def _grow(self, line: Line, pointer: str) -> bool:
        if pointer == line.pointer or pointer in line.copies:
            return True
        line.copies.append(pointer)
        size = len(line.text()) + 1
        if self.used + size - line.size > self.chars:
            line.copies.pop()
            return False
        self.used += size - line.size
        line.size = size
        return True

    def _nearest(self, effect: Effect) -> int | None:
        """Return the number of the written line that shares most with a record."""
        if len(effect.leaves) < _LEAST_SHARED or effect.first_row is not None:
            return None
        shared = Counter(
            # values that hundreds of records share do not show which is nearest
            number
            for leaf in effect.leaves
            for number in self._holders.get(leaf, ())[:200]
        )
        if not shared:
            return None
        number, count = min(shared.items(), key=lambda item: (-item[1], item[0]))
        return number if count >= _LEAST_LIKENESS * len(effect.leaves) else None

    def _difference(self, effect: Effect, number: int) -> dict[str, Any]:
        theirs = dict(self._leaves[number - 1])
        ours = dict(effect.leaves)
        other = {k: _short(json.loads(v)) for k, v in ours.items() if theirs.get(k) != v}
        gone = [k for k in theirs if k not in ours]
        shown: dict[str, Any] = {"same_as": number}
        if other:
            shown["except"] = other
        if gone:
            shown["without"] = sorted(gone)
        return shown


def _content(effect: Effect) -> dict[str, Any]:
    if effect.kind == "changed":
        pairs = {k: [_short(effect.was[k]), _short(now)] for k, now in effect.value.items()}
        return {"was_now": pairs, **({"of": effect.of} if effect.of else {})}
    if effect.first_row is not None:
        return dict(effect.value)
    return {"value": _short(effect.value)}


def _short(value: Any) -> Any:
    """Cut long texts in the middle, so that one of them cannot push out everything else."""
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        left_out = len(value) - _HEAD - _TAIL
        return f"{value[:_HEAD]} [... {left_out} characters left out ...] {value[-_TAIL:]}"
    if isinstance(value, dict):
        return {_short(key): _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value]
    return value
