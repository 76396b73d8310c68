"""What a criterion states: the times, days, numbers, amounts, names and words a record must hold.

Read from its English by rules, without a model. What the rules do not understand they leave out, so
that nothing is demanded which the criterion may not mean: what is left out is the model's to judge.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from llm_judge.language.negation import QUOTED, asks_for_absence, without_examples
from llm_judge.language.proper_names import capital_runs, is_name
from llm_judge.language.values import (
    CLOCK,
    DAY_FIRST,
    MOMENT,
    MONTH_FIRST,
    NAMED_CLOCK,
    NUMBER_WORDS,
    SLASHED,
    WEEKDAYS,
    parse_value,
    words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from llm_judge.language.values import ParsedValue

CLAUSE = ","
"""Stands between the words before a fact and those after it."""

Kind = Literal["clock", "day", "weekday", "number", "length", "text", "name", "address", "pointer"]
Relation = Literal["is", "at most", "below", "at least", "above", "between"]

_POINTER = re.compile(r"(?<![\w/:.])/[^\s,;'\"()]+(?:/[^\s,;'\"()]+)+")
# how far to look for the end of a pointer whose keys hold spaces
_LONGEST_POINTER = 500
_CONDITION = re.compile(r"\b(?:if|unless|otherwise|in case|whether)\b[^,.;]*", re.IGNORECASE)
_WEB = re.compile(
    r"https?://[^\s'\")]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|net|org|io|app|co)/[\w/-]+"
)
_LENGTH = re.compile(
    r"\b(\d+(?:\.\d+)?|an?|half an?|"
    + "|".join(NUMBER_WORDS)
    + r")[\s-]+(minute|min|hour|hr|night|day|week)s?\b(?:[\s-]+and[\s-]+(\d+)[\s-]+min(?:ute)?s?\b)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,/#-])([$€£]\s?)?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)(?![\w,.]*\d)(?:-?([a-z]+))?|(?<![\w-])("
    + "|".join(each for each in NUMBER_WORDS if each != "both") + r")(?![\w]|-way\b)",
    re.IGNORECASE,
)  # fmt: skip
_SPOKEN_CLOCK = re.compile(
    rf"\b(?:half|quarter)\s+(?:past|to)\s+(?:{'|'.join(NUMBER_WORDS)})\b", re.IGNORECASE
)
_ORDINAL = re.compile(r"\b\d+(?:st|nd|rd|th)\b", re.IGNORECASE)
_BEFORE: tuple[tuple[Relation, str], ...] = (
    ("at most", r"(?:at most|up to|no more than|not more than|maximum(?: of)?|max\.?|no later than|not later than|not after|by|within|(?:at|on) or before|not exceed(?:ing)?)"),
    ("below", r"(?<!\bno )(?<!\bnot )(?<!\bor )(?:under|less than|fewer than|below|cheaper than|lower than|before|earlier than|until)"),
    ("at least", r"(?:at least|(?:at|on) or after|minimum(?: of)?|min\.?|no less than|not less than|no fewer than|no earlier than|not earlier than|not before|starting from)"),
    ("above", r"(?<!\bno )(?<!\bnot )(?<!\bor )(?:over|more than|above|greater than|higher than|after|later than|exceed(?:s|ing)?)"),
)  # fmt: skip
_AFTER: tuple[tuple[Relation, str], ...] = (
    ("at least", r"(?:or|and) (?:more|better|higher|above|later|greater|over)|\+|stars? (?:or|and) (?:more|better|higher|above|up)|minimum"),
    ("at most", r"(?:or|and) (?:less|lower|fewer|earlier|below|cheaper|under)|maximum"),
)  # fmt: skip
# these compare with other records, or with today: no rule here can
_VAGUE = re.compile(
    r"\b(?:cheapest|lowest|highest|best|top|nearest|closest|most \w+|earliest|latest|fastest|shortest|longest|largest|smallest|"
    r"first|last|well[- ]rated|relevant|appropriate|friendly|fun|polite|near|nearby|walking distance|similar|same|different|distinct|"
    r"tomorrow|today|tonight|yesterday|next|morning|afternoon|evening|follows?|immediately|average|median|total|combined)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Fact:
    """One thing that a record must hold.

    Attributes:
        text: As the criterion writes it.
        parsed: The same in normal form.
        relation: How a record's value must stand to it.
        other: The other bound, for `between`.
        near: Words of the criterion around it, the nearest first; `CLAUSE` between the two sides.
        choice: Facts with the same number are alternatives.
        minutes: A length of time.
    """

    kind: Kind
    text: str
    parsed: ParsedValue
    relation: Relation = "is"
    other: ParsedValue | None = None
    near: tuple[str, ...] = ()
    choice: int = 0
    minutes: float | None = None


@dataclass(frozen=True)
class Statement:
    """What a criterion states.

    Attributes:
        vague: Words that no rule can check, which are left to the model.
        conditional: Whether it says what must be so only in some case.
        absent: Whether it says that something is not so.
        several: Whether it speaks of several records.
    """

    text: str
    facts: tuple[Fact, ...]
    vague: tuple[str, ...] = ()
    conditional: bool = False
    absent: bool = False
    several: bool = False


def parse_criterion(
    text: str,
    goal: str = "",
    is_app: Callable[[str], bool] = lambda _: False,
    is_place: Callable[[str], bool] = lambda _: False,
) -> Statement:
    """Return what `text` states.

    Args:
        text: A criterion.
        goal: Distinguishes names from words that only begin a sentence.
        is_app: Whether a name is an application's, which the record need not repeat.
        is_place: Whether something stands at a pointer; finds the end of one whose keys hold spaces.

    >>> [(each.kind, each.text) for each in parse_criterion("A table for 3 at 8:30 PM at Old Mill").facts]
    [('clock', '8:30 PM'), ('name', 'Old Mill'), ('number', '3')]
    """
    text = text.replace("\u2019", "'")
    plain = without_examples(text)
    vague = tuple(dict.fromkeys(each.lower() for each in _VAGUE.findall(plain)))
    conditional = _CONDITION.search(plain) is not None
    # what must be so only in some case is not demanded; the model judges it
    plain = _CONDITION.sub(lambda found: " " * len(found[0]), plain)
    parser = _FactParser(plain, goal, is_app, is_place)
    facts = tuple(parser.facts())
    return Statement(
        text,
        facts,
        (*vague, *(("if",) if conditional else ())),
        conditional,
        asks_for_absence(text),
        any(
            each.kind == "number" and each.parsed.numbers and max(each.parsed.numbers) > 1
            for each in facts
        )
        or re.search(
            r"\b(?:both|each|every|all|respectively|either|first|second|several|multiple)\b",
            plain,
            re.IGNORECASE,
        )
        is not None,
    )


class _FactParser:
    """Takes facts out of a text, each kind leaving blanks for the next.

    The order matters: "8:30" is a time before its digits are numbers, "8 Mission Street" a name
    before its 8 is a number.
    """

    def __init__(
        self,
        text: str,
        goal: str,
        is_app: Callable[[str], bool],
        is_place: Callable[[str], bool],
    ) -> None:
        self.text = text
        self.rest = text
        self.goal = goal
        self.is_app = is_app
        self.is_place = is_place
        self._choices = 0

    def facts(self) -> Iterator[Fact]:
        yield from self._pointers()
        yield from self._quoted()
        yield from self._take("address", _WEB)
        yield from self._lengths()
        yield from self._moments()
        yield from self._names()
        yield from self._numbers()

    def _blank(self, start: int, end: int) -> None:
        self.rest = f"{self.rest[:start]}{' ' * (end - start)}{self.rest[end:]}"

    def _pointers(self) -> Iterator[Fact]:
        for found in _POINTER.finditer(self.rest):
            named = self._whole_pointer(found)
            self._blank(found.start(), found.start() + len(named))
            yield Fact("pointer", named, parse_value(""))

    def _whole_pointer(self, found: re.Match[str]) -> str:
        """Return a pointer as far as it leads somewhere: `/fares/Basic Economy/total is 152`."""
        following = self.text[found.start() : found.start() + _LONGEST_POINTER]
        longer = [each.end() for each in re.finditer(r"\S+", following)]
        for end in reversed(longer):
            named = following[:end].rstrip(".,;:'\")")
            if len(named) > len(found[0]) and self.is_place(named):
                return named
        return found[0].rstrip(".")

    def _quoted(self) -> Iterator[Fact]:
        found = list(QUOTED.finditer(self.rest))
        for number, each in enumerate(found):
            quoted = next(group for group in each.groups() if group is not None).strip()
            joined = number and re.fullmatch(
                r"[\s,]*(?:or|/)\s+(?:\w+\s+)?", self.rest[found[number - 1].end() : each.start()]
            )
            self._choices += 0 if joined else 1
            for fact in self._of_quotation(quoted, each.start(), each.end()):
                yield replace(fact, choice=self._choices)
        for each in found:
            self._blank(*each.span())

    def _of_quotation(self, quoted: str, start: int, end: int) -> Iterable[Fact]:
        parsed = parse_value(quoted)
        near = self._near(start, end)
        if not parsed.text.strip():
            return
        kind: Kind = "text"
        if _WEB.fullmatch(quoted):
            kind = "address"
        elif CLOCK.fullmatch(quoted):
            kind = "clock"
        elif any(each.fullmatch(quoted) for each in (MONTH_FIRST, DAY_FIRST, MOMENT, SLASHED)):
            kind = "day"
        elif re.sub(r"^(?:this|next|on) ", "", quoted.lower()) in WEEKDAYS:
            kind = "weekday"
        yield Fact(kind, quoted, parsed, near=near)

    def _take(self, kind: Kind, pattern: re.Pattern[str]) -> Iterator[Fact]:
        for found in pattern.finditer(self.rest):
            near = self._near(*found.span())
            self._blank(*found.span())
            yield Fact(
                kind,
                found[0].rstrip("."),
                parse_value(found[0].rstrip(".")),
                self._relation(*found.span()),
                near=near,
            )

    def _lengths(self) -> Iterator[Fact]:
        unit = {
            "minute": 1,
            "min": 1,
            "hour": 60,
            "hr": 60,
            "night": 1440,
            "day": 1440,
            "week": 10080,
        }
        before: float | None = None
        for found in _LENGTH.finditer(self.rest):
            amount, name, more = found.groups()
            self._blank(*found.span())
            word = amount.lower()
            value = (
                0.5
                if word.startswith("half")
                else 1.0
                if word in {"a", "an"}
                else NUMBER_WORDS.get(word) or float(word)
            )
            minutes = value * unit[name.lower()] + float(more or 0)
            if minutes != before and not (name.lower() == "day" and word in {"a", "an", "one"}):
                yield Fact(
                    "length",
                    found[0],
                    parse_value(value),
                    self._relation(*found.span()),
                    near=(name.lower(),),
                    minutes=minutes,
                )
            before = minutes

    def _moments(self) -> Iterator[Fact]:
        text = re.sub(  # "October 28th to 30th" names two days of one month
            r"\b([A-Z][a-z]{2,8}\.?)(\s+\d{1,2}(?:st|nd|rd|th)?\s*(?:to|-|\u2013|through|until|and)\s*)(\d{1,2}(?:st|nd|rd|th)?)(?![\d:]|\s*[ap]\.?m)",
            lambda m: f"{m[1]}{m[2]}{m[1]} {m[3]}" if MONTH_FIRST.match(f"{m[1]} 1") else m[0], self.rest,
        )  # fmt: skip
        grown = text != self.rest
        if grown:
            self.rest = self.text = text
        for kind, pattern in (
            ("day", MOMENT),
            ("clock", CLOCK),
            ("clock", NAMED_CLOCK),
            ("day", MONTH_FIRST),
            ("day", DAY_FIRST),
            ("day", SLASHED),
        ):
            for fact in self._take(kind, pattern):  # type: ignore[arg-type]  # both are kinds
                yield from self._split(fact)
        weekday = re.compile(rf"\b({'|'.join(WEEKDAYS)})s?\b", re.IGNORECASE)
        yield from self._take("weekday", weekday)
        self.rest = re.sub(
            r"\b(?:Pacific|Mountain|Central|Eastern|Greenwich)\b(?:\s+(?:Standard|Daylight|Mean))?\s+Time\b",
            " ",
            self.rest,
        )
        for found in (*_SPOKEN_CLOCK.finditer(self.rest), *_ORDINAL.finditer(self.rest)):
            self._blank(*found.span())

    def _split(self, fact: Fact) -> Iterator[Fact]:
        """A moment with a time states a day and a time."""
        if fact.kind == "day" and fact.parsed.clocks:
            yield replace(fact, kind="clock")
        if fact.kind == "clock" or fact.parsed.days:
            yield fact

    def _names(self) -> Iterator[Fact]:
        for start, end, name in capital_runs(self.rest):
            if is_name(name, start, self.text, self.goal):
                near = self._near(start, end)
                self._blank(start, end)
                if not self.is_app(name):
                    yield Fact("name", name, parse_value(name), near=near)
            elif self.is_app(name):
                self._blank(start, end)

    def _numbers(self) -> Iterator[Fact]:
        found = list(_NUMBER.finditer(self.rest))
        skip = -1
        for number, each in enumerate(found):
            if number == skip:
                continue
            text = each[2] or each[4]
            parsed = parse_value(
                float(NUMBER_WORDS[text.lower()]) if each[4] else float(text.replace(",", ""))
            )
            following = self.rest[each.end() :]
            fact = Fact(
                "number",
                each[0].strip(),
                parsed,
                self._relation(*each.span()),
                near=self._near_number(each),
            )
            if number + 1 < len(found) and re.fullmatch(
                r"\s*(?:-|\u2013|to|and)\s*[$\u20ac\u00a3]?",
                self.rest[each.end() : found[number + 1].start()],
            ):
                lead = re.search(
                    r"(?:between|range|from|within)\W*$", self.rest[: each.start()], re.IGNORECASE
                )
                second = found[number + 1]
                if (lead or "range" in following[:40].lower()) and second[2]:
                    skip = number + 1
                    fact = replace(
                        fact,
                        relation="between",
                        other=parse_value(float(second[2].replace(",", ""))),
                        text=f"{fact.text} to {second[0].strip()}",
                    )
            yield fact

    def _relation(self, start: int, end: int) -> Relation:
        before, after = self.text[max(0, start - 40) : start], self.text[end : end + 30]
        before = re.sub(  # "before the dinner at 8 PM"
            r"\b(after|before)\s(?:the\s)?(?:\w+\s){1,3}(?:at|on)\s\Z", r"\1 ", before
        )
        if before.endswith("("):  # "at or after the earliest departure (7 PM)"
            before = re.split(r"[.;,!?]|\band\b", self.text[max(0, start - 80) : start])[-1]
            before = re.sub(r"(\bafter|\bbefore|\bthan)\s[^()]*\(\Z", r"\1 ", before)
        for relation, pattern in _AFTER:
            if re.match(rf"\s*(?:\w+\s+)?(?:{pattern})", after, re.IGNORECASE):
                return relation
        for relation, pattern in _BEFORE:
            if re.search(
                rf"\b{pattern}\s*(?:the\s+|a\s+|of\s+|around\s+|[$€£(])*\Z", before, re.IGNORECASE
            ):
                return relation
        return "is"

    def _near(self, start: int, end: int) -> tuple[str, ...]:
        """Words around, nearest first, those before it first; not beyond a clause."""
        before = re.split(r"[.;!?]", self.text[:start])[-1]
        after = re.split(r"[.;,!?]|\band\b", self.text[end:])[0]
        preceding = words(before)[-12 if before.endswith("(") else -5 :]
        if not preceding:
            return tuple(words(after)[:5])
        return (*reversed(preceding), CLAUSE, *words(after)[:2])

    def _near_number(self, found: re.Match[str]) -> tuple[str, ...]:
        after = words(re.split(r"[.;,!?]", self.text[found.end() :])[0])[:2]
        before = re.split(r"[.;!?]", self.text[: found.start()])[-1]
        unit = words(found[3]) if found[3] else []
        money = ["price"] if found[1] else []
        return (*money, *unit, *after, *reversed(words(before)[-7:]))
