"""The readings of a scalar: a notation that can be read in two ways has two readings, and none is guessed.

A condition on a value holds if every reading meets it, fails if none does, and is undecidable
otherwise. Names of months and marks of currencies are those of CLDR (Babel), units those of Pint;
without the extra `llm-judge[values]` conditions that need them are undecidable.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable  # the first also in annotations below
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from itertools import permutations
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

__all__ = [
    "CLOCK",
    "MomentReading",
    "Setting",
    "all_agree",
    "compared",
    "contains_phrase",
    "currencies_of",
    "folded",
    "in_unit",
    "moment_readings",
    "normal_form",
    "number_readings",
]

LONGEST_TEXT = 200_000
_LONGEST_MOMENT = 80
_LOCALES = (
    "ar", "bg", "ca", "cs", "da", "de", "de_CH", "el", "en", "en_AU", "en_CA", "en_GB", "en_IN", "en_NZ", "es",
    "es_MX", "es_AR", "et", "fa", "fi", "fr", "fr_CA", "he", "hi", "hr", "hu", "id", "it", "ja", "ko", "lt", "lv",
    "nb", "nl", "pl", "pt", "pt_PT", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh", "zh_TW",
)  # fmt: skip
# a number as any country writes it: 1,234.50 or 1 234,50
_DIGITS = re.compile(r"\d(?:[\d.,'\u2019\u00a0\u202f ]{0,40}\d)?")
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:[.,]\d{1,9})?)?\s?(Z|[+-]\d\d:?\d\d)?)?"
)
# a time of day: 3 pm, 3:05 p.m., 14:30 or 14h30
CLOCK = re.compile(
    r"(?<![\d.:])(?:(\d{1,2})(?:[:.h](\d\d))?(?::\d\d)?\s?([ap])\.?m\b\.?|(\d{1,2})[:h](\d\d)(?::\d\d)?(?![\d:]))", re.IGNORECASE
)  # fmt: skip
# a day in numbers: 30.11.2026, 11/30/26 or 2026-11-30
_NUMERIC_DAY = re.compile(r"(?<!\d)(\d{1,4})([./-])\s?(\d{1,2})(?:\2\s?(\d{4}|\d{2}))?\.?(?!\d)")
# groups of thousands, and of two digits as in India: 1,234,567 or 12,34,567
_GROUPED = re.compile(r"\d{1,3}(?P<mark>[.,])(?:\d{2,3}(?P=mark))*\d{3}")
_EPOCH_S = range(946_684_800, 4_102_444_800)  # 2000 to 2100
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u2e80-\ud7ff]")  # scripts without spaces between words
_UNIT = re.compile(r"[^\W\d_\u00b0\u00b5]?[\w\u00b0\u00b5\u00b2\u00b3/%]{1,20}")


@dataclass(frozen=True)
class Setting:
    """The zone, locale and currency of a case's world; None: unknown."""

    zone: str | None = None
    locale: str | None = None
    currency: str | None = None


@dataclass(frozen=True)
class MomentReading:
    """A day without a year, a day, a time, or both; `at`, in UTC, is set if the zone is known."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    minute: int | None = None
    at: datetime | None = None

    def local(self, zone: str | None, stored: str | None) -> MomentReading | None:
        """Return the reading in a zone; None if one of the zones must be known and is not."""
        moment = self.at
        if moment is None and (self.minute is None or zone == stored):
            return self
        if zone is None or (moment is None and (stored is None or self.year is None)):
            return None
        try:
            if moment is None:
                naive = datetime(self.year or 1, self.month or 1, self.day or 1) + timedelta(  # noqa: DTZ001  # zone follows
                    minutes=self.minute or 0
                )
                moment = naive.replace(tzinfo=ZoneInfo(stored or "UTC"))
            there = moment.astimezone(ZoneInfo(zone))
        except (OSError, ValueError, OverflowError, KeyError):
            return None  # no such zone, or a day outside the calendar
        return MomentReading(
            there.year, there.month, there.day, there.hour * 60 + there.minute, moment
        )


@lru_cache(maxsize=20_000)
def folded(text: str) -> str:
    """Return the words of a text in one case, without accents and punctuation.

    >>> folded("  São-Paulo, 12. STRASSE ")
    'sao paulo 12 strasse'
    """
    plain = unicodedata.normalize("NFKD", text.replace("&", " and ").casefold())
    return " ".join(
        re.findall(r"[^\W_]+", "".join(c for c in plain if not unicodedata.combining(c)))
    )


def contains_phrase(text: str, phrase: str) -> bool:
    """Return whether the words of `phrase` follow each other in `text`, markup aside."""
    sought = folded(phrase)
    if not sought:
        return False
    for form in (text, html.unescape(re.sub(r"<[^<>]{0,2000}>", " ", text))):
        words = folded(form)
        if f" {sought} " in f" {words} " or (_UNSPACED.search(sought) and sought in words):
            return True
    return False


def normal_form(kind: str, text: str) -> str:
    """Return a text in the form in which texts of its kind are compared; see `Is`."""
    plain = text.strip()
    try:
        return _FORMS[kind](plain) if kind in _FORMS else folded(plain)
    except ValueError:  # an address of the web with half a bracket
        return plain


def _letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


_FORMS: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text,
    "email": lambda text: text.rpartition("<")[2].rstrip(">").removeprefix("mailto:").casefold(),
    "id": _letters,
    "phone": lambda text: "".join(c for c in _letters(text) if c.isdecimal()).lstrip("0"),
    "host": lambda text: (
        urlsplit(text if "://" in text else f"//{text}").hostname or ""
    ).removeprefix("www."),
    "path": lambda text: (
        unquote(urlsplit(text).path if "://" in text else text).replace("\\", "/").rstrip("/")
        or "/"
    ),
}


def same_text(kind: str, text: str, value: str) -> bool:
    """Return whether a stored text is `value`, both of one kind."""
    one, other = normal_form(kind, text), normal_form(kind, value)
    if not other or one == other:
        return one == other and bool(one)
    if kind == "phone":  # with and without the country's prefix
        return min(len(one), len(other)) >= 7 and (one.endswith(other) or other.endswith(one))
    if kind == "address":
        words, sought = one.split(), other.split()
        pairs = zip(words, sought, strict=False)
        return len(words) >= len(sought) and all(_abbreviates(*pair) for pair in pairs)
    return False


def _abbreviates(one: str, other: str) -> bool:
    """Whether one word may be short for the other, its letters in order, as `blvd` for `boulevard`."""
    short, long = sorted((one, other), key=len)
    letters = iter(long)
    return one == other or (
        2 <= len(short) <= 4 and short.isalpha() and short[0] == long[0]
        and all(c in letters for c in short)
    )  # fmt: skip


def all_agree(truths: Iterable[bool | None]) -> bool | None:
    """Return the truth that all readings agree on; None if they differ or there are none."""
    found = set(truths)
    return found.pop() if len(found) == 1 else None


def compared(compare: str, value: Any, to: Any, high: Any = None) -> bool:
    """Return whether `value` compares so with `to`; `between` with `to` and `high`."""
    tests: dict[str, Callable[[], bool]] = {
        "=": lambda: value == to, "!=": lambda: value != to,
        "<": lambda: value < to, "<=": lambda: value <= to,
        ">": lambda: value > to, ">=": lambda: value >= to,
        "between": lambda: to <= value <= (to if high is None else high),
    }  # fmt: skip
    return tests[compare]()


@lru_cache(maxsize=20_000)
def number_readings(
    value: str | float, locale: str | None = None
) -> tuple[frozenset[Decimal], str]:
    """Return the numbers that a scalar may be, and the text around the number (a currency, a unit).

    >>> sorted(number_readings("1.234 €")[0]), number_readings("1.234,50 EUR")
    ([Decimal('1.234'), Decimal('1234')], (frozenset({Decimal('1234.50')}), 'EUR'))
    """
    if isinstance(value, int | float):
        in_range = abs(value) < 1e30  # false for NaN, too
        return frozenset({Decimal(repr(value))} if in_range else ()), ""
    text = unicodedata.normalize("NFKC", value[:200]).strip().replace("\u2212", "-")
    found = _DIGITS.findall(text)
    before, _, after = text.partition(found[0]) if found else (text, "", "")
    # letters at the digits: `5kg` has a unit, `EUR5` a currency; `T-5`, `1e`, `5k` are not numbers
    name = re.search(r"([^\W\d_]+)[-/_#]?$", before)
    glued = re.match(r"[^\W\d_]+", after)
    coded = glued is not None and len(glued[0]) == 1 and glued[0] not in "gmlLhs\u20ac"
    if len(found) != 1 or len(value) > 200 or coded or (name and not currencies_of(name[1])):
        return frozenset(), ""
    amounts = _amounts(found[0], locale)
    around = re.sub(r"^[-+\s(]+|[-+\s.:)]+$", "", f"{before} {after}")
    if "(" in before and ")" in after:  # accountants write negative amounts in parentheses
        amounts |= {-each for each in amounts}
    elif re.search(r"(?:^|\s)-\s?[^\w\s]{0,3}\s?$|[^\w\s]\s?-$|^-", before) or after.strip() == "-":
        amounts = frozenset(-each for each in amounts)
    return amounts, around


def _amounts(digits: str, locale: str | None) -> frozenset[Decimal]:
    plain = re.sub(r"(?<=\d)['\u2019\u00a0\u202f ](?=\d{3}(?!\d))", "", digits)
    marks = re.findall(r"[^\d]", plain)
    if not set(marks) <= {".", ","}:
        return frozenset()
    readings: dict[str, Decimal] = {}
    last = marks[-1] if marks else "."
    head, _, tail = plain.rpartition(last)
    if not marks or (head != "0" and _GROUPED.fullmatch(plain)):
        readings["whole"] = Decimal(re.sub(r"[.,]", "", plain))
    if marks.count(last) == 1 and (len(marks) == 1 or _GROUPED.fullmatch(head)):
        readings["decimal"] = Decimal(f"{re.sub('[.,]', '', head)}.{tail}")
    if len(readings) > 1 and locale is not None and (point := _decimal_point(locale)) is not None:
        return frozenset({readings["decimal" if point == last else "whole"]})
    return frozenset(readings.values())


def in_unit(amounts: Iterable[Decimal], written: str, unit: str) -> frozenset[Decimal] | None:
    """Convert from unit `written` to `unit`; empty if they measure different things, None if that is unknown."""
    if written == unit:
        return frozenset(amounts)
    units = _units()
    if units is None or not _UNIT.fullmatch(written) or not _UNIT.fullmatch(unit):
        return None
    try:
        ours, theirs = units.Unit(unit), units.Unit(written)
        if ours.dimensionality != theirs.dimensionality:
            return frozenset()
        made = [units.Quantity(float(each), theirs).to(ours).magnitude for each in amounts]
        return frozenset(Decimal(repr(round(each, 9))) for each in made)
    except Exception:  # noqa: BLE001  # Pint raises its own errors, and those of its unit parser
        return None


@lru_cache(maxsize=4_000)
def currencies_of(mark: str) -> frozenset[str]:
    """Return the currencies (ISO 4217) that a sign, code or name may stand for."""
    return _currency_marks().get(mark.strip().casefold().strip("()"), frozenset())


@lru_cache(maxsize=20_000)
def moment_readings(value: str | float, locale: str | None = None) -> frozenset[MomentReading]:
    """Return the days and times that a scalar may be.

    >>> sorted(each.month for each in moment_readings("03/04/2026"))
    [3, 4]
    """
    if isinstance(value, int | float):
        return _of_epoch(value)
    text = re.sub(
        "[\u5e74\u6708](?=\\d)", "-", unicodedata.normalize("NFKC", value).strip()
    ).rstrip("\u65e5")
    if text.isdecimal() and len(text) in {10, 13}:
        return _of_epoch(int(text))
    if (iso := _ISO.fullmatch(text)) is not None:
        return _of_iso(iso)
    return _of_words(text, locale) if len(text) <= _LONGEST_MOMENT else frozenset()


def _of_words(text: str, locale: str | None) -> frozenset[MomentReading]:
    clock = CLOCK.search(text)
    rest = CLOCK.sub(" ", text, count=1)
    minute = None if clock is None else _minute_of(clock)
    utc = re.search(r"\b(UTC|GMT|Z)\b\s*$", rest)
    # `CST` is several zones, and a time without its offset is another
    zones = [w for w in re.findall(r"\b[A-Z]{1,3}T\b", rest) if w.casefold() not in _month_names()]
    offset = set(zones) - {"GMT"} or re.search(r"[+-]\d\d:?\d\d\s*$", rest)
    unclear = offset or (utc and minute is None) or (clock is not None and minute is None)
    days = None if unclear else _days(rest[: utc.start()] if utc else rest, locale)
    if days is None or (not days and minute is None):
        return frozenset()
    readings = {MomentReading(*day, minute) for day in days} or {MomentReading(minute=minute)}
    return frozenset(_placed(each) for each in readings) if utc else frozenset(readings)


def _minute_of(clock: re.Match[str]) -> int | None:
    hour, past, half = int(clock[1] or clock[4]), int(clock[2] or clock[5] or 0), clock[3]
    if past > 59 or hour > (12 if half else 23) or (half and hour == 0):
        return None
    return (hour % 12 + 12 * (half.lower() == "p") if half else hour) * 60 + past


def _placed(reading: MomentReading) -> MomentReading:
    if reading.year is None or reading.month is None or reading.day is None:
        return reading
    at = datetime(reading.year, reading.month, reading.day, tzinfo=UTC)
    return MomentReading(at=at + timedelta(minutes=reading.minute or 0), minute=reading.minute)


def _of_epoch(value: float) -> frozenset[MomentReading]:
    seconds = value / 1000 if abs(value) < 1e15 and int(value / 1000) in _EPOCH_S else value
    if not abs(seconds) < 1e15 or int(seconds) not in _EPOCH_S:
        return frozenset()
    at = datetime.fromtimestamp(seconds, UTC)
    return frozenset({MomentReading(at=at, minute=at.hour * 60 + at.minute)})


def _of_iso(iso: re.Match[str]) -> frozenset[MomentReading]:
    try:
        moment = datetime.fromisoformat(
            iso[0].replace(",", ".").replace(" ", "T", 1).replace(" ", "")
        )
    except ValueError:
        return frozenset()
    minute = None if iso[4] is None else moment.hour * 60 + moment.minute
    if moment.tzinfo is not None:
        try:
            return frozenset({MomentReading(at=moment.astimezone(UTC), minute=minute)})
        except OverflowError:
            return frozenset()
    return frozenset({MomentReading(moment.year, moment.month, moment.day, minute)})


def _days(text: str, locale: str | None) -> set[tuple[int | None, int, int]] | None:
    """Return year, month and day of each reading; None if the text holds digits it cannot place."""
    numeric = _NUMERIC_DAY.search(text)
    if numeric is not None:
        if re.search(r"\d", text[: numeric.start()] + text[numeric.end() :]):
            return None
        first, mark, second, third = numeric.groups()
        if len(first) > 2:
            orders = {(first, second, third)} if third is not None and len(third) == 2 else set()
        else:
            orders = {(third, b, a) for a, b in permutations((first, second))}
            if mark == "." or (locale and _day_first(locale)):
                orders = {(third, second, first)}
            elif locale and _day_first(locale) is False:
                orders = {(third, first, second)}
        made = {_day(*each) for each in orders}
        return {each for each in made if each is not None} or None
    words = re.findall(r"[^\W\d_]+", text)
    numbers = re.findall(r"\d+", text)
    if not numbers:
        return set()
    named = [_month_names()[w.casefold()] for w in words if w.casefold() in _month_names()]
    years = [each for each in numbers if len(each) == 4]
    days = [each for each in numbers if len(each) <= 2]
    if (
        len(named) != 1
        or len(days) != 1
        or len(years) + len(days) != len(numbers)
        or len(years) > 1
    ):
        return None
    made = {_day(years[0] if years else None, month, days[0]) for month in named[0]}
    return {each for each in made if each is not None} or None


def _day(year: str | None, month: str | int, day: str) -> tuple[int | None, int, int] | None:
    full = None if year is None else int(year) + (2000 if len(year) == 2 else 0)
    try:
        date(2024 if full is None else full, int(month), int(day))
    except ValueError:
        return None
    return full, int(month), int(day)


# --- Tables of Babel and Pint, read once; without the packages all is unknown ---


@cache
def _month_names() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for locale in _babel_locales():
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for month, name in locale.months.get(context, {}).get(width, {}).items():
                    for word in re.findall(r"[^\W\d_]+", name.casefold()):
                        if len(word) > 2:  # `de` in `de marzo` is not a month
                            found[word].add(month)
    return {word: frozenset(months) for word, months in found.items() if len(months) < 4}


@cache
def _currency_marks() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for locale in _babel_locales():
        for code, sign in locale.currency_symbols.items():
            found[sign.casefold()].add(code)
        for code, name in locale.currencies.items():
            found[code.casefold()].add(code)
            found[name.casefold()].add(code)
    for code in {code for codes in found.values() for code in codes}:
        found[code.casefold()] = {code}
    return {mark: frozenset(codes) for mark, codes in found.items()}


@cache
def _babel_locales() -> tuple[Any, ...]:
    try:
        from babel import Locale  # the extra
    except ImportError:
        return ()
    return tuple(Locale.parse(name) for name in _LOCALES)


@cache
def _decimal_point(locale: str) -> str | None:
    found = _locale(locale)
    return None if found is None else str(found.number_symbols["latn"]["decimal"])


@cache
def _day_first(locale: str) -> bool | None:
    found = _locale(locale)
    if found is None:
        return None
    pattern = found.date_formats["short"].pattern
    return None if pattern.startswith("y") else pattern.find("d") < pattern.find("M")


def _locale(name: str) -> Any:
    try:
        from babel import Locale, UnknownLocaleError  # the extra

        try:
            return Locale.parse(name.replace("-", "_"))
        except (UnknownLocaleError, ValueError, TypeError):
            return None
    except ImportError:
        return None


@cache
def _units() -> Any:
    try:
        from pint import UnitRegistry  # the extra
    except ImportError:
        return None
    return UnitRegistry()
