"""Plausible mistakes, planted into queries in which `lint` finds nothing: how many it finds, and mends."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import jmespath
import pytest
from test_support.query_states import is_met, met_states, variants

from multireal_harness.eval_rules.queries import QueryError, compile_query
from multireal_harness.lint.rules import lint_eval
from multireal_harness.lint.syntax import normalise, unparse
from multireal_harness.lint.values import nearest_day
from multireal_harness.states.schemas import shipped_schemas
from multireal_harness.tasks import load_definitions, resolve_tasks_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from multireal_harness.definitions import Definition, Eval

SCHEMAS = shipped_schemas()
_EACH = 18
_seeded = random.Random  # a draw, no secret
_NAME = r"(?<=\.)(?!added|updated|deleted|differences)[a-z][A-Za-z]{3,}(?=[\s.\[=!)])"


def _shorter(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1 :]


MISTAKES: dict[str, tuple[str, Callable[[re.Match[str], random.Random], str]]] = {
    "misspelt": (_NAME, lambda m, rng: _shorter(m[0], rng)),
    "capital": (_NAME, lambda m, _: m[0][0].upper() + m[0][1:]),
    "double-quotes": (r"'([^',|]+)'", lambda m, _: f'"{m[1]}"'),
    "typographic-quotes": (r"'([^',|]+)'", lambda m, _: f"\u2018{m[1]}\u2019"),
    "bare-number": (r"`(\d+)`", lambda m, _: m[1]),
    "bare-boolean": (r"`(true|false)`", lambda m, _: m[1]),
    "single-equals": ("==", lambda *_: "="),
    "and": ("&&", lambda *_: "and"),
    "open-bracket": (r"[\])](?=[^\])]*$)", lambda *_: ""),
    "swapped": (r"contains\(([^(),]+), ('[^']*')\)", lambda m, _: f"contains({m[2]}, {m[1]})"),
    "number": (r"`([2-9])`", lambda m, rng: f"`{int(m[1]) + rng.choice((-1, 1))}`"),
    "date": (r"(\d{4}-\d\d-)(\d\d)", lambda m, _: f"{m[1]}{int(m[2]) + 1:02d}"),
    "text": (r"'([A-Z][^'@]{5,})'", lambda m, rng: f"'{_shorter(m[1], rng)}'"),
}
FURTHER: dict[str, tuple[str, Callable[[re.Match[str], random.Random], str]]] = {
    "or": ("&&", lambda *_: "||"),
    "not-equal": (r"==(?= ')", lambda *_: "!="),
    "none": (r"(==|>=) `1`", lambda *_: "== `0`"),
    "some": (r"== `0`", lambda *_: ">= `1`"),
    "at-most": (">=", lambda *_: "<="),
    "more": (r">= `1`", lambda *_: "> `1`"),
    "unit": (r"(\d+) people'", lambda m, _: f"{m[1]} guests'"),
    "morning": (r"(\d:\d\d) PM'", lambda m, _: f"{m[1]} AM'"),
    "end-first": (r"start == ('[^']*') && end == ('[^']*')",
                  lambda m, _: f"start == {m[2]} && end == {m[1]}"),
    "before": ("finalstate", lambda *_: "initialstate"),
    "month": (r"(\d{4})-(\d\d)-(\d\d)'", lambda m, _: f"{m[1]}-{m[3]}-{m[2]}'"),
    "address": (r"@(\w+)\.(\w+)'", lambda m, _: f"@{m[2]}.{m[1]}'"),
    "capitals": (r"'([A-Z][a-z]+ [a-z]+)'", lambda m, _: f"'{m[1].title()}'"),
    "forgotten": (r" && (?:start|end|date|time) == '[^']*'", lambda *_: ""),
    "quoted-number": (r"== `(\d+)`", lambda m, _: f"== '{m[1]}'"),
    "length": (r"length\(", lambda *_: "leng("),
}  # fmt: skip
"""Mistakes of other kinds, of what a query asks rather than of how it is written."""


def _clean(folders: list[Path]) -> list[tuple[Definition, int, Eval]]:
    return [
        (task, index, one)
        for folder in folders
        for task in load_definitions(folder)
        for index, one in enumerate(task.evals)
        if not {f.severity for f in lint_eval(task, index, one, SCHEMAS).findings} & {"fatal", "warning"}
    ]  # fmt: skip


def _mend(query: str) -> str:
    return unparse(normalise(jmespath.compile(query).parsed))


class _Tried(NamedTuple):
    """What became of a planted mistake.

    Attributes:
        found: Whether `lint` says something new.
        mended: Whether it proposes what was there before, sign by sign.
        verified: Whether what it proposes is met by exactly the states by which the original is.
        shown: Whether the mistake is met by other states than the original.
    """

    found: bool
    mended: bool
    verified: bool
    shown: bool


def _tried(task: Definition, index: int, one: Eval, query: str) -> _Tried:
    known = {each.message for each in lint_eval(task, index, one, SCHEMAS).findings}
    report = lint_eval(task, index, one.model_copy(update={"query": query}), SCHEMAS)
    new = [each for each in report.findings if each.message not in known]
    fixed = {} if report.fix is None else {report.fix.query: report.fix.expected_value}
    proposed = fixed | {each: one.expected_value for f in new for each in _told(query, f.message)}
    right = met_states(one.query, one.expected_value)
    near = [*right[:2], *met_states(query, one.expected_value)[:2]]
    pool = [{}, *near, *(each for state in near for each in variants(state))]
    meant = [is_met(one.query, state, one.expected_value) for state in pool]

    def answers(other: str, expected: Any) -> list[bool]:
        return [is_met(other, state, expected) for state in pool]

    return _Tried(
        found=bool(new),
        mended=any(_mend(each) == _mend(one.query) for each in proposed),
        verified=bool(right) and any(answers(*each) == meant for each in proposed.items()),
        shown=answers(query, one.expected_value) != meant,
    )


def _told(query: str, message: str) -> Iterator[str]:
    """Yield the query with a text, number or day in place of the one that a message doubts."""
    hint = re.search(r": ([^;]+)(?:, the goal has|; did you mean) ('.*?'|[\d.]+)\??$", message)
    if hint is None:
        return
    yield query.replace(hint[1], hint[2])
    yield query.replace(f"`{hint[1]}`", f"`{hint[2]}`")
    for day in re.finditer(r"\d{4}-\d\d-\d\d", hint[1]):
        for each in (-1, 1):
            other = f"{date.fromisoformat(day[0]) + timedelta(each)}"
            if nearest_day(hint[1].strip("'").replace(day[0], other), hint[2].strip("'")) is None:
                yield query.replace(day[0], other)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_built_in_query_raises_nothing_and_is_mended_to_what_it_was(
    mistake: str,
) -> None:
    pattern, change = MISTAKES[mistake]
    tried = 0
    for task, index, one in _clean([resolve_tasks_dir("built-in")]):
        places = list(re.finditer(pattern, one.query))
        if not places:
            continue
        at, tried = places[-1], tried + 1
        marred = one.query[: at.start()] + change(at, _seeded(1)) + one.query[at.end() :]
        report = lint_eval(task, index, one.model_copy(update={"query": marred}), SCHEMAS)
        try:
            compile_query(marred)
        except QueryError:
            assert report.fatal
    assert tried or mistake in {"bare-boolean", "number"}


@pytest.mark.parametrize(
    ("mistakes", "least", "mends"), [(MISTAKES, 200, 0.9), (FURTHER, 170, 0.7)], ids=["slips", "further"]
)  # fmt: skip
def test_most_mistakes_are_found_and_mended_to_a_query_that_the_same_states_meet(
    mistakes: Any, least: int, mends: float, shared_tasks: Path
) -> None:
    rng, tried = _seeded(55), {each: list[_Tried]() for each in mistakes}
    clean = _clean([shared_tasks, resolve_tasks_dir("built-in")])
    for mistake, (pattern, change) in mistakes.items():
        rng.shuffle(clean)
        for task, index, one in clean:
            places = list(re.finditer(pattern, one.query))
            if not places or len(tried[mistake]) == _EACH:
                continue
            at = rng.choice(places)
            query = one.query[: at.start()] + change(at, rng) + one.query[at.end() :]
            tried[mistake].append(_tried(task, index, one, query))
    counts = {
        mistake: {"tried": len(each), **{n: sum(getattr(t, n) for t in each) for n in _Tried._fields}}
        for mistake, each in {**tried, "all": [t for each in tried.values() for t in each]}.items()
    }  # fmt: skip
    for mistake, each in counts.items():
        print(mistake, *(f"{count} {name}" for name, count in each.items()))  # noqa: T201  # shown by -rP
    whole = counts["all"]
    assert whole["tried"] >= least
    assert whole["found"] >= 0.9 * whole["tried"], counts
    assert whole["mended"] >= mends * whole["tried"], counts
    assert whole["verified"] >= mends * whole["tried"], counts
