"""Decide the criteria of a case by the claims of its task."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records.claims import TaskClaims
from bench_core.records.judge import CriterionVerdict, Evidence
from bench_core.records.problems import problems_of
from llm_judge.case_files import read_lines
from llm_judge.claims.evaluation import Decided, States, decide, states_of
from llm_judge.claims.printing import in_english
from llm_judge.claims.values import Setting, folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from bench_core.records.claims import Claim
    from bench_core.records.judge import Decision, JudgeCase

__all__ = ["ClaimFile", "read_claim_file", "setting_of", "task_digest", "write_claim_file"]


def task_digest(case: JudgeCase) -> str:
    """Return the digest of goal and criteria, which all trials of a task have in common."""
    asked = [case.goal, *([each.id, each.text] for each in case.criteria)]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def setting_of(case: JudgeCase) -> Setting:
    """Return a case's zone, locale and currency."""
    zone = case.timezone or case.metadata.get("timezone")
    return Setting(zone if isinstance(zone, str) else None, case.locale, case.currency)


def read_claim_file(path: Path) -> list[TaskClaims]:
    """Read a file of claims, one task per line.

    Raises:
        InputError: It is missing or empty, or a line is not a task's claims; names the field.
    """
    found = [_task_of(data, where) for _, where, data in read_lines(path, "claims")]
    if not found:
        raise InputError(f"{path}: no claims in it: `llm-judge claims compile` writes them")
    return found


def _task_of(data: Any, where: str) -> TaskClaims:
    try:
        return TaskClaims.model_validate(data)
    except ValidationError as error:
        raise InputError(
            f"{where}: not the claims of a task: {problems_of(error, TaskClaims)}"
        ) from error


def write_claim_file(path: Path, tasks: Iterable[TaskClaims]) -> None:
    """Write a file of claims in one step."""
    lines = [each.model_dump_json(exclude_defaults=True) for each in tasks]
    new = path.with_name(f"{path.name}.new")
    new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    new.replace(path)


class ClaimFile:
    """The claims of tasks as a rule that decides criteria by code; see `Judge(claims=...)`.

    A criterion counts as decided if its claim decides (it was found adequate or a person approved
    it), is not undecidable on this state, and has the strength for its finding: a `necessary` one
    proves only a fail, a `sufficient` one only a pass.
    """

    def __init__(self, tasks: Iterable[TaskClaims]) -> None:
        self._tasks = {each.task: each for each in tasks}
        self._known: dict[tuple[str, Setting], dict[Any, bool]] = {}

    @classmethod
    def read(cls, path: Path) -> ClaimFile:
        """Read them from a file; see `read_claim_file`."""
        return cls(read_claim_file(path))

    def deciding(self, case: JudgeCase) -> Iterator[tuple[Claim, Callable[[States], Decided]]]:
        """Yield each claim that may decide a criterion of a case, with a function that decides states by it."""
        task = case.claims or self._tasks.get(task_digest(case))
        if task is None:
            return
        setting = setting_of(case)
        # a condition on a value that was decided in one trial holds in the others
        known = {} if case.claims else self._known.setdefault((task.task, setting), {})
        words = {(each.meaning, folded(each.word)): each.same for each in task.words}
        texts = {each.id: each.text for each in case.criteria}
        for claim in task.claims:
            # a claim that was written for other words proves nothing of these
            if claim.decides and texts.get(claim.criterion_id) == claim.criterion:
                yield claim, partial(_decided, claim, setting, words, known)

    def __call__(self, case: JudgeCase, state: Any) -> dict[str, CriterionVerdict]:
        """Return the verdicts on the criteria that are decided, all `proven`."""
        states = states_of(state, case.initial_state)
        found = ((claim, decided(states)) for claim, decided in self.deciding(case))
        return {
            claim.criterion_id: _verdict(claim, each)
            for claim, each in found
            if each.truth is not None
        }


def _decided(
    claim: Claim,
    setting: Setting,
    words: Mapping[tuple[str, str], bool | None],
    known: dict[Any, bool],
    states: States,
) -> Decided:
    """Decide a claim; a finding that it is too weak to prove is left open."""
    if claim.assertion is None:
        return Decided(None)
    found = decide(claim.assertion, states, setting, words, known)
    weak = {"necessary": True, "sufficient": False}.get(claim.strength)
    return Decided(None) if found.truth is weak else found


def _verdict(claim: Claim, found: Decided) -> CriterionVerdict:
    decision: Decision = "pass" if found.truth else "fail"
    assertion = in_english(claim.assertion) if claim.assertion is not None else ""
    by = f"approved by {claim.approved_by}" if claim.approved_by else "found adequate"
    evidence = tuple(
        Evidence(pointer=pointer, quote=value if isinstance(value, str) else json.dumps(value), verified=True, status="exact")
        for pointer, value in found.shown
        if pointer.startswith("/") and not pointer.endswith(")")
    )  # fmt: skip
    return CriterionVerdict(
        criterion_id=claim.criterion_id,
        reason=f"the claim ({by}) is {'true' if found.truth else 'false'} of the end state:\n{assertion}",
        evidence=evidence,
        verdict=decision,
        kind="proven",
    )
