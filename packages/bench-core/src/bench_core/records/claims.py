"""A criterion as a small typed assertion about an end state, which code decides without a model.

An assertion reads fields of the record at hand, which is the end state itself until a quantifier steps into the
records of a list or map. A field is a JSON pointer from that record (`/status`, `/guest/name`), `@key` for its key
in a map, or `""` for the record itself; `$name/status` reads a record that an outer quantifier calls `name`,
`$end/...` and `$start/...` the states after and before the run. A step `*` stands for every element; a condition
on such a field is met if one of the elements meets it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bench_core.records import Record

__all__ = [
    "All",
    "Assertion",
    "Before",
    "Changed",
    "Claim",
    "ClaimStanding",
    "Contains",
    "Created",
    "Deleted",
    "Empty",
    "Fact",
    "Flag",
    "Is",
    "Junction",
    "Moment",
    "Moved",
    "Not",
    "Number",
    "Quantified",
    "Relation",
    "Sum",
    "TaskClaims",
    "Word",
    "WordAnswer",
]

_MOST_DEPTH = 24
_Text = Annotated[str, Field(max_length=2_000)]
_Texts = Annotated[tuple[_Text, ...], Field(min_length=1, max_length=100)]
_Path = Annotated[str, Field(max_length=500, pattern=r"^(?:\$[A-Za-z_]\w*)?(?:/[^/]*)*$")]
_FieldName = Annotated[
    str, Field(max_length=500, pattern=r"^(?:\$[A-Za-z_]\w*)?(?:@key|(?:/[^/]*)*)$")
]
_Amount = Annotated[float, Field(ge=-1e15, le=1e15, allow_inf_nan=False)]
Comparison = Literal["=", "!=", "<", "<=", ">", ">=", "between"]
"""`between` includes both ends."""


class Junction(Record):
    """All of several assertions (`and`), or at least one of them (`or`)."""

    op: Literal["and", "or"]
    of: Annotated[tuple[Assertion, ...], Field(min_length=1, max_length=100)]


class Not(Record):
    """The negation; an undecidable assertion stays so."""

    op: Literal["not"]
    of: Assertion


class _OverRecords(Record):
    """An assertion on the records at `over` that meet `where`; `Quantified` describes the fields."""

    over: _Path
    where: Assertion | None = None
    name: Annotated[str, Field(pattern=r"^[A-Za-z_]\w{0,39}$")] | None = None
    identity: _FieldName | None = None
    optional: bool = False


class Quantified(_OverRecords):
    """How many of the records at `over` meet `where`.

    Attributes:
        over: The list or map with a `*` for its elements: `/orders/*`, or `/items/*` within a record.
        name: By which assertions further in read this record.
        identity: The field by which a record before the run and one after it are the same; found out if absent.
        optional: A list that is not there counts as empty; else the assertion is undecidable then.
    """

    op: Literal["exists", "none", "exactly", "at_least", "at_most"]
    count: Annotated[int, Field(ge=0, le=10**9)] = 1


class All(_OverRecords):
    """Every record at `over` that meets `where` meets `holds`, and there is at least one unless `may_be_none`."""

    op: Literal["all"]
    holds: Assertion
    may_be_none: bool = False


class Sum(_OverRecords):
    """The numbers in `field` of the records at `over` that meet `where`, added up and compared."""

    op: Literal["sum"]
    field: _FieldName
    compare: Comparison
    value: _Amount
    high: _Amount | None = None


class _OfField(Record):
    """A condition on one field; a record without the field is undecidable unless it is `optional`."""

    field: _FieldName
    optional: bool = False


class Is(_OfField):
    """The field holds one of `values`, in the normal form of its kind.

    Attributes:
        kind: `text`: case, accents, punctuation and spaces aside. `exact`: character for character. `id`, `phone`: letters and
            digits only. `address`: with its usual abbreviations. `host`: of a web address, without `www.`; `path`:
            its path or that of a file, without a slash at the end. `email`: without case.
    """

    op: Literal["is"]
    kind: Literal["text", "exact", "id", "phone", "address", "host", "path", "email"] = "text"
    values: _Texts


class Contains(_OfField):
    """The field's text holds one of `phrases`, as whole words."""

    op: Literal["contains"]
    phrases: _Texts


class Word(_OfField):
    """The field holds a word of an open vocabulary, such as a status, with the given `meaning`.

    Attributes:
        accept: Words that mean it.
        reject: Words known to mean something else; any other word leaves the assertion undecidable.
        void: Fields that, when set, take the record out of effect whatever the word says (`/cancelledAt`).
    """

    op: Literal["word"]
    meaning: _Text
    accept: _Texts
    reject: Annotated[tuple[_Text, ...], Field(max_length=100)] = ()
    void: Annotated[tuple[_FieldName, ...], Field(max_length=20)] = ()


class Flag(_OfField):
    """The field is true, or false; also as `yes`, `no`, `on`, `off`, 1, 0."""

    op: Literal["flag"]
    value: bool


class Empty(_OfField):
    """The field holds null, an empty text, list or object."""

    op: Literal["empty"]


class Number(_OfField):
    """The field holds a number, an amount of money or a measure that compares as stated.

    Attributes:
        unit: In which `value` is (`km`, `kg`, `min`); the field's own is converted.
        currency: ISO 4217. A field that names none, or a mark of several currencies, is undecidable unless the
            world's currency is known or the mark is in `marks` ("" for a bare number).
    """

    op: Literal["number"]
    compare: Comparison = "="
    value: _Amount
    high: _Amount | None = None
    unit: Annotated[str, Field(max_length=30)] | None = None
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] | None = None
    marks: Annotated[tuple[_Text, ...], Field(max_length=20)] = ()


class Moment(_OfField):
    """The field holds a day, a time of day or both that compare as stated.

    Attributes:
        value: `2026-07-18`, `20:30` or `2026-07-18T20:30`; only the given parts are compared.
        zone: IANA name of the zone in which `value` is meant; the world's zone if absent.
        stored: The zone of a stored time that names none; that of `zone` if absent.
    """

    op: Literal["moment"]
    compare: Comparison = "="
    value: Annotated[str, Field(pattern=r"^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?|\d\d:\d\d)$")]
    high: (
        Annotated[str, Field(pattern=r"^(?:\d{4}-\d\d-\d\d(?:T\d\d:\d\d)?|\d\d:\d\d)$")] | None
    ) = None
    zone: Annotated[str, Field(max_length=60)] | None = None
    stored: Annotated[str, Field(max_length=60)] | None = None


class Relation(_OfField):
    """The field compares as stated with another field, usually one of an outer record (`$order/customer`)."""

    op: Literal["relation"]
    kind: Literal["text", "number", "moment"] = "text"
    compare: Literal["=", "!=", "<", "<=", ">", ">="] = "="
    other: _FieldName


class Created(Record):
    """The record at hand was not there before the run."""

    op: Literal["created"]


class Deleted(Record):
    """The record at hand, read over `$start/...`, is no longer there."""

    op: Literal["deleted"]


class Moved(Record):
    """The record at hand was among those at `source` before the run and no longer is."""

    op: Literal["moved"]
    source: _Path


class Changed(Record):
    """The record at hand was there before, with another value in `field`."""

    op: Literal["changed"]
    field: _FieldName


class Before(Record):
    """The record at hand was there before the run, and was then as in `of`."""

    op: Literal["before"]
    of: Assertion


Assertion = Annotated[
    Junction
    | Not
    | Quantified
    | All
    | Sum
    | Is
    | Contains
    | Word
    | Flag
    | Empty
    | Number
    | Moment
    | Relation
    | Created
    | Deleted
    | Moved
    | Changed
    | Before,
    Field(discriminator="op"),
]
"""True, false or undecidable of an end state."""

ClaimStanding = Literal["unchecked", "adequate", "inadequate", "disputed"]
"""The outcome of a claim's checks; `disputed`: two compiles of the criterion differ on some state."""


class Fact(Record):
    """One fact of the criterion, with the fields that the assertion reads for it; none: unbound."""

    text: _Text
    fields: Annotated[tuple[_Text, ...], Field(max_length=50)] = ()


class Claim(Record):
    """A criterion as an assertion.

    Attributes:
        strength: `exact`: true if and only if the criterion is met. `necessary`: the criterion cannot be met
            if it is false. `sufficient`: the criterion is met if it is true.
        assertion: None if no field of the state shows it; `reason` then names the missing field.
        guard: It holds before the run and must still hold after it.
        facts: The facts the criterion states, one by one.
        findings: The findings of the checks.
        approved_by: The person that read it and found it right.
    """

    criterion_id: str = Field(min_length=1)
    criterion: str
    strength: Literal["exact", "necessary", "sufficient"] = "exact"
    assertion: Assertion | None = None
    guard: bool = False
    facts: Annotated[tuple[Fact, ...], Field(max_length=100)] = ()
    reason: str = ""
    standing: ClaimStanding = "unchecked"
    findings: tuple[str, ...] = ()
    approved_by: str | None = None

    @model_validator(mode="after")
    def _shallow(self) -> Claim:
        level: list[Record] = [] if self.assertion is None else [self.assertion]
        for _ in range(_MOST_DEPTH):
            level = [below for each in level for below in members(each)]
        if level:
            raise ValueError(f"an assertion is nested at most {_MOST_DEPTH} deep")
        return self

    @property
    def decides(self) -> bool:
        """Whether its truth is a proof: a person approved it, or the checks found it adequate."""
        return self.approved_by is not None or self.standing == "adequate"


class WordAnswer(Record):
    """Whether a word of an open vocabulary has the meaning of a claim's `Word`; None: undecidable."""

    meaning: str
    word: str
    same: bool | None
    source: str


class TaskClaims(Record):
    """The claims of one task: one line of a file of claims.

    Attributes:
        task: Digest of goal and criteria, by which a case finds its claims.
        case_id: Of the case it was compiled from, for people.
        shape: Digest of the fields and formats that the claims were bound to.
        compiled_by: The models, one per compile; or the author of the claims.
    """

    schema_version: Literal[1] = 1
    task: str
    case_id: str
    goal: str
    claims: tuple[Claim, ...]
    shape: str = ""
    compiled_by: tuple[str, ...] = ()
    words: tuple[WordAnswer, ...] = ()


def members(assertion: Record) -> tuple[Record, ...]:
    """Return the assertions right inside one."""
    found = [getattr(assertion, name, None) for name in ("of", "where", "holds")]
    flat = [each for one in found for each in (one if isinstance(one, tuple) else (one,))]
    return tuple(each for each in flat if isinstance(each, Record))


for _record in (Junction, Not, Quantified, All, Sum, Before, Claim, TaskClaims):
    _record.model_rebuild()
