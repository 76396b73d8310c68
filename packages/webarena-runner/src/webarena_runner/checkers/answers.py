"""Changes of a right answer: near misses, other items, and notations that mean the same."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

from pydantic import JsonValue

from bench_core.records import Task
from webarena_runner.checkers.end_states import EndState, Variation
from webarena_runner.patterns import is_pattern, same_text
from webarena_runner.tasks import task_type

_ANY_OF = re.compile(r"\b(any|one of|an example|at least|some|such as|or more)\b", re.IGNORECASE)
_IN_ORDER = re.compile(
    r"\b(order|sort\w*|rank\w*|top|first|ascending|descending|then)\b", re.IGNORECASE
)
_FORMAT = re.compile(
    r"\b(format|exact\w*|as (it|they) appears?|string|integers?|only)\b", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_UNITS = {"km": "mi", "m": "km", "mi": "km", "min": "h", "mins": "h", "minutes": "hours", "h": "days",
          "hours": "days", "hour": "days", "minute": "hour", "s": "min"}  # fmt: skip
_WRONG = "the task's definition expects another value"


def answer_changes(
    task: Task, right: EndState, others: Sequence[dict[str, JsonValue]], draw: random.Random
) -> Iterator[Variation]:
    """Yield changes of the answer; `others` are the right answers of the template's other tasks."""
    definitions: Any = task.config["eval"]
    wanted = next(each for each in definitions if each["evaluator"] == "AgentResponseEvaluator")
    expected, status = wanted["expected"].get("retrieved_data"), right.answer["status"]
    if status != "SUCCESS":
        claimed = {**right.answer, "status": "SUCCESS", "retrieved_data": None}
        yield Variation(
            "claimed-success", "wrong", "the answer says that the task was done",
            f"the task cannot be done, and its definition expects {status}", EndState(claimed, right.entries),
        )  # fmt: skip
        return
    data = right.answer["retrieved_data"]
    if task_type(task) != "RETRIEVE" or not isinstance(data, list) or not data:
        return
    answers = _Answers(task, right, data, list(expected), wanted)
    yield answers.changed("answer-empty", "wrong", None, "no data", "the task asks for data")
    yield from answers.lists(others, draw)
    yield from answers.values(draw)
    yield from answers.notations()


class _Answers:
    """Changes of one task's data."""

    def __init__(
        self,
        task: Task,
        right: EndState,
        data: list[Any],
        expected: list[Any],
        wanted: dict[str, Any],
    ) -> None:
        self._goal, self._right, self._data, self._expected = task.goal, right, data, expected
        self._ordered = bool(wanted.get("ordered"))
        self._items: dict[str, Any] = (wanted.get("results_schema") or {}).get("items") or {}

    def changed(self, operator: str, verdict: Any, data: Any, change: str, why: str) -> Variation:
        return Variation(
            operator, verdict, f"the answer: {change}", why, self._right.with_data(data)
        )

    def lists(
        self, others: Sequence[dict[str, JsonValue]], draw: random.Random
    ) -> Iterator[Variation]:
        """Yield lists with an item less, one more, another one, and in another order."""
        data = self._data
        several = "unknown" if _ANY_OF.search(self._goal) else "wrong"
        vague = "the task may ask for some of several items"
        if len(data) > 1:
            left = draw.randrange(len(data))
            yield self.changed(
                "subset", several, data[:left] + data[left + 1 :], f"without item {left + 1}",
                vague if several == "unknown" else "the task asks for this item, too",
            )  # fmt: skip
            certain = not self._ordered and not _IN_ORDER.search(self._goal)
            verdict = "wrong" if self._ordered else "right" if certain else "unknown"
            if data != data[::-1]:
                yield self.changed(
                    "other-order", verdict, data[::-1], "the items in reverse order",
                    "the definition expects an order" if self._ordered
                    else "the task names no order" if certain else "the task may want an order",
                )  # fmt: skip
        foreign = [
            item for each in others for item in _listed(each.get("retrieved_data"))
            if not any(self._is_expected(item, index) for index in range(len(self._expected)))
        ]  # fmt: skip
        if foreign:
            other = draw.choice(foreign)
            yield self.changed("superset", several, [*data, other], f"and {other!r}, too",
                               vague if several == "unknown" else "this item is not asked for")  # fmt: skip
            where = draw.randrange(len(data))
            yield self.changed(
                "wrong-item", "wrong", [*data[:where], other, *data[where + 1 :]],
                f"{other!r} instead of {data[where]!r}", _WRONG,
            )  # fmt: skip

    def values(self, draw: random.Random) -> Iterator[Variation]:
        """Yield near misses of one item, or of one field of it."""
        where = draw.randrange(len(self._data))
        item = self._data[where]
        if not isinstance(item, dict):
            for operator, value in _near(item, self._items):
                yield from self._replaced(operator, where, value, None)
            return
        fields = self._items.get("properties", {})
        for name, value in item.items():
            for operator, near in _near(value, fields.get(name, {})):
                yield from self._replaced(operator, where, near, name)
        name = draw.choice(sorted(item))
        rest = {key: each for key, each in item.items() if key != name}
        yield self.changed(
            "answer-field-missing", "wrong", [*self._data[:where], rest, *self._data[where + 1 :]],
            f"item {where + 1} without {name!r}", "the definition expects this field",
        )  # fmt: skip
        second = self._data[(where + 1) % len(self._data)]
        different = [
            key for key in item if isinstance(second, dict) and item[key] != second.get(key)
        ]
        if len(item) > 1 and len(self._data) == 2 and len(different) == len(item):
            key = draw.choice(different)
            swapped = [{**item, key: second[key]}, {**second, key: item[key]}]
            yield self.changed(
                "swapped-fields", "wrong", swapped, f"{key!r} of the two items exchanged", _WRONG
            )

    def notations(self) -> Iterator[Variation]:
        """Yield answers with the same meaning in another notation."""
        plain = self._items.get("format") in {None, "location-name"}
        if all(isinstance(each, str) for each in self._data):
            padded = [f" {each}  " for each in self._data]
            yield self.changed(
                "whitespace", "right", padded, "spaces around each item", "it says the same"
            )
            lower = [each.lower() for each in self._data]
            if plain and lower != self._data:
                exact = bool(_FORMAT.search(self._goal))
                yield self.changed(
                    "letter-case", "unknown" if exact else "right", lower, "in small letters",
                    "the task may want its letters as they are" if exact else "names in small letters name the same",
                )  # fmt: skip
        if all(type(each) is int for each in self._data):
            floats = [float(each) for each in self._data]
            yield self.changed(
                "number-notation",
                "right",
                floats,
                f"{floats[0]!r} instead of {self._data[0]!r}",
                "the numbers are the same",
            )
        dates = [_date(each) for each in self._data]
        if self._items.get("format") == "date" and all(dates):
            words = [f"{each:%B} {each.day}, {each.year}" for each in dates if each]
            exact = bool(_FORMAT.search(self._goal))
            yield self.changed(
                "date-notation", "unknown" if exact else "right", words, "dates in words",
                "the task may ask for a form" if exact else "the days are the same",
            )  # fmt: skip
        if all(isinstance(each, dict) for each in self._data):
            turned = [dict(reversed(each.items())) for each in self._data]
            yield self.changed(
                "field-order",
                "right",
                turned,
                "the fields in another order",
                "objects have no order",
            )

    def _replaced(
        self, operator: str, where: int, value: Any, name: str | None
    ) -> Iterator[Variation]:
        old = self._data[where]
        new = value if name is None else {**old, name: value}
        if self._is_expected(value, where, name):
            return
        shown = old if name is None else old[name]
        yield self.changed(
            operator, "wrong", [*self._data[:where], new, *self._data[where + 1 :]],
            f"{value!r} instead of {shown!r}" + (f" as {name!r}" if name else ""), _WRONG,
        )  # fmt: skip

    def _is_expected(self, value: Any, where: int, name: str | None = None) -> bool:
        """Return whether a value is one of the definition's alternatives for this item."""
        wanted = self._expected[where]
        if name is None and isinstance(wanted, dict) and isinstance(value, dict):
            return all(self._is_expected(each, where, key) for key, each in value.items())
        if name is not None:
            wanted = wanted.get(name) if isinstance(wanted, dict) else None
        alternatives = wanted if isinstance(wanted, list) else [wanted]
        return any(
            same_text(str(each), str(value)) if is_pattern(each) else _bare(each) == _bare(value)
            for each in alternatives
        )


def _near(value: Any, schema: Any) -> Iterator[tuple[str, Any]]:
    """Yield the operator and a value that is nearly `value`."""
    kind = schema.get("format") if isinstance(schema, dict) else None
    if isinstance(value, bool):
        yield "negated", not value
    elif isinstance(value, int | float):
        yield ("wrong-amount" if kind == "currency" else "wrong-number"), value + 1
        if value:
            yield (
                ("wrong-amount", round(value * 10, 2))
                if kind == "currency"
                else ("wrong-sign", -value)
            )
    elif isinstance(value, str):
        yield from _near_text(value, kind)


def _near_text(value: str, kind: str | None) -> Iterator[tuple[str, str]]:
    day, words = _date(value), value.split()
    if day:
        yield "wrong-date", (day + timedelta(days=1)).isoformat()
        yield "wrong-year", day.replace(year=day.year - 1, day=min(day.day, 28)).isoformat()
    elif kind in {"duration", "distance"}:
        # far beyond any rounding or another route
        more = _NUMBER.sub(lambda found: str(int(float(found[0])) * 3 + 60), value, count=1)
        yield f"wrong-{kind}", more
        unit = re.search(r"[a-z]+$", value.lower())
        if unit and unit[0] in _UNITS and len(_NUMBER.findall(value)) == 1:
            yield "wrong-unit", value[: unit.start()] + _UNITS[unit[0]]
    elif "@" in value:
        yield "wrong-address", f"x{value}"
    elif value.isdecimal():
        yield "wrong-number", str(int(value) + 1)
    elif len(words) > 2 and kind is None:  # a name of two words may be known by one
        yield "cut-short", " ".join(words[:-1])


def _date(value: Any) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _bare(value: Any) -> str:
    return (
        re.sub(r"\W+", "", str(value).lower())
        if not isinstance(value, int | float)
        else str(float(value))
    )
