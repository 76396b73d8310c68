"""Values in one form whatever their notation: clock times, days, numbers, words.

`8:30 PM`, `20:30` and `2026-07-18T20:30` hold the same time; `$1,250.00` and 1250 the same amount.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NUMBER_WORDS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "single": 1, "dozen": 12, "both": 2,
}  # fmt: skip

_MONTH = rf"(?:{'|'.join(MONTHS)})[a-z]*\.?"
CLOCK = re.compile(
    r"(?<![\w:.])(?:(\d{1,2})(?:[:.](\d{2}))?(?::\d{2})?\s*([ap])\.?m\b\.?|(\d{1,2}):(\d{2})(?::\d{2})?(?![\d:]))",
    re.IGNORECASE,
)
NAMED_CLOCK = re.compile(r"\b(noon|midnight)\b", re.IGNORECASE)
MOMENT = re.compile(
    r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::\d{2}(?:\.\d+)?)?\s?(Z|[+-]\d{2}:?\d{2})?)?(?!\d)"
)
SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d{2}))?(?![\d/])")
MONTH_FIRST = re.compile(
    rf"\b({_MONTH})\s+(\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(\d{{4}})(?!\d))?", re.IGNORECASE
)
DAY_FIRST = re.compile(
    rf"(?<![\d:])(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})(?![a-z])(?:,?\s+(\d{{4}})(?!\d))?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,#-])-?[$€£]?\s?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)([kKmM]?)(?![\w])"
)
# digits of web addresses, ids and telephone numbers are no amounts
_NOT_NUMBERS = re.compile(
    r"https?://\S+|[\w.+-]+@[\w-]+\.[\w.-]+|\b[0-9a-f]{8}-[0-9a-f-]{13,}\b|\+\d[\d ()-]{6,}\d",
    re.IGNORECASE,
)
# ids of records; matched against a whole text, so that no price is taken for one
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_HEX_ID = re.compile(r"(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,}", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
# apps abbreviate addresses, criteria mostly do not
_SHORT_FORMS = {
    "st": "street", "ave": "avenue", "av": "avenue", "rd": "road", "blvd": "boulevard", "dr": "drive",
    "apt": "apartment", "apts": "apartments", "ln": "lane", "mt": "mount", "ft": "fort", "hwy": "highway",
    "sq": "square", "ct": "court",
}  # fmt: skip
_EPOCH = range(946_684_800_000, 4_102_444_800_000)  # milliseconds of 2000 to 2100
_NOON, _DAY_MINUTES = 12, 24 * 60
_SPRING, _AUTUMN = ((3, 8), (3, 31)), ((10, 25), (11, 7))
"""Days between which countries of the north put their clocks forward, and back."""

Clock = int
"""Minutes since midnight."""


@dataclass(frozen=True)
class Day:
    """A day; the year is `None` where none is given."""

    month: int
    day: int
    year: int | None = None

    def agrees(self, other: Day) -> bool:
        """Return whether both may be the same day."""
        years = {self.year, other.year} - {None}
        return (self.month, self.day) == (other.month, other.day) and len(years) <= 1

    @property
    def date(self) -> date | None:
        """The date, `None` without a year or where there is no such day."""
        try:
            return None if self.year is None else date(self.year, self.month, self.day)
        except ValueError:
            return None


@dataclass(frozen=True)
class ParsedValue:
    """One scalar, in normal form.

    Attributes:
        clocks: Times of day, of moments in UTC also in the local time of the application.
        days: Days likewise.
        moments: Whole moments, for lengths of time.
        numbers: Numbers that are no part of a time, day, address of the web or identifier.
        text: The text in one case, without accents and punctuation, between spaces.
    """

    clocks: frozenset[Clock] = frozenset()
    days: frozenset[Day] = frozenset()
    moments: tuple[datetime, ...] = ()
    numbers: frozenset[float] = frozenset()
    text: str = " "
    raw: str = field(default="", compare=False)


def parse_value(
    value: Any, offsets: Callable[[datetime], Iterable[timedelta]] | None = None
) -> ParsedValue:
    """Return a scalar in normal form.

    Args:
        value: Any JSON scalar.
        offsets: For a moment in UTC, what the application's local time may differ by.

    >>> sorted(parse_value("2026-07-18T20:30").clocks), parse_value("table for 3, 8:30 pm").numbers
    ([1230], frozenset({3.0}))
    """
    # a flag is no number, although True == 1 in Python
    if isinstance(value, bool) or value is None:
        return ParsedValue(text=folded(str(value)), raw=str(value))
    if isinstance(value, int | float):
        if isinstance(value, int) and value in _EPOCH:
            return _moments([datetime.fromtimestamp(value / 1000, UTC)], offsets, str(value))
        return ParsedValue(
            numbers=frozenset({float(value)}), text=folded(str(value)), raw=str(value)
        )
    text = str(value)
    clocks, days = set(_clocks(text)), set(_days(text))
    moments = []
    for found in MOMENT.finditer(text):
        moment, known = _moment(found)
        if moment is None:
            continue
        moments.append(moment)
        shifted = [moment + each for each in offsets(moment)] if known and offsets else []
        for each in shifted or (moment,):  # known to be UTC, and what local time is
            days.add(Day(each.month, each.day, each.year))
            if found[4]:
                clocks.add(each.hour * 60 + each.minute)
    plain = text if is_identifier(text) else without_moments(text)
    return ParsedValue(
        frozenset(clocks), frozenset(days), tuple(moments),
        frozenset() if is_identifier(text) else frozenset(numbers_in(plain)), folded(text), text,
    )  # fmt: skip


def numbers_in(text: str) -> list[float]:
    """Return the numbers of a text, written in digits or (to twelve) in words.

    >>> numbers_in("two lamps for $1,250.50")
    [1250.5, 2.0]
    """
    found = [
        float(number.replace(",", "")) * {"k": 1e3, "m": 1e6}.get(unit.lower(), 1)
        for number, unit in _NUMBER.findall(_NOT_NUMBERS.sub(" ", text))
    ]
    return [*found, *(float(NUMBER_WORDS[w]) for w in text.lower().split() if w in NUMBER_WORDS)]


def without_moments(text: str) -> str:
    """Return a text without its times and days, so that their digits are no numbers."""
    for each in (MOMENT, CLOCK, MONTH_FIRST, DAY_FIRST, SLASHED):
        text = each.sub(" ", text)
    return text


def folded(text: str) -> str:
    """Return the words of a text, lower case, without accents, between spaces.

    >>> folded("8 Mission St., San José")
    ' 8 mission street san jose '
    """
    # criteria and apps differ in accents and in typographic apostrophes
    plain = unicodedata.normalize("NFKD", text.replace("&", " and ")).casefold()
    plain = "".join(each for each in plain if not unicodedata.combining(each))
    found = _WORD.findall(plain.replace("'s", " ").replace("\u2019s", " "))
    return f" {' '.join(_SHORT_FORMS.get(word, word) for word in found)} "


def words(text: str) -> list[str]:
    """Return the words of a text or of a camelCase name, lower case.

    >>> words("bookingDetails")
    ['booking', 'details']
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return [each.lower() for each in _WORD.findall(apart)]


def is_identifier(text: str) -> bool:
    """Return whether a text is a machine's name for a record."""
    return _UUID.fullmatch(text) is not None or _HEX_ID.fullmatch(text) is not None


def inferred_offsets(records: Iterable[Any]) -> Callable[[datetime], Iterable[timedelta]]:
    """Return what local time may differ from UTC by, inferred from records that last whole days.

    An event from 06:00Z to 06:00Z some days later begins at a local midnight. For a moment in the
    other half of the year an hour either way is allowed for, since there may be summer time.

    >>> offsets = inferred_offsets([{"start": "2026-07-01T06:00:00Z", "end": "2026-07-03T06:00:00Z"}])
    >>> sorted(each.total_seconds() / 3600 for each in offsets(datetime(2026, 8, 1, 9)))
    [-6.0]
    """
    found: dict[bool | None, set[timedelta]] = {True: set(), False: set(), None: set()}
    for record in records:
        stamps = (
            [MOMENT.fullmatch(v) for v in record.values() if isinstance(v, str)]
            if isinstance(record, dict)
            else []
        )
        known = [_moment(each) for each in stamps if each is not None and each[4]]
        utc = [moment for moment, is_utc in known if is_utc and moment is not None]
        for one, other in itertools.pairwise(utc):
            # zones that differ by half hours are not inferred: then only UTC counts
            if one != other and not (other - one) % timedelta(days=1) and not one.minute:
                hours = one.hour if one.hour <= _NOON else one.hour - 24
                found[_is_summer(one)].add(timedelta(hours=-hours))

    def offsets(moment: datetime) -> Iterable[timedelta]:
        summer = _is_summer(moment)
        if summer is not None and found[summer]:
            return found[summer]
        known = set[timedelta]().union(*found.values())
        return {each + timedelta(hours=more) for each in known for more in (-1, 0, 1)}

    return offsets


def _is_summer(moment: datetime) -> bool | None:
    """Whether it is summer time where there is one; `None` in the weeks in which clocks change."""
    day = (moment.month, moment.day)
    if _SPRING[0] <= day <= _SPRING[1] or _AUTUMN[0] <= day <= _AUTUMN[1]:
        return None
    return _SPRING[1] < day < _AUTUMN[0]


def zone_offsets(name: str) -> Callable[[datetime], Sequence[timedelta]]:
    """Return what local time in a zone differs by, for a moment.

    Raises:
        ZoneInfoNotFoundError: There is no such zone.
    """
    zone = ZoneInfo(name)

    def offsets(moment: datetime) -> Sequence[timedelta]:
        found = moment.replace(tzinfo=UTC).astimezone(zone).utcoffset()
        return [] if found is None else [found]

    return offsets


def _moments(
    found: Sequence[datetime], offsets: Callable[[datetime], Iterable[timedelta]] | None, raw: str
) -> ParsedValue:
    naive = [each.replace(tzinfo=None) for each in found]
    local = [m + o for m in naive for o in (timedelta(), *(offsets(m) if offsets else ()))]
    return ParsedValue(
        frozenset(each.hour * 60 + each.minute for each in local),
        frozenset(Day(each.month, each.day, each.year) for each in local),
        tuple(naive),
        text=folded(raw),
        raw=raw,
    )


def _moment(found: re.Match[str]) -> tuple[datetime | None, bool]:
    """Return a moment as it is written, and whether it is in UTC."""
    year, month, day, hour, minute, zone = found.groups()
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0))  # noqa: DTZ001  # as written
    except ValueError:
        return None, False
    return at, zone == "Z"


def _clocks(text: str) -> Iterable[Clock]:
    rest = MOMENT.sub(" ", text)
    for hour, minute, half, hour24, minute24 in CLOCK.findall(rest):
        if half and 1 <= int(hour) <= _NOON:
            yield int(hour) % 12 * 60 + int(minute or 0) + (720 if half.lower() == "p" else 0)
        elif hour24 and int(hour24) * 60 + int(minute24) < _DAY_MINUTES:
            yield int(hour24) * 60 + int(minute24)
    for name in NAMED_CLOCK.findall(rest):
        yield 720 if name.lower() == "noon" else 0


def _days(text: str) -> Iterable[Day]:
    rest = MOMENT.sub(" ", text)
    for month, day, year in MONTH_FIRST.findall(rest):
        yield from _day(MONTHS.index(month[:3].lower()) + 1, day, year)
    for day, month, year in DAY_FIRST.findall(rest):
        yield from _day(MONTHS.index(month[:3].lower()) + 1, day, year)
    for month, day, year in SLASHED.findall(rest):
        yield from _day(int(month), day, year)


def _day(month: int, day: str, year: str) -> Iterable[Day]:
    full = None if not year else int(year) + (2000 if len(year) == 2 else 0)  # 24 for 2024
    if 1 <= month <= 12 and 1 <= int(day) <= 31:  # of the calendar
        yield Day(month, int(day), full)
