"""Whether genuine evidence proves what a criterion says: checked without a model.

A quotation that stands in the state proves nothing by that: an empty field stands there, too. A pass
needs a quotation from the end state of the app that the criterion names, from a record that the run made where
it says that something was done, and that record has to hold what the criterion states.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_judge.evidence.absence import doubt_of_absence
from llm_judge.evidence.contradictions import NEGATION, contradiction, element_pointer
from llm_judge.evidence.coverage import check_facts
from llm_judge.evidence.fact_match import match_fact, touches
from llm_judge.evidence.fields import Field, field_of
from llm_judge.evidence.provenance import asks_about_text
from llm_judge.language.synonyms import meanings, stem, stems
from llm_judge.language.values import folded, is_identifier, words
from llm_judge.states.locations import Location, is_id_key
from llm_judge.states.pointers import leaves, resolve, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench_core.records.judge import Evidence
    from llm_judge.evidence.judged_state import JudgedState, ResolvedEvidence
    from llm_judge.language.statements import Fact, Statement
    from llm_judge.language.values import ParsedValue

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


class Proof(NamedTuple):
    """The result of checking evidence against a criterion.

    Attributes:
        doubt: Why it does not prove it; `None` where it does.
        unchecked: What no rule could check, and was left to the model.
    """

    doubt: str | None
    unchecked: tuple[str, ...] = ()


@dataclass
class ProofChecker:
    """Checks evidence against its criterion; keeps what it found."""

    judged: JudgedState
    _found: dict[tuple[str, tuple[Evidence, ...]], Proof] = field(default_factory=dict)

    def check(self, text: str, evidence: Sequence[Evidence]) -> Proof:
        """Return whether verified evidence proves a criterion."""
        key = (text, tuple(evidence))
        if key not in self._found:
            self._found[key] = self._check(text, evidence)
        return self._found[key]

    def _check(self, text: str, evidence: Sequence[Evidence]) -> Proof:
        statement = self.judged.statement(text)
        absent = [each for each in evidence if each.kind == "absent" and each.verified]
        present = [
            each
            for each in evidence
            if each.kind != "absent" and each.verified and each.pointer is not None
        ]
        if statement.absent or (statement.conditional and absent):
            doubt = doubt_of_absence(self.judged, statement, absent, present)
            if doubt is None or not statement.conditional:
                return Proof(doubt, statement.vague)
        if not present:
            return Proof("it says that something is so, and nothing was quoted that is")
        return self._presence(text, statement, present)

    def _presence(self, text: str, statement: Statement, evidence: Sequence[Evidence]) -> Proof:
        quoted = [self.judged.resolve(each) for each in evidence]
        pointers = [each for each in statement.facts if each.kind == "pointer"]
        if pointers:
            return self._at_pointer(statement, quoted, pointers)
        asked = frozenset(words(text))
        flaws = [self._flaw(each, text, asked, statement) for each in quoted]
        sound = [each for each, flaw in zip(quoted, flaws, strict=True) if flaw is None]
        if not sound:
            return Proof(next(each for each in flaws if each is not None))
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
                if self._was_done(each.location, done, states_more=bool(statement.facts))
            ]
            if not known:
                return Proof("what is quoted is not what the criterion says was done")
        # an id proves nothing, but the record it stands in may
        others = [
            each
            for each in quoted
            if each not in sound
            and is_id_key(_key(each.location))
            and self.judged.of_app(each, text)
        ]
        records = _distinct(
            [
                *known,
                *(each for each in others if self.judged.index.is_new(each.location) is not False),
            ]
        )
        return self._holds(text, statement, known, records)

    def _was_done(self, location: Location, done: frozenset[str], *, states_more: bool) -> bool:
        """Whether a record may be what a criterion says was done, or is named by it.

        Args:
            location: Where it is.
            done: Meanings of what was done: what was ordered is not in the cart.
            states_more: Whether the criterion says more than that something was done.
        """
        index = self.judged.index
        new = index.is_new(location)
        if (
            new is None
            and not states_more
            and location.app is not None
            and index.is_untouched(location.app)
        ):
            return False  # the app may have been loaded again, or not used at all
        if new is not False:
            if not done or done & stems(" ".join(location.path)) or location.app is None:
                return True
            return not any(done & stems(each) for each in index.collections(location.app))
        return states_more and index.is_linked(location, done)

    def _holds(
        self,
        text: str,
        statement: Statement,
        quoted: Sequence[ResolvedEvidence],
        records: Sequence[ResolvedEvidence],
    ) -> Proof:
        facts = statement.facts or self._of_goal(text)
        asks_text = asks_about_text(text)
        cited = frozenset(each.location.pointer for each in quoted)
        doubt, unchecked, strong = check_facts(
            self.judged, facts, records, asks_text=asks_text, cited=cited
        )
        fields = [each for one in records for each in self.judged.fields(one)]
        if doubt is None:
            doubt = self._mixed(facts, statement, records, asks_text=asks_text)
        if doubt is None:
            doubt = contradiction(self.judged, replace(statement, facts=facts), quoted, records)
        if doubt is None and not strong and not self._is_related(text, facts, quoted, fields):
            doubt = "what is quoted has nothing to do with the criterion"
        return Proof(doubt, (*statement.vague, *unchecked))

    def _mixed(
        self,
        facts: Sequence[Fact],
        statement: Statement,
        records: Sequence[ResolvedEvidence],
        *,
        asks_text: bool,
    ) -> str | None:
        """Return why records that hold the facts only together do not prove one thing."""
        if statement.several or not facts:
            return None
        # a model that may quote anything takes the time of one booking and the place of another
        for one in records:
            alike = [
                each
                for each in records
                if _are_alike(self.judged.state, one.location, each.location)
            ]
            rest = [each for each in records if each not in alike]
            apart = {each.location.record for each in alike}
            if len(apart) < 2:  # one alone mixes nothing
                continue
            whole = all(
                check_facts(
                    self.judged,
                    facts,
                    (*rest, *(each for each in alike if each.location.record == record)),
                    asks_text=asks_text,
                ).doubt
                is None
                for record in apart
            )
            if not whole:
                return "not each of the records quoted holds what the criterion says of one"
        return None

    def _at_pointer(
        self, statement: Statement, quoted: Sequence[ResolvedEvidence], pointers: Sequence[Fact]
    ) -> Proof:
        """Check a criterion that names a pointer: only what stands there proves it."""
        there = [
            each
            for each in quoted
            if any(_is_at(each.location.pointer, fact.text) for fact in pointers)
        ]
        if not there:
            return Proof(f"the criterion names {pointers[0].text}, and something else is quoted")
        fields = [
            field_of(
                pointer,
                each.location.pointer,
                value,
                self.judged.parse(value, each.location),
                free=False,
            )
            for each in there
            for pointer, value in leaves(each.value, each.location.pointer)
        ]
        rest = [each for each in statement.facts if each.kind != "pointer"]
        for fact in rest:
            if (
                "\\" not in fact.text
                and match_fact(fact, fields, text_asked=True).outcome != "held"
                and not _has(fact, there)
            ):
                return Proof(f"what stands at {pointers[0].text} is not {fact.text!r}")
        return Proof(None)

    def _flaw(
        self, quoted: ResolvedEvidence, text: str, asked: frozenset[str], statement: Statement
    ) -> str | None:
        """Return why a quotation cannot prove anything of this criterion."""
        location, value = quoted.location, quoted.value
        # a careless model quotes what comes first: old records, forms, ids, empty fields
        roles = {
            "before": "it is what stood there before the run",
            "gone": "it was removed",
            "actions": "it shows what was tried, not what came of it",
        }
        if location.role in roles or self._is_elsewhere(location, text):
            return roles.get(location.role, "it is not in what the criterion says holds it")
        scalars = [each for _, each in leaves(value) if not isinstance(each, dict | list)]
        if not any(each not in ("", None) and str(each).strip() for each in scalars):
            return "it quotes only empty values"
        if not self.judged.in_named_app(location, text) and not self._is_spoken_of(
            quoted, text, statement
        ):
            named = ", ".join(
                sorted(self.judged.names[each] for each in self.judged.named_apps(text))
            )
            return f"it stands in {location.app.name if location.app else 'no app'}, and the criterion is about {named}"
        if self.judged.index.is_interface(location, asked):
            return "it is a form, search or other state of the interface, not a record"
        if isinstance(value, dict | list):
            return None
        return self._weak(quoted, text, statement)

    def _is_elsewhere(self, location: Location, text: str) -> bool:
        """Whether a criterion says what holds a record, and the app keeps that apart: the cart."""
        if location.role != "after" or location.app is None:
            return False
        kept = frozenset(
            each for key in self.judged.index.collections(location.app) for each in stems(key)
        )
        for found in _HOLDER.finditer(text):
            holder = stems(found[1] or found[2])
            if holder & kept and not holder & stems(" ".join(location.path)):
                return True
        return False

    def _is_spoken_of(self, quoted: ResolvedEvidence, text: str, statement: Statement) -> bool:
        """Whether a criterion that names another app also names this record: `the 'Trip' event`."""
        collection = [each for each in quoted.location.path if not each.isdecimal()][:-1]
        named = set(map(stem, words(" ".join(collection)))) & set(map(stem, words(text)))
        return bool(named) and any(
            fact.kind in {"text", "address"} and fact.parsed.text in each.parsed.text
            for fact in statement.facts
            for each in self.judged.fields(quoted)
            if not each.free
        )

    def _weak(self, quoted: ResolvedEvidence, text: str, statement: Statement) -> str | None:
        """Return why a single value says nothing."""
        key, value = _key(quoted.location), quoted.value
        parsed = self.judged.parse(value, quoted.location)
        stated = any(
            fact.kind in {"text", "name", "address"} and fact.parsed.text in parsed.text
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
            and not any(0 in fact.parsed.numbers for fact in statement.facts)
        ):
            return "it quotes only a zero"
        if not spoken and self._is_constant(quoted) and not _states(statement, parsed):
            return "it quotes what is the same in every record"
        return None

    def _is_constant(self, quoted: ResolvedEvidence) -> bool:
        if quoted.location.collection is None:
            return False
        below = quoted.location.pointer[len(quoted.location.record) :]
        siblings = self.judged.index.siblings(quoted.location)
        return len(siblings) > 2 and all(
            resolve(each, below) == quoted.value for each in siblings
        )  # two may agree by chance

    def _of_goal(self, text: str) -> tuple[Fact, ...]:
        """Return what the goal states of what a criterion calls correct, as alternatives."""
        if not (_CORRECT.search(text) or (_BARE.match(text) and not _VERB.search(text))):
            return ()
        meant = {each for word in words(text) for each in meanings(word)}
        found: list[Fact] = []
        for number, (wanted, kinds) in enumerate((
            ({"name"}, {"text"}), ({"recipient"}, {"address"}), ({"time", "start"}, {"clock"}), ({"date"}, {"day", "weekday"}),
            ({"people"}, {"number"}), ({"pickup", "dropoff", "address"}, {"name", "text"}),
        ), 1):  # fmt: skip
            if wanted & meant:
                stated = [
                    each
                    for each in self.judged.statement(self.judged.goal).facts
                    if each.kind in kinds
                ]
                found += [_as_choice(each, number) for each in stated]
        return tuple(found)

    def _is_related(
        self,
        text: str,
        facts: Sequence[Fact],
        quoted: Sequence[ResolvedEvidence],
        fields: Sequence[Field],
    ) -> bool:
        wanted = stems(text)
        for each in quoted:
            path = " ".join(token for token in each.location.path[-4:] if not token.isdecimal())
            shown = stems(f"{path} {each.value if not isinstance(each.value, dict | list) else ''}")
            if wanted & shown:
                return True
        keys = {word for each in fields for word in stems(" ".join(each.keys))}
        texts = {
            word
            for each in fields
            if isinstance(each.value, str)
            for word in stems(each.value[:200])
        }
        pointers = {each.location.pointer for each in quoted}
        touched = [
            fact for fact in facts if any(touches(fact, f) for f in fields if f.pointer in pointers)
        ]
        named = any(each[0] == "=" for each in wanted & keys)
        return len(wanted & (keys | texts)) > 1 or len(touched) > 1 or (named and bool(touched))


def _states(statement: Statement, parsed: ParsedValue) -> bool:
    return any(
        fact.parsed.clocks & parsed.clocks
        or fact.parsed.numbers & parsed.numbers
        or any(a.agrees(b) for a in fact.parsed.days for b in parsed.days)
        for fact in statement.facts
    )


def _has(fact: Fact, quoted: Sequence[ResolvedEvidence]) -> bool:
    return any(
        fact.text.strip() in str(each.value) or folded(str(each.value)) == fact.parsed.text
        for each in quoted
    )


def _is_at(pointer: str, named: str) -> bool:
    return pointer == named or pointer.startswith(f"{named}/") or pointer.endswith(named)


def _are_alike(state: Any, one: Location, other: Location) -> bool:
    """Whether two records are of one kind and not the same."""
    first, second = resolve(state, one.record), resolve(state, other.record)
    if one.app is not other.app or not isinstance(first, dict) or not isinstance(second, dict):
        return one.record == other.record
    if first == second:
        return one.record == other.record
    shared = len(first.keys() & second.keys())
    return one.record == other.record or shared * 2 >= max(1, len(first.keys() | second.keys()))


def _distinct(quoted: Iterable[ResolvedEvidence]) -> list[ResolvedEvidence]:
    """Return one quotation from each record, and from each element of a list in it."""
    return list({element_pointer(each.location): each for each in quoted}.values())


def _as_choice(fact: Fact, number: int) -> Fact:
    return replace(fact, choice=1_000 + number, near=())


def _key(location: Location) -> str:
    named = [each for each in tokens(location.pointer) or [] if not each.isdecimal()]
    return named[-1] if named else ""
