"""Have a model write the claims of a task: one call for all its criteria, from which every trial is then decided.

The model sees goal, criteria and the shape of the state, never a value of a state that will be judged.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.models import Message, Model, ModelRequest
from bench_core.protocols import Meter
from bench_core.records.claims import Claim, TaskClaims, WordAnswer
from bench_core.records.judge import JudgeCase
from llm_judge.claims.adequacy import Adequacy, check
from llm_judge.claims.decisions import setting_of, task_digest
from llm_judge.claims.evaluation import States, decide, states_of
from llm_judge.claims.shape import shape_of
from llm_judge.states.effects import compact
from llm_judge.states.pointers import MISSING

__all__ = ["compile_claims", "compile_request", "place_words"]

_MOST_INITIAL = 16_000
_MOST_REPLY = 1_000_000
_DEADLINE_S = 300.0

# Its text is part of the cached request: a changed word compiles anew.
INSTRUCTIONS = """\
You translate criteria about the end state of an application into claims that a program decides, the same way for
every attempt at the task. You see the goal, the criteria and the shape of the state: its fields, how their values are
written, and what they held before the run. You do not see any end state. Lists that are empty before the run may be
full after it.

Write a claim so that it is true of every end state in which the criterion is met, in whatever way, and false of every
other one. Bind every fact of the criterion: who, what, which record, how many, how much, when, where, and that it is in
effect (not cancelled, not a draft, not deleted). All facts of one record stand in one `where` of one quantifier; facts
in two quantifiers may be met by two records.

A claim is an assertion, a JSON object with `op`:
- {"op":"and"|"or","of":[...]} and {"op":"not","of":{...}}
- {"op":"exists"|"none"|"exactly"|"at_least"|"at_most","over":"/orders/*","where":{...},"count":2}: how many records of a
  list or map meet `where`. `count` for the last three. "optional":true if a list that is not there counts as empty.
  "name":"o" lets assertions further in read this record as "$o/field". "identity":"/sku" if no field called id, key or
  slug tells records apart.
- {"op":"all","over":...,"where":{...},"holds":{...}}: every record that meets `where` meets `holds`, and there is one
  ("may_be_none":true if there need not be).
- {"op":"sum","over":...,"where":{...},"field":"/amount","compare":">=","value":100}
Conditions on a field of the record at hand (outside quantifiers: of the whole state):
- {"op":"is","field":"/name","values":["Ann Lee"],"kind":"text"}: it is one of these; case, accents and punctuation do
  not matter. Other kinds: "exact", "id", "phone", "address", "host", "path", "email".
- {"op":"contains","field":"/body","phrases":["quarterly report"]}: whole words in a longer text; one of the phrases.
- {"op":"word","field":"/status","meaning":"the order is in effect","accept":["confirmed","paid"],
  "reject":["cancelled","pending"],"void":["/cancelledAt"]}: for words of an open vocabulary (status, type, category,
  role). List every word you can think of on either side (at most 100), in the language of the state; a word on neither side leaves
  the claim undecided. `void`: fields that, when set, take the record out of effect.
- {"op":"flag","field":"/archived","value":false}
- {"op":"empty","field":"/coupon"}: null, "", [] or {}.
- {"op":"number","field":"/total","compare":"=","value":99.5,"currency":"EUR"}: compare is =, !=, <, <=, >, >= or between
  (with "high"). "unit":"km" for measures. "currency" for money, with "marks":["$"] for signs that mean it here and
  "marks":[""] if the field holds a bare number. Without either, a plain number.
- {"op":"moment","field":"/start","compare":"=","value":"2026-07-18T20:30"}: also "2026-07-18" (the day only) or "20:30"
  (the time of day only). "zone":"America/Denver": the zone in which you mean the value, if it is not the world's;
  "stored":"UTC": the zone of stored times that name none, if it is another. Times that end in Z are converted.
- {"op":"relation","field":"/customer","compare":"=","other":"$c/id","kind":"text"}: two fields. kind is "text" (also for
  identifiers), "number" or "moment".
What the run did to the record at hand of a quantifier:
- {"op":"created"}; {"op":"changed","field":"/status"}; {"op":"before","of":{...}}: how it was before.
- {"op":"deleted"}: over "$start/orders/*", the records before the run.
- {"op":"moved","source":"/inbox/*"}: over the list where it is now.

Fields are JSON pointers from the record at hand: "/status", "/guest/name"; "" for the element itself (a list of texts);
"@key" for its key in a map; "/guests/*/name" is met if one of the guests meets it. "$end/..." and "$start/..." begin at
the whole state after and before the run. A condition on a field that is not there is undecided, unless it has
"optional":true, which makes it not met ("empty": met). An `and` with a part that is false is false and an `or` with a
part that is true is true, whatever is undecided beside it; `not` of what is undecided is undecided. Names of records that are keys of a map (an order number, a
cell) are compared with "@key", so that a missing one makes the claim false.

When a criterion asks that something was done (sent, booked, added, changed), say so with created, changed, before, moved
or deleted, so that what was there before the run does not count. Reject words for cancelled and unfinished records
even if the criterion does not name them. If it says "only", "all", "no other", add what forbids the others. For what
must still be as it was (still pending, nothing else changed), set "guard":true.

Reply with one JSON object and nothing else:
{"claims":[{"criterion":"c1","facts":[{"text":"three guests","fields":["/bookings/*/guests"]}, ...],
"strength":"exact","guard":false,"assertion":{...},"reason":""}, ...]}
one claim per criterion, under its id. `facts` first: each thing the criterion says, with the fields (from the shape)
that show it. Then `assertion`. strength: "exact"; "necessary" if some fact has no field, so that the claim being true
does not show all of it; "sufficient" if the criterion can also be met in ways that the claim does not cover. If no
field shows anything of it, give "assertion":null and say in `reason` what is missing. Use field names of the shape
only. Criteria may refer to each other and to the goal."""

_SECOND = """
Work the other way round this time: for each field of the shape ask whether a criterion depends on it; then for each
criterion think of six end states that look right but are not, and of three unusual ways of meeting it, and write the
claim so that it tells them apart."""

_WORDS = """\
Applications use words of their own for the same things. For each numbered pair say whether the word, as an application
would use it in that place, means what is asked: true, false, or null if it cannot be told from the word alone. Reply
with one JSON object and nothing else: {"answers":[{"number":1,"same":true}, ...]}"""


def compile_request(case: JudgeCase, states: Sequence[States], number: int = 1) -> ModelRequest:
    """Return the request for the `number`-th compile.

    Args:
        case: Goal, criteria, zone, locale, currency and today; not its state.
        states: Of one or several trials, for the shape they have in common.
        number: The second compile is asked in another way, so that it errs in another way.
    """
    start = next((each.start for each in states if each.start is not MISSING), None)
    whole = compact(start) if start is not None else ""
    queries = case.metadata.get("checks") or case.metadata.get("queries")
    asked = {
        "goal": case.goal,
        "criteria": [{"id": each.id, "text": each.text} for each in case.criteria],
        "world": {
            "timezone": setting_of(case).zone, "locale": case.locale, "currency": case.currency, "today": case.today,
        },
        **({"queries_of_the_benchmark": queries} if queries else {}),
        **({"before_the_run": start} if whole and len(whole) <= _MOST_INITIAL else {}),
    }  # fmt: skip
    text = f"{json.dumps(asked, ensure_ascii=False, indent=1)}\n\nThe shape of the state:\n{shape_of(states).text}"
    return ModelRequest(
        system=INSTRUCTIONS + (_SECOND if number > 1 else ""),
        messages=(Message.user(text),),
        max_output_tokens=16_000,
        trial=number,
    )


async def compile_claims(
    cases: Sequence[JudgeCase],
    models: Sequence[Model],
    *,
    states: Sequence[Any],
    right: Sequence[Any] = (),
    meter: Meter | None = None,
) -> TaskClaims:
    """Have the claims of one task compiled twice, compared and checked.

    Args:
        cases: Trials of the task: same goal and criteria.
        models: One, asked twice in two ways, or two, asked once each.
        states: The end states of `cases`, for the shape.
        right: End states known to be right, for the checks.
        meter: Receives the usage of the calls.

    Raises:
        InputError: The cases are of several tasks.
        ModelError: The model cannot be asked.
    """
    case = cases[0]
    if len({task_digest(each) for each in cases}) > 1:
        raise InputError("the cases are of several tasks: goal and criteria differ")
    read = [states_of(s, c.initial_state) for s, c in zip(states, cases, strict=True)]
    asked = (models[0], models[-1])
    first, second = await asyncio.gather(
        *(_compiled(case, model, read, number, meter) for number, model in enumerate(asked, 1))
    )
    start = next((each.start for each in read if each.start is not MISSING), None)
    right_states = [states_of(each, case.initial_state) for each in right]
    claims = []
    for one, other in zip(first, second, strict=True):
        found = check(
            one, [each.text for each in case.criteria], case.goal, start,
            right=right_states, other=other, setting=setting_of(case),
        )  # fmt: skip
        claims.append(_checked(one, found))
    return TaskClaims(
        task=task_digest(case), case_id=case.case_id, goal=case.goal, claims=tuple(claims),
        shape=shape_of(read).digest, compiled_by=tuple(model.name for model in asked),
    )  # fmt: skip


def _checked(claim: Claim, found: Adequacy) -> Claim:
    return claim.model_copy(update={"standing": found.standing, "findings": found.findings})


async def _compiled(
    case: JudgeCase, model: Model, states: Sequence[States], number: int, meter: Meter | None
) -> list[Claim]:
    request = compile_request(case, states, number)
    made: dict[str, Claim] = {}
    wrong: dict[str, str] = {}
    for _ in range(2):
        reply = await model.complete(request, deadline_s=_DEADLINE_S, meter=meter)
        claims, wrong = read_claims(reply.text, case)
        made.update(claims)
        if not (wrong := {name: why for name, why in wrong.items() if name not in made}):
            break
        told = "; ".join(f"{name}: {why}" for name, why in wrong.items())
        again = (
            f"Not in form: {told}. Give these claims again, as one JSON object of the same form."
        )
        request = request.model_copy(
            update={"messages": (*request.messages, reply.message, Message.user(again))}
        )
    return [
        made.get(each.id)
        or Claim(
            criterion_id=each.id,
            criterion=each.text,
            reason=f"not in form: {wrong.get(each.id, 'not given')}",
        )
        for each in case.criteria
    ]


def read_claims(text: str, case: JudgeCase) -> tuple[dict[str, Claim], dict[str, str]]:
    """Return the claims of a reply by criterion, and the faults of those that are malformed."""
    asked = {each.id: each.text for each in case.criteria}
    data = _json_of(text)
    listed = data.get("claims") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return {}, dict.fromkeys(asked, 'not one JSON object with "claims"')
    claims: dict[str, Claim] = {}
    wrong = dict.fromkeys(asked, "there is no claim for it")
    for each in listed:
        name = each.get("criterion") if isinstance(each, dict) else None
        if not isinstance(name, str) or name not in asked:
            continue
        known = {
            k: v
            for k, v in each.items()
            if k in {"strength", "assertion", "guard", "facts", "reason"} and v is not None
        }
        try:
            # a criterion given twice: the last claim counts
            claims[name] = Claim(criterion_id=name, criterion=asked[name], **known)
            wrong.pop(name, None)
        except (ValidationError, TypeError, RecursionError) as error:
            wrong[name] = _problem(error)
    return claims, {name: why for name, why in wrong.items() if name not in claims}


def _problem(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return "nested too deeply"
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:200]}: {first['msg'][:200]}"


def _json_of(text: str) -> Any:
    """Return the JSON object of a reply, with any prose or fences around it removed."""
    plain = re.sub(r"<think>.*?</think>", "", text[:_MOST_REPLY], flags=re.DOTALL)
    start, end = plain.find("{"), plain.rfind("}")
    try:
        return json.loads(plain[start : end + 1]) if 0 <= start < end else None
    except (ValueError, RecursionError):
        return None


async def place_words(
    task: TaskClaims,
    cases: Iterable[tuple[JudgeCase, Any]],
    model: Model,
    meter: Meter | None = None,
) -> TaskClaims:
    """Ask once about each word that left a claim of a task undecided in these end states, without the states.

    Raises:
        ModelError: The model cannot be asked.
    """
    known = {(each.meaning, each.word): each.same for each in task.words}
    open_: dict[tuple[str, str], None] = {}
    for case, state in cases:
        states = states_of(state, case.initial_state)
        for claim in task.claims:
            if claim.assertion is not None:
                found = decide(claim.assertion, states, setting_of(case))
                open_.update(dict.fromkeys(word for word in found.words if word not in known))
    if not open_:
        return task
    pairs = [
        {"number": n, "word": word, "asked": meaning} for n, (meaning, word) in enumerate(open_, 1)
    ]
    request = ModelRequest(
        system=_WORDS,
        messages=(Message.user(json.dumps(pairs, ensure_ascii=False)),),
        max_output_tokens=4_000,
    )
    reply = await model.complete(request, deadline_s=_DEADLINE_S, meter=meter)
    data = _json_of(reply.text)
    answers = data.get("answers") if isinstance(data, dict) else None
    told = {
        each.get("number"): each.get("same")
        for each in (answers if isinstance(answers, list) else [])
        if isinstance(each, dict) and isinstance(each.get("same"), bool | None)
        and isinstance(each.get("number"), int)
    }  # fmt: skip
    placed = tuple(
        WordAnswer(meaning=meaning, word=word, same=told.get(n), source=model.name)
        for n, (meaning, word) in enumerate(open_, 1)
    )
    return task.model_copy(update={"words": (*task.words, *placed)})
