"""BrowserGym's and AgentLab's result trees: a folder for each experiment, with `summary_info.json`.

Tasks and arguments are in pickles there, which run code when they are read: the name of a task is read from the name of
its folder, `DATE_AGENT_on_TASK_SEED`, and no pickle is ever opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from bench_core.errors import InputError, RefusedFileError
from bench_core.files.inside import read_inside
from bench_core.records import (
    AgentEnding,
    ErrorInfo,
    Record,
    Status,
    TrialKey,
    TrialResult,
    as_score,
)
from bench_core.records.codec import decode_json
from bench_core.records.vocabulary import FailureMode

REPORTED_ONLY = "reported_only"
"""Flags results whose score another harness reports: no files are left to score them from."""

_SUMMARY = "summary_info.json"
# such as 2024-10-01_12-00-00_GenericAgent-gpt-4o_on_webarena.310_51_ab12cd
_NAME = re.compile(r".*_on_(?P<task>.+?)_(?P<seed>\d+|None)(?:_[0-9a-f]{4,12})?")
_DEEPEST = 4
_MOST = 100_000
_SHOWN = 400


class BrowserGymExperiment(Record):
    """One experiment: its summary, and the task in its folder's name.

    Attributes:
        name: Its folder below the tree.
        task: As BrowserGym calls it, `webarena.310`.
        reward: The sum of its rewards; None if it failed or states none.
        error: The error that stopped it; None if it ran to its end.
    """

    name: str
    task: str
    seed: int | None = None
    steps: int = 0
    reward: float | None = None
    terminated: bool = False
    truncated: bool = False
    error: str | None = None
    summary: dict[str, JsonValue]

    def result(self, benchmark: str, key: TrialKey, agent: str, model: str | None) -> TrialResult:
        """Return its record, marked as reported only.

        An experiment with an error has no score: BrowserGym writes reward 0 for a site that was down, too.
        """
        failed = self.error is not None or self.reward is None
        status = Status.COMPLETED if self.terminated or not self.truncated else Status.STEP_LIMIT
        error = ErrorInfo(kind="BrowserGymError", message=(self.error or "no reward")[:_SHOWN])
        return TrialResult(
            benchmark=benchmark,
            task_id=key.task_id,
            trial=key.trial,
            agent=agent,
            model=model,
            status=Status.ENVIRONMENT_ERROR if failed else status,
            score=None if failed else self.reward,
            failure_mode=FailureMode.ENVIRONMENT_ERROR if failed else None,
            method=None if failed else "reported by BrowserGym",
            flags=("imported", REPORTED_ONLY),
            steps=self.steps,
            error=error if failed else None,
            ending=AgentEnding(status=status),
            details={"browsergym": {"experiment": self.name, "summary": self.summary}},
        )


def browsergym_experiments(tree: Path) -> Iterator[BrowserGymExperiment]:
    """Yield the experiments of a tree, in order of their names.

    Raises:
        InputError: A summary cannot be read, or a folder's name has no task.
    """
    for number, name in enumerate(sorted(_folders(tree)), 1):
        if number > _MOST:
            raise InputError(f"{tree} has more than {_MOST} experiments")
        yield _experiment(tree, name)


def _folders(tree: Path, below: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the folders with a summary; links are not followed."""
    if depth > _DEEPEST:
        return
    with os.scandir(tree / below) as entries:
        for entry in entries:
            name = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _folders(tree, name, depth + 1)
            elif entry.name == _SUMMARY and below and entry.is_file(follow_symlinks=False):
                yield below


def _experiment(tree: Path, name: str) -> BrowserGymExperiment:
    try:
        found = decode_json(read_inside(tree, f"{name}/{_SUMMARY}"))
    except (OSError, ValueError, RefusedFileError) as error:
        raise InputError(f"{tree / name / _SUMMARY} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{tree / name / _SUMMARY} is not a summary of an experiment")
    matched = _NAME.fullmatch(name.rpartition("/")[2])
    own = found.get("task")
    named = own.get("id") if isinstance(own, dict) else None
    task = named if named and isinstance(named, str) else matched["task"] if matched else ""
    if not task:
        raise InputError(
            f"{name} does not name its task: its folder has to be called DATE_AGENT_on_TASK_SEED"
        )
    seed = matched["seed"] if matched else None
    return BrowserGymExperiment(
        name=name,
        task=task,
        seed=int(seed) if seed and seed.isdecimal() else None,
        steps=_count(found.get("n_steps")),
        reward=as_score(found.get("cum_reward")),
        terminated=found.get("terminated") is True,
        truncated=found.get("truncated") is True,
        error=str(found["err_msg"]) if found.get("err_msg") else None,
        summary={key: found[key] for key in found if key != "stack_trace"},
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
