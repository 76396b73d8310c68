"""Measure, without a model, whether wrong states look wrong in the text that a model is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from pydantic import NonNegativeInt

from bench_core.records import Record
from bench_core.records.judge import JudgeCase
from bench_core.statistics import Interval, wilson
from llm_judge.case_files import case_state
from llm_judge.prompts.evidence_pack import DEFAULT_CHARS, pack
from llm_judge.states.effects import compact
from llm_judge.states.mutations import Mutant, changed_leaves, mutants


class VisibilityRow(Record):
    """How many mutants of one operator change the text that a model is shown."""

    operator: str
    mutants: NonNegativeInt
    visible: NonNegativeInt
    rate: Interval


class VisibilityReport(Record):
    """The share of wrong states that look different from the right one at all.

    Necessary, not sufficient: a model cannot notice a change that it is not shown.
    """

    schema_version: Literal[1] = 1
    chars: NonNegativeInt
    states: NonNegativeInt
    overall: VisibilityRow
    rows: tuple[VisibilityRow, ...]
    missed: tuple[str, ...] = ()


def visible(before: str, after: str, mutant: Mutant) -> bool:
    """Return whether the text of a pack shows the mutation.

    A dropped record must take something with it; any other mutant must put its new value into a
    line that was not there before, or, if it undoes a change, take the line of that change away.
    """
    known, now = set(before.splitlines()), after.splitlines()
    fresh = [line for line in now if line not in known]
    if mutant.operator == "drop" or not fresh:
        return bool(fresh) or len(now) < len(known)
    shown = compact(mutant.after)
    return any((shown[1:-1] if isinstance(mutant.after, str) else shown) in line for line in fresh)


def visibility(
    cases: Iterable[JudgeCase],
    *,
    chars: int = DEFAULT_CHARS,
    every: int = 1,
    consistent: bool = True,
    show: Callable[[Any, JudgeCase], str] | None = None,
) -> VisibilityReport:
    """Measure the share of visible mutants of all changed values; no model is needed.

    Args:
        cases: With states that hold before and after.
        chars: Budget of the evidence.
        every: Mutate every n-th changed value only.
        consistent: Change all copies of a value alike.
        show: Returns the text that a model is shown of a state; `pack` by default.
    """

    def packed(state: Any, case: JudgeCase) -> str:
        return pack(state, case.goal, case.criteria, initial=case.initial_state, chars=chars).text

    shown = show or packed
    counts: dict[str, list[bool]] = defaultdict(list)
    missed: list[str] = []
    states = 0
    for case in cases:
        state = case_state(case)
        before = shown(state, case)
        states += 1
        leaves = changed_leaves(state, case.initial_state)[::every]
        for mutant in mutants(
            state, initial=case.initial_state, leaves=leaves, consistent=consistent
        ):
            seen = visible(before, shown(mutant.state, case), mutant)
            counts[mutant.operator].append(seen)
            if not seen:
                missed.append(f"{case.case_id} {mutant.operator} {mutant.pointer}")
    everything = [each for found in counts.values() for each in found]
    return VisibilityReport(
        chars=chars,
        states=states,
        overall=_visibility_row("all", everything),
        rows=tuple(_visibility_row(name, found) for name, found in sorted(counts.items())),
        missed=tuple(missed),
    )


def _visibility_row(operator: str, seen: Sequence[bool]) -> VisibilityRow:
    return VisibilityRow(
        operator=operator, mutants=len(seen), visible=sum(seen), rate=wilson(sum(seen), len(seen))
    )
