"""The one table of faults: whose each is, and its consequences.

`fault_of` reads the evidence; everything that follows - whether the trial is scored, tried again, whether
trials that need the same thing wait, whether the run stops - is a row's. All handlers of errors ask here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from bench_core.errors import (
    AgentError,
    BudgetExceededError,
    EnvironmentFaultError,
    EvaluationError,
    InputError,
    causes,
)
from bench_core.faults.provider_errors import error_kind
from bench_core.files.space import is_exhausted
from bench_core.records import ErrorInfo, Status, TrialResult
from bench_core.records.vocabulary import MEANINGS, FailureMode

__all__ = [
    "FAULTS",
    "HARNESS_ERROR",
    "NOT_RETRIED",
    "FaultEvidence",
    "FaultKind",
    "before_acting",
    "fault_of",
    "lacks_something",
    "recorded_fault",
]

Owner = Literal["agent", "provider", "environment", "evaluator", "harness", "user", "no one"]
"""The party that has to change something; only the agent's faults are scored."""
Resource = Literal["the model", "the evaluator", "the harness", "claimed"]
"""The broken thing; `claimed` is a resource of the trial, such as its site or VM."""
Origin = Literal["agent", "harness", "benchmark"]
"""Whose code raised it: the agent's, our own around it, or the benchmark's."""

HARNESS_ERROR = "harness_error"
"""Flags results of trials that failed because of a defect in the harness or the benchmark."""
NOT_RETRIED = "not_retried"
"""Flags results whose fault came after the agent's paid work: another try would pay for it again."""


@dataclass(frozen=True)
class FaultKind:
    """A row: the event, and its consequences.

    Attributes:
        name: Kept in `ErrorInfo.fault`.
        what: The event in words.
        owner: Whose it is.
        status: How the trial ends; the status says whether it has a score.
        retry: Whether another attempt of the trial may help.
        breaker: The thing that such faults in a row prove broken; None for nothing.
        stops_run: Whether every other trial would only meet it again, so that the run stops.
        ask_again: Of a model call: whether the same request may succeed a moment later.
        maybe_paid: Of a model call: whether a model may have answered, and its answer was lost.
        flag: Set on the result.
        mode: The failure mode, if that is not the status's own.
        suspect: Whether a score may not be the agent's own doing.
        if_first: The row instead, if all of a run's first trials end so, in the same way and before any act.
    """

    name: str
    what: str
    owner: Owner
    status: Status
    retry: bool = False
    breaker: Resource | None = None
    stops_run: bool = False
    ask_again: bool = False
    maybe_paid: bool = False
    flag: str | None = None
    mode: FailureMode | None = None
    suspect: bool = False
    if_first: str | None = None

    @property
    def scored(self) -> bool:
        """Whether the end state that the trial left is scored."""
        return self.status.scored

    @property
    def failure_mode(self) -> FailureMode:
        """Why the trial did not succeed, in one word."""
        return self.mode or FailureMode(self.status.value)


def _agents(name: str, what: str) -> FaultKind:
    return FaultKind(name, what, "agent", Status.AGENT_ERROR)


def _models(mode: FailureMode, *, suspect: bool = False) -> FaultKind:
    """Return the row of a request to a model that none serves, a failure mode of its own."""
    return FaultKind(
        mode.value, MEANINGS[mode], "agent", Status.AGENT_ERROR, mode=mode, suspect=suspect
    )


def _providers(
    name: str, what: str, *, ask_again: bool = False, maybe_paid: bool = False
) -> FaultKind:
    return FaultKind(
        name, what, "provider", Status.ENVIRONMENT_ERROR, retry=True, breaker="the model",
        ask_again=ask_again, maybe_paid=maybe_paid,
    )  # fmt: skip


def _users(name: str, what: str) -> FaultKind:
    return FaultKind(
        name, what, "user", Status.ENVIRONMENT_ERROR, breaker="the model", stops_run=True
    )


_UNSCORED = Status.ENVIRONMENT_ERROR
FAULTS: Mapping[str, FaultKind] = MappingProxyType(
    {
        each.name: each
        for each in (
            replace(
                _agents("agent_error", "the agent's own code failed, or it reported what it may not"),
                if_first="not_begun",
            ),
            _agents("environment_ended", "the agent ended its environment"),
            FaultKind("time_limit", "the agent used all its time", "agent", Status.TIME_LIMIT),
            FaultKind("step_limit", "the agent used all its steps", "agent", Status.STEP_LIMIT),
            _models(FailureMode.CONTEXT_WINDOW),
            _models(FailureMode.PICTURE_LIMIT),
            _models(FailureMode.MODEL_REFUSAL),
            _models(FailureMode.REQUEST_REFUSED, suspect=True),
            _users("auth", "the provider refuses the key"),
            _users("no_money", "the account at the provider has no money left"),
            _users("not_found", "the provider does not know the model"),
            FaultKind(
                "not_begun", "the agent failed before any act in the same way in each of the run's first trials",
                "user", _UNSCORED, stops_run=True,
            ),
            FaultKind("input", "what the user gave cannot be used", "user", _UNSCORED, flag=HARNESS_ERROR, breaker="claimed"),
            _providers("bad_request", "the provider refuses the first request for an unknown reason"),
            _providers("rate_limit", "the provider's limit of requests is reached", ask_again=True),
            _providers("overloaded", "the provider is overloaded", ask_again=True),
            _providers("server", "the provider's server failed", ask_again=True),
            _providers("connection", "the provider cannot be reached", ask_again=True),
            _providers("malformed", "the provider's answer is none of its API", ask_again=True),
            _providers("unreadable", "the provider's answer is whole, and of another form than its API's"),
            _providers("timeout", "the provider did not answer in time", maybe_paid=True),
            _providers("cut_off", "the provider's answer was cut off", maybe_paid=True),
            _providers("deadline", "the provider did not serve the call within its time"),
            _providers("oversized", "the provider's answer is larger than any"),
            _providers("unknown", "the call of the provider failed, and nothing says why"),
            FaultKind("environment", "the environment failed", "environment", _UNSCORED, retry=True, breaker="claimed"),
            FaultKind(
                "page_crashed", "a page crashed or hangs, and no command of the agent's shows that it did that",
                "environment", _UNSCORED, retry=True, breaker="claimed",
            ),
            FaultKind(
                "lasting", "the environment failed, and would again", "environment", _UNSCORED,
                breaker="claimed", flag=NOT_RETRIED,
            ),
            FaultKind(
                "after_work", "the environment failed after the agent's paid work", "environment", _UNSCORED,
                breaker="claimed", flag=NOT_RETRIED,
            ),
            FaultKind(
                "evaluator_down", "the evaluator cannot be reached", "environment", _UNSCORED,
                breaker="the evaluator", flag=NOT_RETRIED,
            ),
            FaultKind("hard_deadline", "the attempt did not end in time", "environment", _UNSCORED, retry=True),
            FaultKind("lease_lost", "what the attempt held was taken from it", "environment", _UNSCORED, retry=True),
            FaultKind("clock_gap", "the run's processes were stopped meanwhile", "environment", _UNSCORED, retry=True),
            FaultKind(
                "harness_fault", "a folder, file, thread, pipe or process of the run's own failed", "harness", _UNSCORED,
                retry=True, breaker="the harness",
            ),
            FaultKind(
                "harness_error", "the harness or the benchmark has a defect", "harness", _UNSCORED,
                breaker="claimed", flag=HARNESS_ERROR,
            ),
            FaultKind("evaluation_error", "the evaluator could not decide", "evaluator", Status.EVALUATION_ERROR),
            FaultKind("budget_exceeded", "the run's budget was spent", "no one", Status.BUDGET_EXCEEDED),
            FaultKind("cancelled", "the user stopped the run", "no one", Status.CANCELLED),
        )
    }
)  # fmt: skip
"""All rows, by name."""


@dataclass(frozen=True)
class FaultEvidence:
    """The evidence on an error.

    Attributes:
        error: The exception; one of Proctor's own names its owner in `fault`, a `ModelError` its kind.
        phase: When: `open`, `agent`, `capture`, `evaluation`, `check`, ...
        origin: Whose code raised it.
        believed: Whether the raising code may say whose fault it is: Proctor's own code may, and in the
            harness's process everything; an agent in a process of its own may not.
        own_process: Whether the agent ran in a process of its own, whose memory, threads and files are its own.
        answered: Whether the trial's model had answered before.
        after_work: Whether the agent's part was over, so that another try would pay for it again.
        budget_spent: Whether the run's budget is spent.
        ended: How the agent's part ended, if nothing was raised.
        unserved: Why the agent waited for its model's provider at its end: how that failed last, if it has served
            no call since.
    """

    error: BaseException | None = None
    phase: str = "agent"
    origin: Origin = "agent"
    believed: bool = True
    own_process: bool = False
    answered: bool = False
    after_work: bool = False
    budget_spent: bool = False
    ended: Status | None = None
    unserved: EnvironmentFaultError | None = None


def fault_of(evidence: FaultEvidence) -> FaultKind:
    """Return the row of the evidence.

    >>> fault_of(FaultEvidence(ValueError("bug"))).owner
    'agent'
    >>> fault_of(FaultEvidence(EnvironmentFaultError("down"), "capture", "benchmark", after_work=True)).name
    'after_work'
    """
    return FAULTS[_name_of(evidence)]


def _name_of(evidence: FaultEvidence) -> str:
    error, phase = evidence.error, evidence.phase
    fault, misused = isinstance(error, EnvironmentFaultError), isinstance(error, InputError)
    agents = phase == "agent" and evidence.origin == "agent"
    if isinstance(error, BudgetExceededError) and (evidence.budget_spent or not agents):
        name = "budget_exceeded"
    elif agents and not (evidence.believed and (fault or misused)):
        # in the process of the run, it shares our memory, threads and files
        ours = not evidence.own_process and is_exhausted(error)
        name = "harness_fault" if ours else _agents_own(evidence)
    elif not fault and _ran_out(error):
        name = "harness_fault"
    elif phase == "evaluation":
        name = "evaluator_down" if fault else "evaluation_error"
    elif isinstance(error, EnvironmentFaultError):
        name = _environments(error, evidence)
    elif isinstance(error, EvaluationError):
        name = "evaluation_error"
    elif misused:
        name = "input"
    else:
        ours = evidence.origin == "harness" or is_exhausted(error)
        name = "harness_fault" if ours else "harness_error"
    return name


def _agents_own(evidence: FaultEvidence) -> str:
    """Return the row of an agent's own end, which may have been its provider's doing."""
    error, ended = evidence.error, evidence.ended or Status.AGENT_ERROR
    said = error.fault if isinstance(error, AgentError) else ""
    if said != "agent_error" and said in FAULTS and FAULTS[said].owner == "agent":
        return said
    if evidence.unserved is not None:
        why = _environments(evidence.unserved, evidence)
        if FAULTS[why].status in {ended, Status.ENVIRONMENT_ERROR}:
            return why
    return ended.value


def _environments(error: EnvironmentFaultError, evidence: FaultEvidence) -> str:
    if evidence.after_work:
        return "after_work"
    if evidence.phase != "agent" and FAULTS[error.fault].owner == "agent":
        return "environment"  # it was not the agent that asked too much
    if error.fault == "bad_request" and (evidence.answered or error.answered):
        return "request_refused"
    if error.fault == "environment" and error.lasting:
        return "lasting"
    return error.fault


def _ran_out(error: BaseException | None) -> bool:
    """Return whether an error began when the system had no thread, file or room left.

    Memory may have been filled by files an agent left to be evaluated.
    """
    return any(is_exhausted(each) and not isinstance(each, MemoryError) for each in causes(error))


def before_acting(result: TrialResult) -> FaultKind | None:
    """Return the row of an end before any act, by which a run's first trials may go unscored; else None.

    A trial whose model has answered measures the agent, even if it achieved nothing.
    """
    said = result.error.fault if result.error is not None else None
    kind = FAULTS.get(said or result.status.value)
    if result.score is None or result.steps or result.usage.total_tokens or kind is None:
        return None
    return FAULTS[kind.if_first] if kind.if_first and kind.status is result.status else None


def lacks_something(error: ErrorInfo | None) -> bool:
    """Return whether an agent's error names a missing module, key, account or model, whatever its task."""
    if error is None:
        return False
    kind = error_kind(400, None, text=f"{error.kind}: {error.message}")  # "bad request" says least
    return error.kind in {"ImportError", "ModuleNotFoundError"} or FAULTS[kind].owner == "user"


def recorded_fault(result: TrialResult) -> FaultKind | None:
    """Return the row that a result without a score was recorded by; None for one with a score.

    A benchmark may state the event itself, by status, flags and phase.
    """
    if result.score is not None:
        return None
    error, status = result.error, result.status
    named = FAULTS.get(error.fault or error.kind) if error is not None else None
    if named is not None and named.status is status:
        return named
    if status is not Status.ENVIRONMENT_ERROR:
        return FAULTS.get(status.value)
    if HARNESS_ERROR in result.flags:
        return FAULTS["harness_error"]
    evaluated = error is not None and error.phase == "evaluation"
    kind = FAULTS["evaluator_down" if evaluated else "environment"]
    return replace(kind, retry=NOT_RETRIED not in result.flags)
