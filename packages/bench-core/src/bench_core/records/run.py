"""The records of a run folder about the run itself: settings, versions, sessions."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import (
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveInt,
)

from bench_core.records.base import GitState, Record, World
from bench_core.records.task import TrialKey
from bench_core.records.trial import AgentCode


class Event(Record):
    """One line of `events.jsonl`: an event of a run.

    `sequence`, `previous` and `checksum` are as in `TrialResult`.
    """

    time: datetime
    kind: str = Field(min_length=1)
    task_id: str | None = None
    trial: PositiveInt | None = None
    attempt: PositiveInt | None = None
    data: dict[str, JsonValue] = Field(default_factory=dict)
    sequence: PositiveInt | None = None
    previous: str | None = None
    checksum: str | None = None


SessionOutcome = Literal["running", "finished", "interrupted", "aborted", "budget_exceeded"]
"""How a process left a run; a killed one leaves `running`, which resuming turns into `aborted`."""


class Rerun(Record):
    """Trials with a lasting result that a session was to run again (`--rerun`).

    Attributes:
        asked: Which trials: `failed`, `unscored`, `suspect`, `all`, or ids of tasks.
        trials: Those it found.
        after: The last line of `results.jsonl` then; a trial is run again once it has a later one.
    """

    asked: tuple[str, ...]
    trials: tuple[TrialKey, ...]
    after: NonNegativeInt


class Session(Record):
    """One process that worked on a run: a run that was resumed twice has three.

    `results` and `results_sha256` say how many lines `results.jsonl` had when it closed, and their
    digest; `events` and `events_sha256` the same of `events.jsonl`; `rerun` which trials it was to run
    again.
    """

    started: datetime
    finished: datetime | None = None
    outcome: SessionOutcome = "running"
    pid: PositiveInt | None = None
    host: str | None = None
    command: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    git: GitState | None = None
    results: NonNegativeInt | None = None
    results_sha256: str | None = None
    events: NonNegativeInt | None = None
    events_sha256: str | None = None
    rerun: Rerun | None = None


class RunInfo(Record):
    """`run.json`: the settings and versions of a run.

    A run folder holds one benchmark, one agent, one model and one configuration; `config_hash` and
    `task_set_hash` are SHA-256 over canonical JSON and must match for a run to be resumed.
    `timing` is as in `TrialResult`; `stopping_rule` is the rule fixed before the first trial on
    when the run may stop early, None for a run of fixed size. `agent_code` is the program of the last
    session; each result names its own. `tasks_sha256` is the digest of the file
    `tasks.jsonl`, `checksum` that of `run.json` itself (see `bench_core.files.checksums`).
    """

    schema_version: Literal[1] = 1
    run_id: str = Field(min_length=1)
    benchmark: str
    benchmark_version: str | None = None
    agent: str
    model: str | None = None
    world: World = "real"
    profile: str = "official"
    timing: str | None = None
    trials: PositiveInt = 1
    seed: int = 0
    config: dict[str, JsonValue] = Field(default_factory=dict)
    config_hash: str
    task_set_hash: str
    tasks_sha256: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    python: str | None = None
    platform: str | None = None
    host: str | None = None
    git: GitState | None = None
    agent_code: AgentCode | None = None
    stopping_rule: dict[str, JsonValue] | None = None
    prices: tuple[dict[str, JsonValue], ...] = ()
    prices_as_of: str | None = None
    started: datetime
    finished: datetime | None = None
    sessions: tuple[Session, ...] = ()
    checksum: str | None = None
