"""Whether genuine evidence proves what a criterion says: checked without a model.

That a quotation stands in the state says nothing yet: an empty field stands there, too. A pass needs a
quotation from the end state of the app that the criterion names, from a record that the run made where
it says that something was done, and that record has to hold what the criterion states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_judge.absence import doubt_of_absence
from llm_judge.concepts import ATTRIBUTES, concepts, stem, stems
from llm_judge.holding import facts_held
from llm_judge.matching import SIDES, Field, field_of, hold, touches
from llm_judge.negation import without_examples
from llm_judge.pointers import leaves, resolve, tokens
from llm_judge.readings import folded, is_identifier, words
from llm_judge.surroundings import Place, is_id_key
from llm_judge.taint import asks_about_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench_core.judging import Evidence
    from llm_judge.grounds import Grounds, Quoted
    from llm_judge.readings import Reading
    from llm_judge.stated import Fact, Statement

__all__ = ["Bearing", "Prover"]

_DONE = re.compile(
    r"\b(?:add(?:ed)?|bought|book(?:ed|ing)?|cancel+ed|changed|created|deleted|drafted|favou?rited|invited|made|moved|ordered|"
    r"placed|posted|purchased|removed|renamed|reserv(?:ed|ation)|saved|scheduled|sent|set|shared|submitted|updated)\b",
    re.IGNORECASE,
)
_NEGATION = re.compile(r"\b(?:no|not|never|without)\b|n't\b", re.IGNORECASE)
_PARTICIPLE = re.compile(r"\w+ed|done|draft|made|paid|sent|won")
_IS_A = re.compile(r"\b(?:is|are|was|were)\s+an?\s+((?:[a-z][\w-]*\s+){1,3})([a-z]+)\b")
_PREPOSITIONS = frozenset({"at", "by", "for", "in", "of", "on", "the", "to", "with"})
_KINDS = frozenset({"item", "restaurant", "stay"})
_TELLING = ATTRIBUTES | {"confirmation", "content", "date", "item", "restaurant", "time"}
"""Meanings of keys whose values say which record it is."""
_PARTS = ATTRIBUTES - {"end", "people", "quantity", "start"} | {"content"}
_NOT_PARTS = frozenset(
    [
        "detail",
        "details",
        "from",
        "include",
        "includes",
        "including",
        "list",
        "lists",
        "message",
        "messages",
        "to",
        "where",
    ]
)
_CORRECT = re.compile(
    r"\b(?:correct(?:ly)?|specified|requested|right|required|expected|proper|given)\b",
    re.IGNORECASE,
)
_BARE = re.compile(r"\A(?:verify\s+)?(?:that\s+)?(?:the\s+)[^.]*\Z", re.IGNORECASE)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|exists?|includes?|contains?|mentions?|states?|holds?|lists?|asks?|requests?|shows?|indicates?|expresses|starts?|ends?)\b",
    re.IGNORECASE,
)
_CODES = frozenset(
    {"code", "codes", "confirmation", "id", "ids", "identifier", "number", "numbers", "reference"}
)
_SHORT = 40
"""Longest text that is taken for a time or a day alone."""


class Bearing(NamedTuple):
    """What evidence proves of a criterion.

    Attributes:
        doubt: Why it does not prove it; null where it does.
        unchecked: What no rule could check, and was left to the model.
    """

    doubt: str | None
    unchecked: tuple[str, ...] = ()


@dataclass
class Prover:
    """Holds evidence against its criterion; keeps what it found."""

    grounds: Grounds
    _found: dict[tuple[str, tuple[Evidence, ...]], Bearing] = field(default_factory=dict)

    def bearing(self, text: str, evidence: Sequence[Evidence]) -> Bearing:
        """Return whether verified evidence proves a criterion."""
        key = (text, tuple(evidence))
        if key not in self._found:
            self._found[key] = self._bearing(text, evidence)
        return self._found[key]

    def _bearing(self, text: str, evidence: Sequence[Evidence]) -> Bearing:
        statement = self.grounds.statement(text)
        absent = [each for each in evidence if each.kind == "absent" and each.verified]
        present = [
            each
            for each in evidence
            if each.kind != "absent" and each.verified and each.pointer is not None
        ]
        if statement.absent or (statement.conditional and absent):
            doubt = doubt_of_absence(self.grounds, statement, absent, present)
            if doubt is None or not statement.conditional:
                return Bearing(doubt, statement.vague)
        if not present:
            return Bearing("it says that something is so, and nothing was quoted that is")
        return self._presence(text, statement, present)

    def _presence(self, text: str, statement: Statement, evidence: Sequence[Evidence]) -> Bearing:
        quoted = [self.grounds.quoted(each) for each in evidence]
        pointers = [each for each in statement.facts if each.kind == "pointer"]
        if pointers:
            return self._at_pointer(statement, quoted, pointers)
        asked = frozenset(words(text))
        flaws = [self._flaw(each, text, asked, statement) for each in quoted]
        sound = [each for each, flaw in zip(quoted, flaws, strict=True) if flaw is None]
        if not sound:
            return Bearing(next(each for each in flaws if each is not None))
        known = list(sound)
        if _DONE.search(text):
            done = frozenset(
                each for word in _DONE.findall(text) for each in stems(word) if each[0] == "="
            )
            known = [
                each for each in sound if self._was_done(each.place, done, told=bool(statement.facts))
            ]
            if not known:
                return Bearing("what is quoted is not what the criterion says was done")
        others = [
            each
            for each in quoted
            if each not in sound and is_id_key(_key(each.place)) and self.grounds.of_app(each, text)
        ]
        records = _distinct(
            [
                *known,
                *(each for each in others if self.grounds.around.is_new(each.place) is not False),
            ]
        )
        return self._holds(text, statement, known, records)

    def _was_done(self, place: Place, done: frozenset[str], *, told: bool) -> bool:
        """Whether a record may be what a criterion says was done, or is named by it.

        Args:
            place: Where it is.
            done: Meanings of what was done: what was ordered is not in the cart.
            told: Whether the criterion says more than that something was done.
        """
        around = self.grounds.around
        if around.is_new(place) is not False:
            if not done or done & stems(" ".join(place.path)) or place.app is None:
                return True
            return not any(done & stems(each) for each in around.collections(place.app))
        return told and around.is_linked(place, done)

    def _holds(
        self, text: str, statement: Statement, quoted: Sequence[Quoted], records: Sequence[Quoted]
    ) -> Bearing:
        facts = statement.facts or self._of_goal(text)
        asks_text = asks_about_text(text)
        cited = frozenset(each.place.pointer for each in quoted)
        doubt, unchecked, strong = facts_held(
            self.grounds, facts, records, asks_text=asks_text, cited=cited
        )
        fields = [each for one in records for each in self.grounds.fields(one)]
        if doubt is None:
            doubt = _contradicted(facts, quoted, self.grounds.read) or self._mixed(
                facts, statement, records, asks_text=asks_text
            )
        if doubt is None:
            doubt = _denied(text, records, fields) or _other_kind(text, statement, fields)
        if doubt is None and not self._is_to_the_point(text, facts, quoted, fields):
            doubt = "what is quoted does not say what the criterion is about"
        if doubt is None and not strong and not self._is_related(text, facts, quoted, fields):
            doubt = "what is quoted has nothing to do with the criterion"
        return Bearing(doubt, (*statement.vague, *unchecked))

    def _mixed(
        self,
        facts: Sequence[Fact],
        statement: Statement,
        records: Sequence[Quoted],
        *,
        asks_text: bool,
    ) -> str | None:
        """Return why records that hold the facts only together do not prove one thing."""
        if statement.several or not facts:
            return None
        for one in records:
            alike = [
                each for each in records if _are_alike(self.grounds.state, one.place, each.place)
            ]
            if len(alike) < 2:  # noqa: PLR2004  # one alone mixes nothing
                continue
            rest = [each for each in records if each not in alike]
            whole = any(
                facts_held(self.grounds, facts, (*rest, each), asks_text=asks_text).doubt is None
                for each in alike
            )
            if not whole:
                return "only several records together hold what the criterion says of one"
        return None

    def _at_pointer(
        self, statement: Statement, quoted: Sequence[Quoted], pointers: Sequence[Fact]
    ) -> Bearing:
        """A criterion that names a place is proven by what stands there."""
        there = [
            each
            for each in quoted
            if any(_is_at(each.place.pointer, fact.text) for fact in pointers)
        ]
        if not there:
            return Bearing(f"the criterion names {pointers[0].text}, and something else is quoted")
        fields = [
            field_of(
                pointer, each.place.pointer, value, self.grounds.read(value, each.place), free=False
            )
            for each in there
            for pointer, value in leaves(each.value, each.place.pointer)
        ]
        rest = [each for each in statement.facts if each.kind != "pointer"]
        for fact in rest:
            if (
                "\\" not in fact.text
                and hold(fact, fields, text_asked=True).outcome != "held"
                and not _has(fact, there)
            ):
                return Bearing(f"what stands at {pointers[0].text} is not {fact.text!r}")
        return Bearing(None)

    def _flaw(
        self, quoted: Quoted, text: str, asked: frozenset[str], statement: Statement
    ) -> str | None:
        """Return why a quotation cannot prove anything of this criterion."""
        place, value = quoted.place, quoted.value
        roles = {
            "before": "it is what stood there before the run",
            "gone": "it was removed",
            "actions": "it tells what was tried, not what came of it",
        }
        if place.role in roles:
            return roles[place.role]
        scalars = [each for _, each in leaves(value) if not isinstance(each, dict | list)]
        if not any(each not in ("", None) and str(each).strip() for each in scalars):
            return "it quotes nothing but emptiness"
        if not self.grounds.in_named_app(place, text) and not self._is_spoken_of(
            quoted, text, statement
        ):
            named = ", ".join(
                sorted(self.grounds.names[each] for each in self.grounds.named_apps(text))
            )
            return f"it stands in {place.app.name if place.app else 'no app'}, and the criterion is about {named}"
        if self.grounds.around.is_interface(place, asked):
            return "it is what the interface keeps for itself, not a record"
        if isinstance(value, dict | list):
            return None
        return self._weak(quoted, text, statement)

    def _is_spoken_of(self, quoted: Quoted, text: str, statement: Statement) -> bool:
        """Whether a criterion that names another app also names this record: `the 'Trip' event`."""
        collection = [each for each in quoted.place.path if not each.isdecimal()][:-1]
        named = set(map(stem, words(" ".join(collection)))) & set(map(stem, words(text)))
        return bool(named) and any(
            fact.kind == "text" and fact.said.text in each.reading.text
            for fact in statement.facts
            for each in self.grounds.fields(quoted)
            if "name" in each.own
        )

    def _is_to_the_point(
        self, text: str, facts: Sequence[Fact], quoted: Sequence[Quoted], fields: Sequence[Field]
    ) -> bool:
        """Whether a quotation is itself what the criterion speaks of, not only beside it."""
        if any(isinstance(each.value, dict | list) for each in quoted):
            return True
        pointers = {each.place.pointer for each in quoted}
        cited = [each for each in fields if each.pointer in pointers]
        if any(touches(fact, each) for fact in facts for each in cited):
            return True
        asked = words(without_examples(text))
        meant = {m for word in asked if word not in _NOT_PARTS for m in concepts(word)}
        parts = meant & _PARTS & {own for each in fields for own in each.own}
        if parts and (not facts or any(parts & each.own for each in cited)):
            return any(parts & each.own for each in cited)
        sides = meant & SIDES
        counted = all(fact.kind == "number" for fact in facts)
        return any(
            _TELLING & each.own or (counted and self._is_spoken(each, text))
            for each in cited
            if not isinstance(each.value, bool) or each.keys[-1] in asked
            if not (sides and each.means & SIDES) or sides & each.means
        )

    def _is_spoken(self, cited: Field, text: str) -> bool:
        told = stems(cited.pointer.rpartition("/")[2]) | stems(str(cited.value))
        return bool(stems(text) & told)

    def _weak(self, quoted: Quoted, text: str, statement: Statement) -> str | None:
        """Return why a single value says nothing."""
        key, value = _key(quoted.place), quoted.value
        said = self.grounds.read(value, quoted.place)
        stated = any(
            fact.kind in {"text", "name", "address"} and fact.said.text in said.text
            for fact in statement.facts
        )
        if stated:
            return None
        if is_identifier(str(value)) or (is_id_key(key) and not _CODES & set(words(text))):
            return "it quotes the identifier of a record"
        spoken = stems(key) & stems(text) or {each for each in words(key) if each in words(text)}
        if isinstance(value, bool) and not spoken:
            return "it quotes a flag that the criterion does not speak of"
        if value is False and not _NEGATION.search(text):
            return "it quotes that something is not so"
        if (
            value == 0
            and not spoken
            and not any(0 in fact.said.numbers for fact in statement.facts)
        ):
            return "it quotes nothing but a zero"
        if not spoken and self._is_constant(quoted) and not _states(statement, said):
            return "it quotes what is the same in every record"
        return None

    def _is_constant(self, quoted: Quoted) -> bool:
        if quoted.place.collection is None:
            return False
        below = quoted.place.pointer[len(quoted.place.record) :]
        siblings = self.grounds.around.siblings(quoted.place)
        return len(siblings) > 2 and all(resolve(each, below) == quoted.value for each in siblings)  # noqa: PLR2004  # two may agree by chance

    def _of_goal(self, text: str) -> tuple[Fact, ...]:
        """Return what the goal states of what a criterion calls correct, as alternatives."""
        if not (_CORRECT.search(text) or (_BARE.match(text) and not _VERB.search(text))):
            return ()
        meant = {each for word in words(text) for each in concepts(word)}
        found: list[Fact] = []
        for number, (wanted, kinds) in enumerate((
            ({"name"}, {"text"}), ({"recipient"}, {"address"}), ({"time", "start"}, {"clock"}), ({"date"}, {"day", "weekday"}),
            ({"people"}, {"number"}), ({"pickup", "dropoff", "address"}, {"name", "text"}),
        ), 1):  # fmt: skip
            if wanted & meant:
                stated = [
                    each
                    for each in self.grounds.statement(self.grounds.goal).facts
                    if each.kind in kinds
                ]
                found += [_as_choice(each, number) for each in stated]
        return tuple(found)

    def _is_related(
        self, text: str, facts: Sequence[Fact], quoted: Sequence[Quoted], fields: Sequence[Field]
    ) -> bool:
        wanted = stems(text)
        for each in quoted:
            path = " ".join(token for token in each.place.path[-4:] if not token.isdecimal())
            told = stems(f"{path} {each.value if not isinstance(each.value, dict | list) else ''}")
            if wanted & told:
                return True
        keys = {word for each in fields for word in stems(" ".join(each.keys))}
        texts = {
            word
            for each in fields
            if isinstance(each.value, str)
            for word in stems(each.value[:200])
        }
        pointers = {each.place.pointer for each in quoted}
        told = [
            fact for fact in facts if any(touches(fact, f) for f in fields if f.pointer in pointers)
        ]
        named = any(each[0] == "=" for each in wanted & keys)
        return len(wanted & (keys | texts)) > 1 or len(told) > 1 or (named and bool(told))


def _denied(text: str, records: Sequence[Quoted], fields: Sequence[Field]) -> str | None:
    """Return which flag of a record says that it is not so: `"sent": false` of what was sent."""
    if _NEGATION.search(text):
        return None
    said = {each for each in words(text) if _PARTICIPLE.fullmatch(each)}
    for each in fields:
        direct = each.pointer.rpartition("/")[0] in {one.place.record for one in records}
        if each.value is False and direct and said & set(each.keys[-1:]):
            return f"the record quoted says that {each.keys[-1]!r} is false"
    return None


def _other_kind(text: str, statement: Statement, fields: Sequence[Field]) -> str | None:
    """Return what kind of thing a criterion speaks of and the record does not: `is a pizza restaurant`."""
    for found in _IS_A.finditer(text):
        kind, thing = words(found[1]), found[2]
        telling = [each for each in kind if len(each) > 2 and not concepts(each)]  # noqa: PLR2004
        other = set(kind) & _PREPOSITIONS or set(kind) & set(statement.vague)
        if not _KINDS & concepts(thing) or not telling or other:
            continue
        held = {stem(word) for each in fields for word in words(f"{each.value} {' '.join(each.keys)}")}
        if not any(stem(each) in word for each in telling for word in held):
            return f"the record quoted does not say {' '.join(telling)!r}"
    return None


def _contradicted(
    facts: Sequence[Fact], quoted: Sequence[Quoted], reader: Callable[[Any, Place], Reading]
) -> str | None:
    """Return which quotation is itself another time or day than the one stated."""
    for kind in ("clock", "day"):
        wanted = [each for each in facts if each.kind == kind and each.relation == "is"]
        said = [
            (each, reader(each.value, each.place))
            for each in quoted
            if not isinstance(each.value, dict | list)
        ]
        told = [
            (each, one)
            for each, one in said
            if (one.clocks if kind == "clock" else one.days) and len(one.raw) < _SHORT
        ]  # a time, not a text
        if kind == "clock":
            agree = any(one.clocks & fact.said.clocks for _, one in told for fact in wanted)
        else:
            agree = any(
                a.agrees(b)
                for _, one in told
                for fact in wanted
                for a in one.days
                for b in fact.said.days
            )
        if wanted and told and not agree:
            return f"what is quoted is {told[0][1].raw!r}, not {wanted[0].text!r}"
    return None


def _states(statement: Statement, said: Reading) -> bool:
    return any(
        fact.said.clocks & said.clocks
        or fact.said.numbers & said.numbers
        or any(a.agrees(b) for a in fact.said.days for b in said.days)
        for fact in statement.facts
    )


def _has(fact: Fact, quoted: Sequence[Quoted]) -> bool:
    return any(
        fact.text.strip() in str(each.value) or folded(str(each.value)) == fact.said.text
        for each in quoted
    )


def _is_at(pointer: str, named: str) -> bool:
    return pointer == named or pointer.startswith(f"{named}/") or pointer.endswith(named)


def _are_alike(state: Any, one: Place, other: Place) -> bool:
    """Whether two records are of one kind and not the same."""
    first, second = resolve(state, one.record), resolve(state, other.record)
    if one.app is not other.app or not isinstance(first, dict) or not isinstance(second, dict):
        return one.record == other.record
    if first == second:
        return one.record == other.record
    shared = len(first.keys() & second.keys())
    return one.record == other.record or shared * 2 >= max(1, len(first.keys() | second.keys()))


def _distinct(quoted: Iterable[Quoted]) -> list[Quoted]:
    return list({each.place.record: each for each in quoted}.values())


def _as_choice(fact: Fact, number: int) -> Fact:
    return replace(fact, choice=1_000 + number, near=())


def _key(place: Place) -> str:
    named = [each for each in tokens(place.pointer) or [] if not each.isdecimal()]
    return named[-1] if named else ""
