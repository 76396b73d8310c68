"""Compile, check and mend files of claims: one task per line, next to the tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.models import Model
from bench_core.records.claims import TaskClaims
from bench_core.records.judge import JudgeCase
from bench_core.records.problems import problems_of
from llm_judge.case_files import case_state
from llm_judge.claims.adequacy import check
from llm_judge.claims.compiler import compile_claims, place_words
from llm_judge.claims.decisions import (
    read_claim_file,
    setting_of,
    task_digest,
    write_claim_file,
)
from llm_judge.claims.evaluation import states_of
from llm_judge.claims.shape import shape_of
from llm_judge.states.pointers import MISSING

__all__ = ["checked", "compile_file", "edited", "place_open_words"]

_MOST_TRIALS = 8
"""Trials of a task whose states are united for its shape."""


def compile_file(
    cases: Iterable[JudgeCase], models: Sequence[Model], out: Path, labels: Mapping[str, bool]
) -> tuple[list[TaskClaims], int]:
    """Compile the claims of each task among `cases` into a file; return the new ones and how many were kept.

    A task that the file holds is compiled again only if the shape of its states has changed. Each task is stored as it
    comes.

    Raises:
        InputError: A file cannot be read or written.
        ModelError: A model cannot be asked.
    """
    known = {each.task: each for each in (read_claim_file(out) if out.exists() else ())}
    made: list[TaskClaims] = []
    kept = 0

    async def compile_all() -> None:
        nonlocal kept
        try:
            for digest, trials in _by_task(cases).items():
                read = [(case, case_state(case)) for case in trials[:_MOST_TRIALS]]
                states = [states_of(state, case.initial_state) for case, state in read]
                if digest in known and known[digest].shape in {"", shape_of(states).digest}:
                    kept += 1
                    continue
                right = [state for case, state in read if labels.get(case.case_id)]
                task = await compile_claims(
                    [case for case, _ in read],
                    models,
                    states=[state for _, state in read],
                    right=right,
                )
                known[digest] = task
                made.append(task)
                write_claim_file(out, known.values())
        finally:
            for model in models:
                await model.aclose()

    asyncio.run(compile_all())
    return made, kept


def checked(task: TaskClaims, cases: Iterable[JudgeCase], labels: Mapping[str, bool]) -> TaskClaims:
    """Return a task's claims with the findings of the checks, made on the states of its cases.

    Raises:
        InputError: None of the cases is of the task.
    """
    trials = _by_task(cases).get(task.task)
    if not trials:
        raise InputError(f"no case has the goal and the criteria of {task.case_id!r} ({task.task})")
    read = [
        (case, states_of(case_state(case), case.initial_state)) for case in trials[:_MOST_TRIALS]
    ]
    start: Any = next((states.start for _, states in read if states.start is not MISSING), None)
    right = [states for case, states in read if labels.get(case.case_id)]
    texts = [each.text for each in trials[0].criteria]
    claims = []
    for claim in task.claims:
        found = check(claim, texts, task.goal, start, right=right, setting=setting_of(trials[0]))
        claims.append(
            claim.model_copy(update={"standing": found.standing, "findings": found.findings})
        )
    return task.model_copy(update={"claims": tuple(claims)})


def edited(task: TaskClaims, text: str, where: str) -> TaskClaims:
    """Return a task's claims as a person changed them; those that differ are unchecked and not approved.

    Raises:
        InputError: The text is not the claims of a task; names the field.
    """
    try:
        new = TaskClaims.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{where}: not stored: {problems_of(error, TaskClaims)}") from error
    old = {each.criterion_id: each for each in task.claims}
    fresh = {"standing": "unchecked", "findings": (), "approved_by": None}
    return new.model_copy(
        update={
            "task": task.task,
            "claims": tuple(
                each if each == old.get(each.criterion_id) else each.model_copy(update=fresh)
                for each in new.claims
            ),
        }
    )


def place_open_words(path: Path, cases: Iterable[JudgeCase], model: Model) -> int:
    """Ask about the open words of a file's claims, one call per task; store the answers and return their number.

    Raises:
        InputError: The file cannot be read or written.
        ModelError: The model cannot be asked.
    """
    trials = _by_task(cases)

    async def place_all() -> list[TaskClaims]:
        try:
            return [
                await place_words(
                    task, ((case, case_state(case)) for case in trials.get(task.task, ())), model
                )
                for task in read_claim_file(path)
            ]
        finally:
            await model.aclose()

    before = read_claim_file(path)
    after = asyncio.run(place_all())
    write_claim_file(path, after)
    return sum(len(new.words) - len(old.words) for new, old in zip(after, before, strict=True))


def _by_task(cases: Iterable[JudgeCase]) -> dict[str, list[JudgeCase]]:
    found: dict[str, list[JudgeCase]] = {}
    for each in cases:
        found.setdefault(task_digest(each), []).append(each)
    return found
