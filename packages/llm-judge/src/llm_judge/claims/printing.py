"""Print a claim in plain English, so that a person can see the facts it checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench_core.records import Record
from bench_core.records.claims import (
    All,
    Before,
    Claim,
    Junction,
    Moment,
    Not,
    Number,
    Quantified,
    Relation,
    Sum,
    TaskClaims,
    Word,
)

__all__ = ["claim_text", "in_english", "task_text"]

_COMPARED = {
    "=": "is", "!=": "is not", "<": "is less than", "<=": "is at most", ">": "is more than",
    ">=": "is at least", "between": "is between",
}  # fmt: skip
_IN_TIME = {**_COMPARED, "<": "is before", "<=": "is not after", ">": "is after", ">=": "is not before"}  # fmt: skip
_KINDS = {"text": "", "exact": ", character for character", "id": ", letters and digits only", "phone": ", digits only",
          "address": ", abbreviations aside", "host": ", as host", "path": ", as path", "email": ", as mail address"}  # fmt: skip


def in_english(assertion: Record) -> str:
    """Return an assertion in words, one condition per line.

    >>> from bench_core.records.claims import Flag
    >>> print(in_english(Flag(op="flag", field="/settings/dark", value=True)))
    /settings/dark is on
    """
    return "\n".join(_lines(assertion))


def claim_text(claim: Claim) -> str:
    """Return a claim with its facts, its checks' findings and whether it decides."""
    strength = {
        "exact": "met exactly if",
        "necessary": "not met unless (this does not show that it is met)",
        "sufficient": "met if (this does not show when it is not)",
    }[claim.strength]
    guard = ", before the run and after it" if claim.guard else ""
    lines = [f"{claim.criterion_id}: {claim.criterion}"]
    if claim.assertion is None:
        lines.append(f"  no field shows it: {claim.reason or 'no reason given'}")
    else:
        lines += [f"  {strength}{guard}:", *(f"    {each}" for each in _lines(claim.assertion))]
    if claim.facts:
        lines.append("  facts:")
        for fact in claim.facts:
            lines.append(f"    {fact.text!r}: {', '.join(fact.fields) or 'bound to no field'}")
    lines += [f"  found: {each}" for each in claim.findings]
    approved = f", approved by {claim.approved_by}" if claim.approved_by else ""
    lines.append(
        f"  {claim.standing}{approved}: {'decides' if claim.decides else 'does not decide'}"
    )
    return "\n".join(lines)


def task_text(task: TaskClaims) -> str:
    """Return all claims of a task, with the words that were placed."""
    words = [
        f"{each.word!r} {'means' if each.same else 'does not mean'} {each.meaning} (so {each.source})"
        for each in task.words
        if each.same is not None
    ]
    by = f"written by {', '.join(task.compiled_by)}" if task.compiled_by else "written by hand"
    return "\n".join(
        [f"{task.case_id}: {task.goal}", f"({by})", *map(claim_text, task.claims), *words]
    )


def _lines(one: Any) -> Iterator[str]:
    if isinstance(one, Junction):
        yield from _listed("all of these:" if one.op == "and" else "one of these or more:", one.of)
    elif isinstance(one, Not):
        yield from _listed("it is not so that:", [one.of])
    elif isinstance(one, Quantified):
        number = {"exists": "at least one", "none": "none", "exactly": f"exactly {one.count}",
                  "at_least": f"at least {one.count}", "at_most": f"at most {one.count}"}[one.op]  # fmt: skip
        yield from _listed(f"{number} of {_over(one)}", [one.where] if one.where else [])
    elif isinstance(one, All):
        least = "" if one.may_be_none else " (and there is one)"
        yield from _listed(f"every one of {_over(one)}{least}", [one.where] if one.where else [])
        yield from _listed("meets:", [one.holds])
    elif isinstance(one, Sum):
        total = f"{_COMPARED[one.compare]} {_range(one)}"
        yield from _listed(
            f"the sum of {_field(one)} over {_over(one)} {total}", [one.where] if one.where else []
        )
    elif isinstance(one, Before):
        yield from _listed("it was there before the run, and then:", [one.of])
    else:
        yield _condition(one)


def _listed(head: str, of: Sequence[Record]) -> Iterator[str]:
    yield head
    for each in of:
        first, *rest = _lines(each)
        yield f"- {first}"
        yield from (f"  {line}" for line in rest)


def _over(one: Quantified | All | Sum) -> str:
    notes = [f"called {one.name}"] if one.name else []
    notes += [f"known by {one.identity}"] if one.identity else []
    notes += ["perhaps not there"] if one.optional else []
    return f"{one.over or 'the state'}{f' ({chr(44).join(notes)})' if notes else ''}"


def _condition(one: Any) -> str:
    return _CONDITIONS[one.op](one)


def _word(one: Word) -> str:
    other = f"; known to differ: {_any_of(one.reject)}" if one.reject else ""
    void = f"; not if {' or '.join(one.void)} is set" if one.void else ""
    return f"{_field(one)} says {one.meaning!r}: {_any_of(one.accept)}{other}{void}"


def _number(one: Number) -> str:
    unit = f" {one.unit}" if one.unit else f" {one.currency}" if one.currency else ""
    marks = f" (written {_any_of(one.marks)})" if one.marks else ""
    return f"{_field(one)} {_COMPARED[one.compare]} {_range(one)}{unit}{marks}"


def _moment(one: Moment) -> str:
    zone = f" in {one.zone}" if one.zone else ""
    stored = f", stored in {one.stored}" if one.stored else ""
    return f"{_field(one)} {_IN_TIME[one.compare]} {_range(one)}{zone}{stored}"


def _relation(one: Relation) -> str:
    words = _IN_TIME if one.kind == "moment" else _COMPARED
    kind = {"text": "", "number": " (as numbers)", "moment": " (as times)"}[one.kind]
    return f"{_field(one)} {words[one.compare]} {one.other}{kind}"


_CONDITIONS: dict[str, Callable[[Any], str]] = {
    "created": lambda _: "it was made by the run",
    "deleted": lambda _: "it is gone after the run",
    "moved": lambda one: f"it was in {one.source} before the run and no longer is",
    "changed": lambda one: f"it was there before the run, with another {_field(one)}",
    "is": lambda one: f"{_field(one)} is {_any_of(one.values)}{_KINDS[one.kind]}",
    "contains": lambda one: f"{_field(one)} contains {_any_of(one.phrases)}",
    "flag": lambda one: f"{_field(one)} is {'on' if one.value else 'off'}",
    "empty": lambda one: f"{_field(one)} is empty",
    "word": _word,
    "number": _number,
    "moment": _moment,
    "relation": _relation,
}


def _field(one: Any) -> str:
    absent = (
        " (perhaps not there)"
        if getattr(one, "optional", False) and not isinstance(one, Sum)
        else ""
    )
    return f"{one.field or 'it'}{absent}"


def _range(one: Sum | Number | Moment) -> str:
    low = (
        f"{one.value:g}"
        if isinstance(one.value, float) and abs(one.value) < 1e5
        else str(one.value)
    )
    return f"{low} and {one.high}" if one.compare == "between" and one.high is not None else low


def _any_of(values: Sequence[str]) -> str:
    return " or ".join(map(repr, values))
