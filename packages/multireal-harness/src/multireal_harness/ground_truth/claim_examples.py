"""End states on which a query and the claim of its criterion differ, found by an installed judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt

from bench_core.discovery import find_plugins, load_plugin
from bench_core.errors import InputError, pip_install
from bench_core.records import Record
from bench_core.records.judge import Counterexample, JudgeCase
from multireal_harness.definitions import Definition, Eval, scoring_state
from multireal_harness.eval_rules.queries import Match, evaluate_query, matches, shown
from multireal_harness.evaluation import judged_criteria
from multireal_harness.lint.values import APPS_ZONE


class ClaimExample(Record):
    """An end state on which an eval's query and the claim of its criterion differ.

    Attributes:
        file: The known state.
        change: The change made to it, in words.
        found: The query's result, or the error that it raises.
        met: Whether the eval expects that.
        claim: Whether the claim is true.
        claim_by: The claim's approver; None: its checks found it adequate.
    """

    task_id: str
    file: str
    index: NonNegativeInt
    criterion: str
    change: str
    found: str
    met: bool
    claim: bool
    claim_by: str | None = None


def claim_examples(
    definition: Definition, states: Mapping[str, Any], file: Path, claims: Path, match: Match
) -> Iterator[ClaimExample]:
    """Yield the smallest change of a known state on which a query and its claim differ, for each query.

    Raises:
        InputError: The file has no claims, or no judge that reads them is installed.
    """
    asked = judged_criteria(definition)
    evals = {criterion.id: one for criterion, one in asked.items() if one.kind == "jmespath" and not one.is_todo}  # fmt: skip
    case = JudgeCase(
        case_id=definition.id,
        goal=definition.goal,
        criteria=tuple(asked),
        state=dict(states),
        timezone=str(APPS_ZONE),
    )

    def rule_of(one: Eval) -> Callable[[Any], bool]:
        return lambda end: _answer(definition, one, end, match)[1]

    rules = {name: rule_of(one) for name, one in evals.items()}
    for each in _comparing_judge()(case, claims, rules):
        one = evals[each.criterion_id]
        found, met = _answer(definition, one, each.state, match)
        yield ClaimExample(
            task_id=definition.id,
            file=file.name,
            index=definition.evals.index(one),
            criterion=one.criterion,
            change=each.change,
            found=found,
            met=met,
            claim=each.claim,
            claim_by=each.claim_by,
        )


def _comparing_judge() -> Callable[..., tuple[Counterexample, ...]]:
    for plugin in find_plugins("judge"):
        found = getattr(load_plugin("judge", plugin.name), "counterexamples", None)
        if found is not None:
            return found  # type: ignore[no-any-return]
    raise InputError(f"no installed judge reads claims: `{pip_install('llm-judge')}` adds one")


def _answer(definition: Definition, one: Eval, states: Any, match: Match) -> tuple[str, bool]:
    """Return a query's result, in words, and whether it is as expected."""
    found = evaluate_query(one.query, scoring_state(definition, states))
    if found.error is not None:
        return found.error, False
    return shown(found.value), matches(found.value, one.expected_value, match)
