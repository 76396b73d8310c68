"""Calls that a model might get wrong, drawn by seed from each dialect's table of cases, and what becomes of them."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dialect_cases import CASES

from bench_core.agents import (
    ActionResult,
    Done,
    Fail,
    FindElements,
    Goto,
    ModelStepper,
    Observation,
    Point,
    Screenshot,
    TypeText,
)
from bench_core.agents.dialects import all_dialects, dialect_named
from bench_core.errors import AgentError
from bench_core.models import ImagePart, Message, Reply, TextPart, ToolCall
from bench_core.protocols import TrialContext
from bench_core.records import AgentTask

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.agents import Action, Decision
    from bench_core.models.records import ModelRequest

__all__ = ["problems_of"]

SIZE = (1280, 720)
TASK = AgentTask(benchmark="b", task_id="t", goal="Do it.")
EVERYTHING = frozenset(
    kind
    for each in all_dialects().values()
    for member in each.members.values()
    for kind in member.needs
)
PNG = ImagePart(
    data="iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
NOT_NUMBERS: tuple[Any, ...] = ("here", True, {"x": 1}, [[1]], math.nan)
NOT_TEXTS: tuple[Any, ...] = (5, 1.5, False, {"text": "a"}, [["a"]])
HUGE: tuple[Any, ...] = (1e12, -1e12, 10**40, math.inf)
STRICT = frozenset({"renamed", "nested", "of another type", "no arguments", "another tool"})
"""What must be refused, whatever the dialect: nothing of it is what was asked."""


class _Made(NamedTuple):
    """A call that is made: what is wrong with it, what it would be else, and what that means."""

    kind: str
    call: ToolCall
    given: dict[str, Any]
    meant: Any


class _Model:
    """Says what it is given and keeps what it is asked."""

    def __init__(self, provider: str) -> None:
        self.name = f"{provider}:fuzzed"
        self.replies: list[Reply] = []
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest, *, meter: Any = None) -> Reply:
        del meter
        self.requests.append(request)
        return self.replies.pop()


def called(dialect: str, name: str, arguments: dict[str, Any] | None, number: int) -> ToolCall:
    """Return the call of a member as the provider's adapter gives it."""
    made, toolset = f"call_{number}", None
    if dialect.startswith("computer_20"):
        given = None if arguments is None else {"action": name, **arguments}
        return ToolCall(id=made, name="computer", arguments=given)
    if dialect in {"computer", "computer_use_preview"}:
        given = None if arguments is None else {"actions": [{"type": name, **arguments}]}
        return ToolCall(id=made, name="computer", toolset="computer", arguments=given)
    if dialect.startswith("qwen"):
        given = None if arguments is None else {"action": name, **arguments}
        return ToolCall(id=made, name="computer_use", arguments=given)
    if "_toolset" in dialect:
        toolset = dialect.partition("_toolset")[0]
    return ToolCall(id=made, name=name, toolset=toolset, arguments=arguments)


def wrong(
    rng: random.Random, dialect: str, name: str, given: dict[str, Any]
) -> tuple[str, str, Any]:
    """Return what is wrong with a call, its member and its arguments."""
    # an intent is a remark and no part of the act
    given = {k: v for k, v in given.items() if v not in (None, "", []) and k != "intent"}
    kinds = ["another tool", *["missing", "renamed", "huge"] * 3]
    if dialect != "ui_tars_1_5":  # its calls are text, in which nothing has a type
        kinds += ["no arguments", *["of another type", "nested"] * 3]
    kind = rng.choice(kinds) if given else "another tool"
    if kind == "another tool":
        return kind, rng.choice(("teleport", "", "x" * 5000, f"{name} ", "__init__")), given
    if kind == "no arguments":
        return kind, name, None
    # a control's value is of three types, and Qwen's texts are taken as they are written, quotes or not
    free = {"value", *(("text",) if dialect.startswith("qwen") else ())}
    key = rng.choice(sorted(given))
    if key in free and kind in {"of another type", "nested"}:
        kind = "missing"
    rest = {k: v for k, v in given.items() if k != key}
    if kind == "missing":
        return kind, name, rest
    if kind == "renamed":
        return kind, name, {**rest, rng.choice((f"{key}s", key.upper(), f"_{key}")): given[key]}
    return kind, name, {**rest, key: _other(rng, kind, key, given[key])}


def _other(rng: random.Random, kind: str, key: str, value: Any) -> Any:
    """Return another value of an argument."""
    if kind == "nested":
        return rng.choice(({key: value}, [[value]], {"value": [value]}))
    if isinstance(value, str):
        return value * 3000 if kind == "huge" else rng.choice(NOT_TEXTS)
    return _with_number(rng, value, HUGE if kind == "huge" else NOT_NUMBERS)


def _with_number(rng: random.Random, value: Any, others: Sequence[Any]) -> Any:
    """Return a value with one of its numbers replaced."""
    if isinstance(value, list) and value:
        place = rng.randrange(len(value))
        return [*value[:place], _with_number(rng, value[place], others), *value[place + 1 :]]
    if isinstance(value, dict):
        key = rng.choice([k for k in value if k != "type"] or list(value))
        return {**value, key: _with_number(rng, value[key], others)}
    if isinstance(value, bool):
        return {"not": value}
    return rng.choice(NOT_TEXTS if isinstance(value, str) else others)


async def problems_of(dialect: str, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Let a model of a dialect make so many wrong calls; return what became of them, and what should not have.

    Each reply is one to four calls, right ones among them, through the agent itself: what it decides on, what it
    records, what it answers.
    """
    rng = random.Random(f"{dialect} {seed}")  # noqa: S311  # chance, no secrets
    spoken = dialect_named(dialect)
    rows = [row for row in CASES[dialect] if not isinstance(row[2], str)]
    found: Counter[str] = Counter()
    problems: list[str] = []
    stepper, model = _begin(dialect)
    results: tuple[ActionResult, ...] = ()
    for number in itertools.count():
        if found["acted"] + found["refused"] >= count:
            return found, problems
        found["replies"] += 1
        made: list[_Made] = []
        for place in range(rng.choice((1, 1, 2, 3, 4))):
            name, given, meant = rng.choice(rows)
            kind, asked, arguments = "right", name, dict(given)
            if not place or rng.random() < 1 / 2:  # else most replies would end before a wrong one
                kind, asked, arguments = wrong(rng, dialect, name, given)
            call = called(dialect, asked, arguments, 10 * number + place)
            made.append(_Made(kind, call, given, meant))
        rng.shuffle(made)
        shown = "; ".join(
            f"{each.kind}: {each.call.name[:40]} {json.dumps(each.call.arguments)[:300]}"
            for each in made
        )
        model.replies.append(_reply(spoken.provider, [each.call for each in made], dialect))
        seen = Observation(size=SIZE, screenshot=PNG, results=results)
        try:
            decision = await stepper.act(seen)
        except AgentError:  # three in a row
            stepper, model = _begin(dialect)
            results = ()
            continue
        except Exception as error:  # noqa: BLE001  # any at all is what is looked for
            problems.append(f"{shown}: raised {type(error).__name__}: {str(error)[:200]}")
            found["refused"] += 1
            stepper, model = _begin(dialect)
            results = ()
            continue
        problems += [f"{shown}: {each}" for each in _judged(stepper, made, decision, found)]
        results = tuple(ActionResult() for _ in decision.actions)
        if len(model.requests) > 1 and not _answered(model.requests[-1]):
            problems.append(f"{shown}: the calls before were not answered")
    raise AssertionError("unreachable: it counts for ever")


def _judged(  # noqa: C901, PLR0912  # one check after the other
    stepper: ModelStepper, made: Sequence[_Made], decision: Decision, found: Counter[str]
) -> Iterator[str]:
    """Count what became of the calls of one reply, and yield what should not have."""
    actions = list(decision.actions)
    refused = [each.reason for each in decision.refused]
    read = stepper._pending
    textual = stepper._textual  # of a text, what follows a call that cannot be read is no call
    if not textual and len(read) != len(made) and (read or len(made) > 1):
        yield f"{len(made)} calls were read as {len(read)}"
    if not read:
        found["refused"] += 1
        if not refused or actions:
            yield f"no call was read, but {actions!r} done and {refused!r} refused"
        return
    failed = False
    for number, (each, waiting) in enumerate(zip(made, read, strict=False), 1):
        own, actions = actions[: waiting.actions], actions[waiting.actions :]
        if waiting.error is None:
            if failed:
                yield "a call after a refused one was carried out"
            wanted = each.meant if isinstance(each.meant, list) else [each.meant]
            if number < len(read) and len(own) > len(wanted) and isinstance(own[-1], Screenshot):
                own = own[:-1]  # what a call came to is looked at before the next
            yield from _wrong_act(each.kind, own, each.meant)
            if not own:
                yield f"a call of the kind {each.kind} was neither done nor refused"
            found["right" if each.kind == "right" else "acted"] += 1
            continue
        if not refused or own:
            yield f"a refused call was not recorded, or done in part: {own!r}"
            return
        reason = refused.pop(0)
        if not reason.strip() or reason.strip("'\"") in each.given:
            yield f"refused without a reason: {reason!r}"
        if failed:
            found["left out"] += 1
        elif each.kind == "right" and not textual:
            yield f"a right call was refused: {reason}"
        else:
            found["refused"] += 1
        failed = True
    if actions or (refused and not textual):
        yield f"of no call: {actions!r}, {refused!r}"


def _begin(dialect: str) -> tuple[ModelStepper, _Model]:
    spoken = dialect_named(dialect)
    model: Any = _Model(spoken.provider)
    browser = "browser" in spoken.environments
    context = TrialContext(run_id="r", folder=Path())
    stepper = ModelStepper(model, spoken, TASK, context, size=SIZE, browser=browser, images=None)
    stepper._screen = type(stepper._screen)(SIZE, EVERYTHING, browser, TASK)
    return stepper, model


def _reply(provider: str, calls: Sequence[ToolCall], dialect: str) -> Reply:
    parts: tuple[Any, ...] = tuple(calls)
    if dialect == "ui_tars_1_5":
        written = [
            f"{call.name}({', '.join(f'{k}={v!r}' for k, v in (call.arguments or {}).items())})"
            for call in calls
        ]
        parts = (TextPart(text="Thought: t\nAction: " + "\n\n".join(written)),)
    message = Message(role="assistant", parts=parts)
    return Reply(provider=provider, model="fuzzed", message=message, stop="tool_use")


def _wrong_act(kind: str, actions: Sequence[Action], meant: Any) -> list[str]:
    """Return why an act is not one that was asked for."""
    if not actions:
        return []
    if kind in STRICT:
        return [f"became {actions!r}"[:300]]
    wanted = meant if isinstance(meant, list) else [meant]
    if (
        kind == "huge"
        and len(actions) == 1
        and isinstance(actions[0], TypeText | Goto | Done | Fail | FindElements)
    ):
        return []  # a long text is a text
    # what may be missing has a default, which the table of cases pins
    if kind != "missing" and [a.kind for a in actions] != [a.kind for a in wanted]:
        return [f"became {actions!r}"[:300]]
    for action in actions:
        for place in (getattr(action, field, None) for field in ("target", "start", "end")):
            if isinstance(place, Point) and not (0 <= place.x < SIZE[0] and 0 <= place.y < SIZE[1]):
                return [f"is outside the screen: {place!r}"]
    return []


def _answered(request: ModelRequest) -> bool:
    """Whether the last turn of a request answers the calls of the one before it."""
    *_, before, last = request.messages
    calls = {part.id for part in before.parts if isinstance(part, ToolCall)}
    answers = {part.call_id for part in last.parts if part.type == "tool_result"}
    return calls == answers and bool(last.parts)


def draw(dialect: str, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Run `problems_of` to its end."""
    return asyncio.run(problems_of(dialect, count, seed))
