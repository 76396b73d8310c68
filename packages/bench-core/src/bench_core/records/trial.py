"""How one trial went: its steps, usage, checks, blame and score.

`score=None` with an `error` says "not scored"; `score=0.0` says "the agent failed". The two are never
mixed: a `TrialResult` whose status and score disagree does not validate.
"""

from __future__ import annotations

import enum
import re
from datetime import datetime
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    Field,
    JsonValue,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    model_validator,
)
from typing_extensions import Self

from bench_core.records.base import Count, Dollars, GitState, Record, World
from bench_core.records.integrity import Integrity
from bench_core.records.sealing import Sealing
from bench_core.records.task import TrialKey
from bench_core.records.vocabulary import FailureMode, SuspectCause, VerdictKind

SUCCESS_SCORE = 1.0
"""A trial is a success when its score reaches this value."""
LARGEST_SCORE = 1e100
"""The most that a score, or its negative, may be: squares and sums of larger ones would be infinite."""
Score: TypeAlias = Annotated[float, Field(ge=-LARGEST_SCORE, le=LARGEST_SCORE, allow_inf_nan=False)]


def as_score(value: object) -> float | None:
    """Return another program's value as a score; None if it is not a number that a score can be.

    >>> as_score(1), as_score("1"), as_score(float("nan")), as_score(10**400)
    (1.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -LARGEST_SCORE <= value <= LARGEST_SCORE else None


class Status(str, enum.Enum):
    """How a trial ended. The first four are scored, the others never are."""

    COMPLETED = "completed"
    """The agent reported that it was done."""
    STEP_LIMIT = "step_limit"
    """The agent ran out of steps."""
    TIME_LIMIT = "time_limit"
    """The agent ran out of time."""
    AGENT_ERROR = "agent_error"
    """The agent's own code failed or its answer was malformed."""
    ENVIRONMENT_ERROR = "environment_error"
    """A VM, site, browser, recorder or model provider failed."""
    EVALUATION_ERROR = "evaluation_error"
    """The evaluator could not decide."""
    BUDGET_EXCEEDED = "budget_exceeded"
    """The run's budget of dollars, tokens or minutes was spent."""
    CANCELLED = "cancelled"
    """The user stopped the run."""

    __hash__ = str.__hash__  # equal to its text, so of the same hash; that of Enum is slow, too

    @property
    def scored(self) -> bool:
        """Whether trials of this status carry a score and enter success rates."""
        return self in _SCORED

    @property
    def done(self) -> bool:
        """Whether resuming a run leaves trials of this status alone."""
        return self in _SCORED or self is Status.EVALUATION_ERROR


_SCORED = frozenset({Status.COMPLETED, Status.STEP_LIMIT, Status.TIME_LIMIT, Status.AGENT_ERROR})


_PLAIN_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")


@lru_cache(maxsize=1024)  # the trials of a run leave files of the same names
def _relative_posix(path: str) -> str:
    """Refuse artifact paths that are absolute or climb out of the trial folder, on any system."""
    if _PLAIN_PATH.fullmatch(path):  # nearly all are; parsing one takes ten times as long
        return path
    parts = PurePosixPath(path)
    foreign = "\\" in path or "\0" in path or PureWindowsPath(path).drive
    if not path or parts.is_absolute() or ".." in parts.parts or foreign:
        raise ValueError(f"{path!r} must be a relative POSIX path inside the trial folder")
    return path


Artifact = Annotated[str, AfterValidator(_relative_posix)]
"""A file a trial left, as a POSIX path relative to the trial's folder."""


class Usage(Record):
    """Tokens and requests of model calls; sums of several calls add field by field.

    `input_tokens` counts all input, cached input included; the cached, written-to-cache,
    reasoning and image counts are parts of the totals. `retries` are the requests that were made
    again after one that failed; they are part of `requests`.
    """

    requests: Count = 0
    retries: Count = 0
    input_tokens: Count = 0
    cached_input_tokens: Count = 0
    cache_write_tokens: Count = 0
    image_tokens: Count = 0
    output_tokens: Count = 0
    reasoning_tokens: Count = 0

    @property
    def total_tokens(self) -> int:
        """Input plus output tokens."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{f: getattr(self, f) + getattr(other, f) for f in type(self).model_fields})


class Check(Record):
    """One criterion of an evaluation, with the expected and the found value.

    Attributes:
        decided_by: The source of `passed`: `judge`, a word for a rule of the benchmark (`query`,
            `script`, ...), or `both` if the two agree; if they do not, each has its own check
            of the criterion. None: unknown.
        kind: The basis of a judge's decision (`proven`, `supported`, `opinion`, `unknown`); None for
            the benchmark's own rules.
    """

    criterion: str
    expected: JsonValue = None
    actual: JsonValue = None
    passed: bool | None = None
    reason: str | None = None
    decided_by: str | None = None
    kind: VerdictKind | None = None


class ErrorInfo(Record):
    """The error of a trial; users see it without the traceback, which is kept for debugging.

    Attributes:
        fault: The row of `bench_core.faults.FAULTS` that says whose it was and what followed.
    """

    kind: str
    message: str
    fault: str | None = None
    phase: str | None = None
    traceback: str | None = None


class Spending(Record):
    """The tokens and cost of one source of model calls in a trial, as the meter counted them.

    Attributes:
        source: The caller: `agent`, `judge`, `answer_extraction`, ...
        cost_usd: None when the price of one of the calls is unknown.
        reported: Whether the calls were not metered, so that this is the agent's own report.
    """

    source: str = Field(min_length=1)
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    reported: bool = False


class Attempt(Record):
    """One try at a trial; environment errors lead to another, and so does `--rerun`.

    Attributes:
        token: Distinguishes this attempt from any other of the same trial and number.
        spent: The spending by source; a result's own `spent` is that of its last attempt.
    """

    number: PositiveInt = 1
    status: Status
    started: datetime
    duration_s: NonNegativeFloat
    error: ErrorInfo | None = None
    token: str | None = None
    spent: tuple[Spending, ...] = ()


class RefusedCall(Record):
    """A refused request of an agent's model, and the reason; without a name if it called no tool."""

    name: str = ""
    arguments: JsonValue = None
    reason: str


class Step(Record):
    """One line of `trajectory.jsonl`: the agent's observation, thought and act.

    `screenshot` is relative to the trial's folder; `actions` are in the agent's own vocabulary.
    """

    step: PositiveInt
    started: datetime | None = None
    duration_s: NonNegativeFloat | None = None
    url: str | None = None
    title: str | None = None
    screenshot: Artifact | None = None
    thought: str | None = None
    actions: tuple[dict[str, JsonValue], ...] = ()
    results: tuple[str, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    error: str | None = None
    usage: Usage | None = None


class SeenElement(Record):
    """Something that a step's agent saw and could act on; `rect` is x, y, width, height in pixels."""

    id: str
    role: str = ""
    name: str = ""
    value: str | None = None
    rect: tuple[float, float, float, float] | None = None
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class StepView(Record):
    """One line of `observations.jsonl`: the agent's view before the step of this number.

    Attributes:
        size: Width and height that positions of the step refer to, in pixels.
        tabs: Titles or URLs of open tabs or windows.
        active_tab: The one in front, an index into them.
        elements: The elements it could act on by id.
        text: Page text or accessibility tree, cut if it is long.
        notices: Events without its doing since the step before: a dialog, a tab that a page opened.
    """

    step: PositiveInt
    size: tuple[PositiveInt, PositiveInt] | None = None
    tabs: tuple[str, ...] = ()
    active_tab: int | None = None
    elements: tuple[SeenElement, ...] = ()
    text: str | None = None
    notices: tuple[str, ...] = ()


class AgentOutcome(Record):
    """An agent's report when it stops; the benchmark scores the end state itself.

    `status` is one of the scored statuses or `budget_exceeded`; `answer` is whatever the benchmark
    asked for.
    """

    status: Status = Status.COMPLETED
    answer: JsonValue = None
    steps: NonNegativeInt = 0
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    model_reported: str | None = None
    flags: tuple[str, ...] = ()
    error: ErrorInfo | None = None
    details: dict[str, JsonValue] = Field(default_factory=dict)


class AgentEnding(Record):
    """How the agent's part of a trial ended, whatever the evaluation made of it.

    Attributes:
        status: As it would stand without an evaluation.
        answer: The agent's answer.
        flags: Remarks on its part.
        error: Why it failed; None if the result's own error says it.
        details: The rest of the agent's report.
    """

    status: Status
    answer: JsonValue = None
    flags: tuple[str, ...] = ()
    error: ErrorInfo | None = None
    details: dict[str, JsonValue] = Field(default_factory=dict)


class ArtifactFile(Record):
    """A file a trial left: its path relative to the trial's folder, its size and its SHA-256.

    Both are None for files of trials that an older bench-core recorded; the SHA-256 alone for one that
    could not be read in time.
    """

    path: Artifact
    size: NonNegativeInt | None = None
    sha256: str | None = None


class LeftOut(Record):
    """Files of an agent's that were not kept, all for the same reason.

    Attributes:
        why: Such as `is a link`, or the system's own words.
        first: The path of one of them; bytes that are not UTF-8 are shown as escapes.
        files: How many there are; of a folder that was not looked into, one.
        bytes: How much they say to hold together.
    """

    why: str
    first: str
    files: PositiveInt = 1
    bytes: NonNegativeInt = 0


class StoredFolder(Record):
    """The place of a trial's folder in an object store.

    Attributes:
        url: Of the folder: the files are below `files/`, and their list is `manifest.json`.
        manifest_sha256: The digest of that list, which was written last.
    """

    url: str
    manifest_sha256: str


class AgentProgram(Record):
    """The program an agent ran in, apart from the program of the run: an interpreter, or a command.

    Attributes:
        kind: `python` for an interpreter that was named, `uv` for an environment that uv made, `command` for a
            program that speaks the protocol itself.
        command: The command that was started.
        requirements: The requirements given to uv.
        python: Implementation and version of its interpreter, `CPython 3.12.3`.
        bench_core: The version of bench-core there; None for a command.
        packages: In `run.json` only: its distributions, `name==version`.
        sha256: Digest of interpreter and distributions, or of the files that a command names.
    """

    kind: Literal["python", "uv", "command"]
    command: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    python: str | None = None
    bench_core: str | None = None
    packages: tuple[str, ...] = ()
    sha256: str


class AgentCode(Record):
    """Which program the agent was and where it ran.

    Attributes:
        process: `own` for a process of its own, `shared` for that of the run.
        place: Its import path, `module:attribute`; agents at two places are two, whatever their names.
        sha256: Digest of its files (`bench_core.agent_process.program`); None if they were not found,
            or if a program made the agent itself.
        files: In `run.json` only: of each of its files the first 16 digits of its SHA-256, a space and its
            name, so that changes can be named; empty if there are very many.
        git: The commit of the folder it lies in, if git tracks its module.
        distribution: Who offers it, with its version, `name==1.2`.
        dialect: Which version of a provider's computer-use tool it spoke.
        sealed: How files with answers were hidden from its process, `user-namespace` or
            `mount-namespace`; None if they were not.
        program: The program it ran in, if not the run's own interpreter; then `sha256` covers it, too.
    """

    process: Literal["own", "shared"] = "shared"
    place: str | None = None
    sha256: str | None = None
    files: tuple[str, ...] = ()
    git: GitState | None = None
    distribution: str | None = None
    dialect: str | None = None
    sealed: str | None = None
    program: AgentProgram | None = None

    def without_lists(self) -> AgentCode:
        """Return the part in each result: without the lists of files and packages, which are in `run.json`."""
        program = self.program and self.program.model_copy(update={"packages": ()})
        return self.model_copy(update={"files": (), "program": program})


class TrialResult(Record):
    """One line of `results.jsonl`: how one trial of one task ended, and its score.

    Attributes:
        model: The model as asked for, `provider:name`.
        model_reported: The model as the API named it.
        profile: Which rules scored it (`official`, `v2`, `fixed`, ...).
        timing: How fast the harness acted (`fast`, `vanilla`), if a benchmark has a choice.
        score: As the benchmark gives it; None when the trial was not scored.
        success: `score >= 1.0`, None when the trial was not scored.
        confidence: How sure the evaluation is, from 0 to 1, if it says.
        method: How it was evaluated, e.g. `webarena-verified 1.2.3`.
        failure_mode: Why it did not succeed; None for a success.
        suspect: Why the score may not be the agent's own doing; it stays the benchmark's.
        integrity: Whether the agent tried to score without doing the task; None: not checked.
        sealing: Whether answers were hidden from agent and browser; None: the record is older.
        ending: How the agent's part ended; None when it never began.
        usage: Of the agent's model calls, in the last attempt.
        cost_usd: Of the agent's model calls, in US dollars; None when a price is unknown.
        spent: All model calls of the last attempt by source, the judge's say.
        timings_s: Seconds by phase (`environment`, `agent`, `capture`, `evaluation`, `total`).
        artifacts: The files in the trial's folder.
        left_out: The agent's other files, which were not kept.
        stored: The place of the files, if they are in an object store and not in the run folder.
        agent_code: Which program the agent was.
        machine: Which VM or copy of a site the trial ran on.
        sequence: Counts the lines of its file, from 1.
        previous: The first 16 digits of the checksum of the line before.
        checksum: Of the line; see `bench_core.files.checksums`.
        details: The benchmark's own record, e.g. the official score.
    """

    schema_version: Literal[1] = 1
    benchmark: str = Field(min_length=1)
    task_id: str = Field(min_length=1)
    trial: PositiveInt = 1
    agent: str
    model: str | None = None
    model_reported: str | None = None
    world: World = "real"
    profile: str = "official"
    timing: str | None = None
    status: Status
    score: Score | None = None
    success: bool | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    method: str | None = None
    checks: tuple[Check, ...] = ()
    flags: tuple[str, ...] = ()
    failure_mode: FailureMode | None = None
    suspect: tuple[SuspectCause, ...] = ()
    integrity: Integrity | None = None
    sealing: Sealing | None = None
    ending: AgentEnding | None = None
    steps: Count = 0
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    spent: tuple[Spending, ...] = ()
    timings_s: dict[str, NonNegativeFloat] = Field(default_factory=dict)
    started: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    artifacts: tuple[ArtifactFile, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    stored: StoredFolder | None = None
    error: ErrorInfo | None = None
    agent_code: AgentCode | None = None
    machine: str | None = None
    sequence: PositiveInt | None = None
    previous: str | None = None
    checksum: str | None = None
    details: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _status_and_score_agree(self) -> Self:
        scored, score = self.status in _SCORED, self.score
        if scored != (score is not None):
            raise ValueError(
                f"status {self.status.value!r} "
                f"{'needs' if scored else 'forbids'} a score, got {score!r}"
            )
        expected = None if score is None else score >= SUCCESS_SCORE
        if "success" not in self.model_fields_set:
            # it is derived; a validator of mode "before" would halve the speed of reading
            self.__dict__["success"] = expected
            self.model_fields_set.add("success")
        elif self.success is not expected:
            raise ValueError(f"success must be {expected} for score {score!r}")
        return self

    @property
    def key(self) -> TrialKey:
        """The trial this result is of."""
        return TrialKey(task_id=self.task_id, trial=self.trial)

    @property
    def artifact_paths(self) -> tuple[Artifact, ...]:
        """The paths of the artifacts, relative to the trial's folder."""
        return tuple(each.path for each in self.artifacts)
