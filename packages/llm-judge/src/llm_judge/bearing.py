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
from llm_judge.concepts import concepts, stem, stems
from llm_judge.holding import facts_held
from llm_judge.matching import Field, field_of, hold, touches
from llm_judge.objections import NEGATION, element, objection
from llm_judge.pointers import leaves, resolve, tokens
from llm_judge.readings import folded, is_identifier, words
from llm_judge.surroundings import Place, is_id_key
from llm_judge.taint import asks_about_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench_core.judging import Evidence
    from llm_judge.grounds import Grounds, Quoted
    from llm_judge.readings import Reading
    from llm_judge.stated import Fact, Statement

__all__ = ["Bearing", "Prover"]

_DONE = re.compile(
    r"\b(?:add(?:ed)?|bought|book(?:ed|ing)?|cancel+ed|changed|created|deleted|drafted|favou?rited|invited|made|moved|ordered|"
    r"placed|posted|published|purchased|removed|renamed|reserv(?:ed|ation)|saved|scheduled|sent|set|shared|submitted|updated|"
    r"(?<=was )\w+ed|(?<=were )\w+ed|(?<=been )\w+ed)\b",
    re.IGNORECASE,
)
_THINGS = frozenset({"add", "book", "booking", "reservation"})
_HOLDER = re.compile(
    r"\b(?:in|into|on|to) the (\w+)|\bthe (\w+) (?:contains|has|holds|includes)\b", re.IGNORECASE
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
                each
                for word in _DONE.findall(text)
                if word.lower() not in _THINGS
                for each in stems(word)
                if each[0] == "="
            )
            known = [
                each
                for each in sound
                if self._was_done(each.place, done, told=bool(statement.facts))
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
        new = around.is_new(place)
        if new is None and not told and place.app is not None and around.is_untouched(place.app):
            return False  # the app may have been loaded again, or not used at all
        if new is not False:
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
            doubt = self._mixed(facts, statement, records, asks_text=asks_text)
        if doubt is None:
            doubt = objection(self.grounds, replace(statement, facts=facts), quoted, records)
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
            rest = [each for each in records if each not in alike]
            apart = {each.place.record for each in alike}
            if len(apart) < 2:  # noqa: PLR2004  # one alone mixes nothing
                continue
            whole = all(
                facts_held(
                    self.grounds,
                    facts,
                    (*rest, *(each for each in alike if each.place.record == record)),
                    asks_text=asks_text,
                ).doubt
                is None
                for record in apart
            )
            if not whole:
                return "not each of the records quoted holds what the criterion says of one"
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
        if place.role in roles or self._is_elsewhere(place, text):
            return roles.get(place.role, "it is not in what the criterion says holds it")
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

    def _is_elsewhere(self, place: Place, text: str) -> bool:
        """Whether a criterion says what holds a record, and the app keeps that apart: the cart."""
        if place.role != "after" or place.app is None:
            return False
        kept = frozenset(
            each for key in self.grounds.around.collections(place.app) for each in stems(key)
        )
        for found in _HOLDER.finditer(text):
            holder = stems(found[1] or found[2])
            if holder & kept and not holder & stems(" ".join(place.path)):
                return True
        return False

    def _is_spoken_of(self, quoted: Quoted, text: str, statement: Statement) -> bool:
        """Whether a criterion that names another app also names this record: `the 'Trip' event`."""
        collection = [each for each in quoted.place.path if not each.isdecimal()][:-1]
        named = set(map(stem, words(" ".join(collection)))) & set(map(stem, words(text)))
        return bool(named) and any(
            fact.kind in {"text", "address"} and fact.said.text in each.reading.text
            for fact in statement.facts
            for each in self.grounds.fields(quoted)
            if not each.free
        )

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
        if isinstance(value, bool) and not (spoken and (value or NEGATION.search(text))):
            return "it quotes a flag that the criterion does not speak of, or that is not set"
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
        touched = [
            fact for fact in facts if any(touches(fact, f) for f in fields if f.pointer in pointers)
        ]
        named = any(each[0] == "=" for each in wanted & keys)
        return len(wanted & (keys | texts)) > 1 or len(touched) > 1 or (named and bool(touched))


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
    """Return one quotation from each record, and from each element of a list in it."""
    return list({element(each.place): each for each in quoted}.values())


def _as_choice(fact: Fact, number: int) -> Fact:
    return replace(fact, choice=1_000 + number, near=())


def _key(place: Place) -> str:
    named = [each for each in tokens(place.pointer) or [] if not each.isdecimal()]
    return named[-1] if named else ""
