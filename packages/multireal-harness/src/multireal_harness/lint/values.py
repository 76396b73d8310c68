"""Texts, numbers and dates that a query asks for in place of those in the goal and criterion."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from multireal_harness.definitions import Definition

APPS_ZONE = ZoneInfo("America/Denver")
"""The zone of the apps' pages, by which their states' UTC times are local ones."""
_NEAR = 0.85
_WORDS = re.compile(r"\w(?:[\w@'&/.:-]*\w)?")
# a number that stands alone: not in a date, a time or an address
_NUMBER = re.compile(r"(?<![\w.,:/-])\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\w:/-])")
_NUMBER_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
# days with their month's name: July 19, or Jul. 19-21
_NAMED = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:\s*[-\u2013]\s*(\d{{1,2}}))?\b",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)(?!\d)")
# a moment as the apps store it, in UTC: 2024-07-19T01:00:00.000Z
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z")
# the end of a card's validity: Exp: 05/26
_EXPIRY = re.compile(r"\bexp\w*\W+(?:dates?\W+)?((\d{1,2})/(?:20)?(\d\d))(?!\d|/)", re.IGNORECASE)
# a day with its year: July 19, 2024
_WRITTEN_OUT = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(20\d\d)\b", re.IGNORECASE
)
_REFUSED = re.compile(r"\b(expired|declined|refused|rejected|failed)\b", re.IGNORECASE)
_FROZEN = dict.fromkeys(
    ["gocalendar", "topwork", "calendar", "dining", "mail", "travel"], date(2024, 7, 18)
)
"""The fixed date in apps of Multi-REAL and the built-in world; the others have the real one."""
_CONCRETE = re.compile(
    r"'[^']{3,}'|\"[^\"]{3,}\"|\$\s?\d|\b\d{1,2}(?::\d\d)?\s?[ap]\.?m\b|[\w.+-]+@[\w-]+\.\w+",
    re.IGNORECASE,
)
_NAMED_TEXT = re.compile(r"(?<!\w)'([A-Z\d][^']{2,})'(?!\w)|([\w.+-]+@[\w-]+\.\w+)")
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))?\s?([ap])\.?m\b", re.IGNORECASE)


def is_concrete(criterion: str) -> bool:
    """Return whether a criterion names a text, an amount, a time of day or an address that must be there."""
    return _CONCRETE.search(criterion) is not None


def unasked(criterion: str, values: Iterable[Any]) -> Iterator[str]:
    """Yield a criterion's quoted texts, addresses, days and times that no value of the query has.

    >>> list(unasked("Verify 'Team Dinner' is on July 19 at 7 PM.", ["Team Dinner", "2024-07-20T01:00:00.000Z"]))
    []
    >>> list(unasked("Verify it was sent to ana@corp.example on July 19.", ["Team", "2024-07-18"]))
    ['ana@corp.example', 'July 19']
    """
    texts = [each.casefold() for each in values if isinstance(each, str) and each]
    for found in _NAMED_TEXT.finditer(criterion):
        text = next(each for each in found.groups() if each).casefold()
        if not any(each in text or text in each for each in texts):
            yield found[0].strip("'")
    days = {day for each in texts for day in _days_of(each.upper())}
    days |= {day for each in texts for day, _ in _days(each)}
    for (month, day), shown in dict(_days(criterion)).items():
        if (month, day) not in days and not any(f"{month:02d}-{day:02d}" in each for each in texts):
            yield shown
    clocks = {clock for each in texts for clock in _clocks(each)}
    for found in _CLOCK.finditer(criterion):
        if clocks and not clocks & set(_clocks(found[0])):
            yield found[0]


def _clocks(text: str) -> Iterator[int]:
    """Yield the times of day in a text, in minutes; those of a moment in UTC are the apps' local ones."""
    for found in _CLOCK.finditer(text):
        yield (int(found[1]) % 12 + 12 * (found[3].casefold() == "p")) * 60 + int(found[2] or 0)
    for found in _MOMENT.finditer(text.upper()):
        local = datetime.fromisoformat(found[0].replace("Z", "+00:00")).astimezone(APPS_ZONE)
        yield local.hour * 60 + local.minute


def nearest_text(wanted: str, text: str) -> str | None:
    """Return the words of a text that are most like `wanted` without being it; None if there are none.

    >>> nearest_text("Team Dinnr", "Plan a 'Team Dinner' for us."), nearest_text("Lunch", "Plan a dinner.")
    ('Team Dinner', None)
    """
    words, sought = _WORDS.findall(text), _WORDS.findall(wanted)
    wanted, size = " ".join(sought), len(sought)
    groups = (" ".join(words[at : at + size]) for at in range(len(words) - size + 1))
    likeness = {
        each: difflib.SequenceMatcher(None, wanted.casefold(), each.casefold()).ratio()
        for each in groups
    }
    best = max(likeness, key=likeness.__getitem__, default="")
    return best if _NEAR <= likeness.get(best, 0.0) < 1 else None


def nearest_number(wanted: float, text: str) -> float | None:
    """Return a number of a text that is one more or less than `wanted`, if `wanted` itself is not in it.

    >>> nearest_number(3, "a table for four at 7:30 PM"), nearest_number(4, "a table for four")
    (4.0, None)
    """
    known = set(_numbers(text))
    return (
        None if wanted in known else next((n for n in sorted(known) if abs(n - wanted) == 1), None)
    )


def _numbers(text: str) -> Iterator[float]:
    for found in _NUMBER.finditer(text):
        yield float(found[1].replace(",", ""))
    for found in re.finditer(r"[a-z]+", text.casefold()):
        if found[0] in _NUMBER_WORDS:
            yield float(_NUMBER_WORDS.index(found[0]))


def nearest_day(wanted: str, text: str) -> str | None:
    """Return a text's day that is the day before or after `wanted`, a date or a moment in UTC.

    None if the text names the day of `wanted`: of a moment other than midnight that in the apps' zone.

    >>> nearest_day("2024-07-19T01:00:00.000Z", "Lunch on July 19"), nearest_day("2024-07-19", "on 2024-07-19")
    ('July 19', None)
    """
    days = dict(_days(text))
    meant = set(_days_of(wanted))
    if not meant or meant & days.keys():
        return None
    for one in meant:
        for other, shown in days.items():
            if abs((date(2024, *one) - date(2024, *other)).days) == 1:
                return shown
    return None


def past_dates(definition: Definition, today: date) -> Iterator[str]:
    """Yield the dates of a goal that are past for each app of the task, as they are written.

    Those are the ends of cards' validity, unless an eval asks for a card that is refused, and days with their year if
    the apps' clock is known, as in tasks of several apps.
    """
    clock = min((_FROZEN.get(each, today) for each in definition.apps), default=today)
    if not any(_REFUSED.search(f"{each.criterion} {each.rubric}") for each in definition.evals):
        for found in _EXPIRY.finditer(definition.goal):
            if (2000 + int(found[3]), int(found[2])) < (clock.year, clock.month):
                yield found[1]
    for found in _WRITTEN_OUT.finditer(definition.goal) if definition.multi else ():
        month, day = _MONTHS.index(found[1].casefold()) + 1, int(found[2])
        if _exists(month, day) and date(int(found[3]), month, day) < clock:
            yield found[0]


def _days(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    for found in _NAMED.finditer(text):
        month = _MONTHS.index(found[1].casefold()) + 1
        last = int(found[3] or found[2])
        for day in range(int(found[2]), last + 1):
            if _exists(month, day):
                yield (month, day), found[0]
    for found in _ISO.finditer(text):
        if _exists(int(found[2]), int(found[3])):
            yield (int(found[2]), int(found[3])), found[0]


def _days_of(wanted: str) -> Iterator[tuple[int, int]]:
    found, moment = _ISO.search(wanted), _MOMENT.fullmatch(wanted)
    # at midnight, apps mean a day without a time, which is the same in every zone
    if moment and "T00:00" not in wanted:
        local = datetime.fromisoformat(wanted.replace("Z", "+00:00")).astimezone(APPS_ZONE)
        yield local.month, local.day
    elif found and _exists(int(found[2]), int(found[3])):
        yield int(found[2]), int(found[3])


def _exists(month: int, day: int) -> bool:
    try:
        # a leap year, and that of the apps' fixed dates
        date(2024, month, day)
    except ValueError:
        return False
    return True
