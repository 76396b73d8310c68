"""The expected values that tasks contain, and comparisons of plain values."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.databases import search
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import getter, metric

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_SATURDAY, _SUNDAY, _FRIDAY = 5, 6, 4


@getter("misc.py")
def rule(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The task's `rules`, whole and unchanged.

    Fails as: KeyError without `rules`.
    """
    return config["rules"]


@getter("misc.py")
def rule_relativeTime(env: EvaluationContext, config: Mapping[str, Any]) -> Any:  # noqa: N802  # its name in tasks
    """The task's `rules` with words such as `next Monday` replaced by dates, counted from today.

    Fails as: KeyError for a time it does not know.

    Oddities: Uses the clock and time zone of the machine that evaluates. `next Monday` is a week
    away on a Monday. The date is written into the task, as vanilla does.
    """
    rules = config["rules"]
    when, now, expected = rules["relativeTime"], env.now(), rules["expected"]
    if "to" not in when:
        day = _from_day(when["from"], now, _START)
        expected["time"] = _write_date(expected["time"], day)
        return rules
    start = _from_day(when["from"], now, _RANGE_START)
    expected["from"] = _write_date(expected["from"], start)
    end = _to_day(when["to"], now, when["from"])
    expected["to"] = _write_date(expected["to"], end)
    return rules


@getter("misc.py")
def time_diff_range(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The tolerance that the task gives in minutes.

    Fails as: None without `diff_range_in_minutes`.
    """
    return config.get("diff_range_in_minutes")


@metric("general.py")
def exact_match(result: Any, rules: Mapping[str, Any]) -> float:
    """Whether the result equals `expected`, as Python compares: True equals 1.

    Fails as: 0.0 for an unequal value, including None.
    """
    expected = rules["expected"]
    refuse_half_characters(result, expected)
    return float(bool(result == expected))


@metric("general.py", needs=("rapidfuzz",))
def fuzzy_match(result: Any, rules: Mapping[str, Any]) -> float:
    """How similar two strings are, from 0 to 1; no threshold.

    Fails as: TypeError for anything but a string.
    """
    from rapidfuzz import fuzz

    return fuzz.ratio(result, rules["expected"]) / 100.0


@metric("general.py")
def literal_match(result: Any, expected: Any, **options: Any) -> float:
    """Whether two values, or two lists item by item, are written the same.

    Fails as: 0.0.
    """
    fold: Callable[[Any], str] = (
        (lambda value: str(value).lower()) if options.get("ignore_case", False) else str
    )
    kind = options.get("type", "str")
    if kind == "str":
        return float(fold(result) == fold(expected))
    if kind != "list":
        raise NotImplementedError(f"Type {kind} not supported")
    lists = all(type(value) in (list, tuple) for value in (result, expected))
    if not lists or len(result) != len(expected):
        return 0.0
    return float([fold(item) for item in result] == [fold(item) for item in expected])


@metric("general.py")
def is_in_list(result: Any, rules: Mapping[str, Any]) -> float:
    """Whether `expected` is in the result.

    Fails as: TypeError for None.
    """
    return float(rules["expected"] in result)


@metric("general.py")
def check_include_exclude(result: str | None, rules: Mapping[str, Any]) -> float:
    """Whether a text has all of `include` and none of `exclude`.

    Fails as: 0.0 for None.
    """
    if result is None:
        return 0.0
    refuse_half_characters(result)
    included = all(part in result for part in rules.get("include", []))
    return float(included and all(part not in result for part in rules.get("exclude", [])))


@metric("general.py")
def check_direct_json_object(result: Any, rules: Mapping[str, Any]) -> float:
    """Whether an object has the expected values under the expected keys.

    Fails as: 0.0 for None and for other JSON than an object; a string that is not JSON raises.

    Oddities: Only the expected keys are compared. Apostrophes in a string become quotation marks.
    """
    if isinstance(result, str):
        result = json.loads(result.strip().replace("'", '"'))
    if result is None:
        return 0.0
    return or_else(0.0, _holds_expected, result, rules)


@metric("basic_os.py")
def check_moved_jpgs(tree: Mapping[str, Any], rules: Mapping[str, Any]) -> int:
    """Whether a folder holds exactly the expected names.

    Fails as: 0.0 for an unequal listing.
    """
    names = [node["name"] for node in tree["children"]]
    return int(len(names) == len(rules["expected"]) and set(names) == set(rules["expected"]))


@metric("__init__.py")
def infeasible() -> None:
    """Nothing: the control flow scores `infeasible` before any metric is called.

    Fails as: a TypeError: it takes nothing.
    """


def refuse_half_characters(*values: Any) -> None:
    """Raise on a lone surrogate, as vanilla does, because it prints values and cannot encode one.

    In the locale C.UTF-8, as in WAA's container, Python can print surrogates that stand for single bytes.

    Raises:
        UnicodeEncodeError: A value is text with such a surrogate.
    """
    for value in values:
        str(value).encode("utf-8", "surrogateescape")


def matches_rule(value: Any, rule: Mapping[str, Any]) -> bool:
    """Whether a value satisfies `{"method": ..., "ref": ...}`, the form of JSON, cell and sheet rules."""
    method, ref = rule["method"], rule.get("ref")
    if method.startswith("re"):
        flags = re.RegexFlag(0)
        for name in method.split(".")[1:]:
            flags |= re.RegexFlag[name]
        return search(rule["ref"], value, flags)
    if method in {"eq", "ne", "le", "lt", "ge", "gt"}:
        return bool(getattr(operator, method)(value, rule["ref"]))
    if method.startswith("approx"):
        return _is_close(value, ref, float(method.split(":")[1]))
    if method.startswith("range."):
        return _in_range(value, rule["ref"], method[6], method[7])
    if method == "spreadsheet_range":
        # Whether a range of cells contains all of the first limit and nothing outside the second
        limits = rule["ref"]
        from openpyxl.worksheet.cell_range import MultiCellRange

        inner, outer = MultiCellRange(limits[0]), MultiCellRange(limits[1])
        return all(part in value for part in inner) and all(part in outer for part in value)
    if method in {"str_list_eq", "str_set_eq"}:
        parts = value.strip("\"'").split(",")
        return parts == list(ref) if method == "str_list_eq" else set(parts) == set(ref)  # type: ignore[arg-type]
    raise NotImplementedError(f"unknown comparison {method!r}")


def _is_close(value: Any, ref: Any, threshold: float) -> bool:
    try:
        number = float(value)
    except (ValueError, TypeError):
        return False
    return bool(abs(number - ref) <= threshold)


def _in_range(value: Any, ref: Any, left: str, right: str) -> bool:
    compare = {"e": operator.le, "t": operator.lt}
    return bool(compare[left](ref[0], value) and compare[right](value, ref[1]))


def _holds_expected(result: Any, rules: Mapping[str, Any]) -> float:
    expected = rules["expected"]
    if not rules.get("expect_in_result", False):
        return float(all(value == result.get(key) for key, value in expected.items()))
    return float(all(_within(value, result.get(key)) for key, value in expected.items()))


def _within(expected: Any, found: Any) -> bool:
    if isinstance(expected, list):
        return isinstance(found, list) and any(each in found for each in expected)
    return isinstance(expected, str) and expected in found


def _in_days(days: int) -> Callable[[datetime], datetime]:
    return lambda now: now + timedelta(days=days)


def _next_month(day: int) -> Callable[[datetime], datetime]:
    def pick(now: datetime) -> datetime:
        first = (now.replace(day=1) + timedelta(days=32)).replace(day=day)
        return datetime(first.year, first.month, day)  # noqa: DTZ001  # vanilla's clock is naive

    return pick


def _next_monday(now: datetime) -> datetime:
    return now + timedelta(days=7 - now.weekday())


def _monday_in_four_months(now: datetime) -> datetime:
    """Return the first Monday of the month in four months; in August, vanilla's month 0 raises ValueError."""
    year = now.year + 1 if now.month >= 9 else now.year  # September
    first = datetime(year, (now.month + 4) % 12, 1)  # noqa: DTZ001  # vanilla's clock is naive
    return first + timedelta(days=(7 - first.weekday()) % 7)


def _unknown(now: datetime) -> datetime:
    raise UnboundLocalError("this relative time is not computed here, as in vanilla")


_WORDS = (
    "5th next month", "10th next month", "11th next month", "this month", "this Saturday",
    "this Sunday", "next Monday", "next Friday", "first monday four months later",
)  # fmt: skip
_START: dict[str, Callable[[datetime], datetime]] = {
    "tomorrow": _in_days(1),
    "5th next month": _next_month(5),
    "10th next month": _next_month(10),
    "this month": _in_days(0),
    "next Monday": _next_monday,
    "first monday four months later": _monday_in_four_months,
}
_RANGE_START: dict[str, Callable[[datetime], datetime]] = {
    "tomorrow": _in_days(1),
    "this Saturday": lambda now: now + timedelta(days=_SATURDAY - now.weekday()),
    "10th next month": _next_month(10),
    "next Monday": _next_monday,
}


def _from_day(
    word: str, now: datetime, known: Mapping[str, Callable[[datetime], datetime]]
) -> datetime:
    if word not in _WORDS and word not in known:
        raise KeyError(word)
    return known.get(word, _unknown)(now)


def _to_day(word: str, now: datetime, start: str) -> datetime:
    if word == "next Friday":
        weekday = now.weekday()
        week = 7 if start == "next Monday" or weekday >= _FRIDAY else 0
        return now + timedelta(days=_FRIDAY - weekday + week)
    known: dict[str, Callable[[datetime], datetime]] = {
        "tomorrow": _in_days(1),
        "this Sunday": lambda day: day + timedelta(days=_SUNDAY - day.weekday()),
        "11th next month": _next_month(11),
    }
    return _from_day(word, now, known)


def _write_date(pattern: str, day: datetime) -> str:
    month = _MONTHS[day.month - 1]
    for field, value in (
        ("{DoW}", _DAYS[day.weekday()]),
        ("{Month}", month[:3]),
        ("{DayD}", str(day.day)),
        ("{Year}", str(day.year)),
        ("{Month0D}", f"{day.month:02d}"),
        ("{month}", month.lower()),
        ("{MonthFull}", month),
        ("{Day0D}", f"{day.day:02d}"),
    ):
        pattern = pattern.replace(field, value, 1)
    return pattern
