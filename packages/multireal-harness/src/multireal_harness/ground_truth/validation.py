"""Validation of evaluators on end states with known truth (`validate-ground-truth`).

A folder of ground truth has `manual/` (or the states themselves), `synthetic/` and
`negatives/TASK/MUTATION`; a manual state replaces the synthetic one of the same task.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import NonNegativeInt

from bench_core.errors import InputError
from bench_core.records import Record
from bench_core.statistics import Accuracy, Interval, accuracy, wilson
from multireal_harness.definitions import Definition, Eval, scoring_state
from multireal_harness.eval_rules.queries import (
    Match,
    QueryError,
    compile_query,
    evaluate_query,
    matches,
    shown,
)
from multireal_harness.ground_truth.claim_examples import ClaimExample, claim_examples
from multireal_harness.lint.syntax import PROJECTIONS, Node, normalise, unparse
from multireal_harness.states.files import find_states, read_states, stem
from multireal_harness.states.goal_checks import goal_symptoms
from multireal_harness.states.health import Symptom, check_states

_CONSTANTS = frozenset({"null", "true", "false"})
_BACKED_BY = 0.6
"""How similar a file's name and a task's id must be for a proposal.

Of the published states one is named `gomail-marrsuite-1`, and its task `gomail-marrisuite-1`.
"""


@dataclass(frozen=True)
class TruthFile:
    """A file of end states of which it is known whether the task was done.

    Attributes:
        name: The file's name without its ending: a task's id, if it is named well.
        source: Its maker: people, a run with a judge, or a mutation of a good state.
    """

    name: str
    path: Path
    source: Literal["manual", "synthetic", "negative"]

    @property
    def passes(self) -> bool:
        """Whether the task was done."""
        return self.source != "negative"


class EvalOutcome(Record):
    """The outcome of one eval on one known state; `todo` has no expectation yet and is not counted."""

    task_id: str
    source: Literal["manual", "synthetic", "negative"]
    variant: str = ""
    index: NonNegativeInt
    outcome: Literal["pass", "fail", "error", "todo"]
    criterion: str
    detail: str = ""


class TruthReport(Record):
    """How well the queries agree with the known states.

    Attributes:
        states: Number of known states with a task, by source.
        unmatched: Files without a task, each with ids of tasks it may mean.
        outcomes: Evals by outcome on the states in which the task was done.
        pass_rate: Passed evals among those with an expectation, errors as not passed.
        tasks: Whether each task's queries agree with the truth of its states.
        accuracy: The queries as an evaluator of whole tasks; None without any known state.
        limits: Sentences about the limits of these states.
        examples: States on which a query and the claim of its criterion differ, if claims were given.
    """

    states: dict[str, NonNegativeInt]
    unmatched: dict[str, tuple[str, ...]]
    outcomes: dict[str, NonNegativeInt]
    pass_rate: Interval | None
    tasks: dict[str, bool]
    accuracy: Accuracy | None
    symptoms: dict[str, tuple[Symptom, ...]]
    evals: tuple[EvalOutcome, ...]
    limits: tuple[str, ...]
    examples: tuple[ClaimExample, ...] = ()


def find_truth(folder: Path, *, synthetic: bool = True, negatives: bool = True) -> list[TruthFile]:
    """Return the known states in a folder; a manual one hides the synthetic one of its task.

    Raises:
        InputError: The folder does not exist or holds none.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder of ground truth")
    manual = folder / "manual"
    found = [
        TruthFile(stem(path), path, "manual")
        for path in find_states(manual if manual.is_dir() else folder)
    ]
    known = {each.name for each in found}
    if synthetic and (folder / "synthetic").is_dir():
        found += [
            TruthFile(stem(path), path, "synthetic")
            for path in find_states(folder / "synthetic")
            if stem(path) not in known and not stem(path).endswith(".provenance")
        ]
    if negatives and (folder / "negatives").is_dir():
        found += [
            TruthFile(task.name, path, "negative")
            for task in sorted((folder / "negatives").iterdir())
            if task.is_dir()
            for path in find_states(task)
        ]
    if not found:
        raise InputError(f"{folder} has no end states (*.json or *.json.gz)")
    return found


def validate_ground_truth(
    definitions: Iterable[Definition],
    truth: Sequence[TruthFile],
    match: Match = "equals",
    claims: Path | None = None,
) -> TruthReport:
    """Evaluate every task's queries on its known states, and compare them with a file of claims there.

    Raises:
        InputError: The file has no claims, or no judge that reads them is installed.
    """
    known = {each.id: each for each in definitions}
    evals: list[EvalOutcome] = []
    symptoms: dict[str, tuple[Symptom, ...]] = {}
    unmatched: dict[str, tuple[str, ...]] = {}
    passed: dict[str, bool] = {}
    truths: dict[str, bool] = {}
    examples: list[ClaimExample] = []
    for each in truth:
        definition = known.get(each.name.removeprefix("multi."))
        states = read_states(each.path).apps
        if definition is None:
            unmatched[each.path.name] = _proposals(each.name, states, known)
            continue
        state = scoring_state(definition, dict(states))
        found = [
            EvalOutcome(
                task_id=definition.id,
                source=each.source,
                variant=stem(each.path) if each.source == "negative" else "",
                index=index,
                criterion=one.criterion,
                **_outcome(one, state, match),
            )
            for index, one in enumerate(definition.evals)
            if one.kind == "jmespath"
        ]
        evals += found
        case = str(each.path)
        # negatives are broken on purpose
        if each.passes:
            if claims is not None:
                examples += claim_examples(definition, states, each.path, claims, match)
            bad = [*check_states(definition, states), *goal_symptoms(definition, states)]
            if bad:
                symptoms[case] = tuple(bad)
        if any(one.outcome != "todo" for one in found):
            passed[case] = all(one.outcome in {"pass", "todo"} for one in found)
            truths[case] = each.passes
    outcomes = Counter(each.outcome for each in evals if each.source != "negative")
    decided = sum(outcomes[each] for each in ("pass", "fail", "error"))
    tasks: dict[str, bool] = {}
    for each in truth:
        case = str(each.path)
        if case in passed:
            name = each.name.removeprefix("multi.")
            tasks[name] = tasks.get(name, True) and passed[case] == truths[case]
    counted = Counter[str](each.source for each in truth if each.path.name not in unmatched)
    return TruthReport(
        states=dict(counted),
        unmatched=unmatched,
        outcomes={each: outcomes[each] for each in ("pass", "fail", "error", "todo")},
        pass_rate=wilson(outcomes["pass"], decided) if decided else None,
        tasks=tasks,
        accuracy=accuracy(passed, truths) if passed else None,
        symptoms=symptoms,
        evals=tuple(evals),
        limits=_limits(counted, symptoms, truths),
        examples=tuple(examples),
    )


def corrected_rate(rate: Interval, known: Accuracy) -> Interval | None:
    """Correct a success rate for how often the evaluator errs (Rogan and Gladen 1978).

    The limits are those of the worst case within the three intervals: wide, as few known states require.
    None if nothing shows how often failures pass, or the evaluator is no better than chance.
    """
    if known.sensitivity is None or known.specificity is None:
        return None
    estimate = _rogan_gladen(rate.estimate, known.sensitivity.estimate, known.specificity.estimate)
    corners = [
        _rogan_gladen(r, se, sp)
        for r in (rate.low, rate.high)
        for se in (known.sensitivity.low, known.sensitivity.high)
        for sp in (known.specificity.low, known.specificity.high)
    ]
    if estimate is None:
        return None
    certain = [each for each in corners if each is not None]
    unbounded = len(certain) < len(corners)
    return Interval(
        estimate=estimate,
        low=0.0 if unbounded else min(certain),
        high=1.0 if unbounded else max(certain),
        level=rate.level,
        method="Rogan-Gladen, worst case of the three intervals",
        n=rate.n,
    )


def _rogan_gladen(rate: float, sensitivity: float, specificity: float) -> float | None:
    power = sensitivity + specificity - 1
    if power <= 0:
        return None
    return min(1.0, max(0.0, (rate + specificity - 1) / power))


def _outcome(one: Eval, state: Any, match: Match) -> dict[str, Any]:
    if one.is_todo:
        return {"outcome": "todo"}
    found = evaluate_query(one.query, state)
    if found.error is None and matches(found.value, one.expected_value, match):
        return {"outcome": "pass"}
    detail = f"expected {shown(one.expected_value)}, found {shown(found.value)}"
    if found.error is not None:
        detail = found.error
    empty = _first_empty(one.query, state)
    outcome = "fail" if found.error is None else "error"
    return {"outcome": outcome, "detail": f"{detail}: {empty}" if empty else detail}


def _first_empty(query: str, state: Any) -> str | None:
    """Return the shortest part of a query, read from the root, that finds nothing in a state."""
    try:
        parsed: Any = compile_query(query).parsed
        texts = set(_read_from_root(normalise(parsed)))
    except (QueryError, RecursionError):  # the outcome says so already
        return None
    for text in sorted(texts, key=len):
        found = evaluate_query(text, state)
        if found.error is None and (found.value is None or found.value in ([], {})):
            return f"{text} is {shown(found.value)}"
    return None


def _read_from_root(tree: Node) -> Iterator[str]:
    """Yield each path, and the beginnings of it, that a query looks up in the whole state."""
    children = [each for each in tree["children"] if isinstance(each, dict)]
    if tree["type"] in PROJECTIONS | {"pipe", "index_expression", "flatten"}:
        yield unparse(tree)
        yield from _read_from_root(children[0])
    elif tree["type"] == "subexpression":
        for end in range(2, len(children) + 1):
            yield unparse({**tree, "children": children[:end]})
        yield from _read_from_root(children[0])
    elif tree["type"] == "field" and tree["value"] not in _CONSTANTS:
        yield unparse(tree)
    elif tree["type"] != "expref":
        for each in children:
            yield from _read_from_root(each)


def _proposals(
    name: str, states: Mapping[str, Any], known: Mapping[str, Definition]
) -> tuple[str, ...]:
    """Return ids of tasks that a file may mean: similar in name, or of the same apps."""
    alike = difflib.get_close_matches(name, known, n=3, cutoff=_BACKED_BY)
    same_apps = [each.id for each in known.values() if set(each.apps) == set(states)]
    return tuple(
        dict.fromkeys([*(each for each in alike if each in same_apps), *alike, *same_apps])
    )[:3]


def _limits(
    counted: Mapping[str, int],
    symptoms: Mapping[str, tuple[Symptom, ...]],
    truths: Mapping[str, bool],
) -> tuple[str, ...]:
    limits = []
    if counted.get("synthetic"):
        limits.append(
            f"{counted['synthetic']} states are synthetic: a judge chose them, so they cannot show how "
            "often that judge, or queries it agrees with, are wrong"
        )
    if not counted.get("negative"):
        limits.append("no state in which a task was not done: how often failures pass is unknown")
    else:
        limits.append(
            "failures are mutations of successes: they break one thing each and may be easier to find "
            "than what agents do wrong"
        )
    serious = sum(any(each.serious for each in found) for found in symptoms.values())
    if serious:
        limits.append(f"{serious} states have serious symptoms and may not be what they claim")
    if 0 < len(truths) < 30:  # a rule of thumb
        limits.append(f"{len(truths)} known states are few: read the intervals, not the estimates")
    return tuple(limits)
