"""The vocabulary of a result: reasons of failures, reasons to suspect a score, the meaning of flags.

One vocabulary for all benchmarks, so that tables over several of them mean one thing by one word.
How a trial ended is `bench_core.records.Status`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Literal

__all__ = [
    "FLAGS",
    "MEANINGS",
    "STATUSES",
    "FailureMode",
    "SuspectCause",
    "VerdictKind",
    "Word",
    "meaning_of_flag",
]


VerdictKind = Literal["proven", "supported", "opinion", "unknown"]
"""The basis of a verdict, for pass and fail alike, the strongest first.

`proven`: code decided it, from an adequate claim. `supported`: a model's verdict whose quotations are
really there; that they show the claim is the model's word. `opinion`: a model's word alone.
`unknown`: the verdict is missing.
"""


class Word(str, enum.Enum):
    """A word of a fixed list: equal to its text, so of the same hash, and written as it."""

    __hash__ = str.__hash__
    __str__ = str.__str__
    __format__ = str.__format__  # type: ignore[assignment]  # its stub leaves the argument's name out


class FailureMode(Word):
    """Why a trial did not succeed, in one word."""

    ENVIRONMENT_ERROR = "environment_error"
    EVALUATION_ERROR = "evaluation_error"
    BUDGET_EXCEEDED = "budget_exceeded"
    CANCELLED = "cancelled"
    STEP_LIMIT = "step_limit"
    TIME_LIMIT = "time_limit"
    AGENT_ERROR = "agent_error"
    CONTEXT_WINDOW = "context_window"
    PICTURE_LIMIT = "picture_limit"
    MODEL_REFUSAL = "model_refusal"
    REQUEST_REFUSED = "request_refused"
    NOT_ATTEMPTED = "not_attempted"
    MALFORMED_ANSWER = "malformed_answer"
    GAVE_UP = "gave_up"
    MISSED_IMPOSSIBLE = "missed_impossible"
    WRONG_DECLARATION = "wrong_declaration"
    WRONG_ANSWER = "wrong_answer"
    WRONG_END_STATE = "wrong_end_state"
    WRONG_ACTION = "wrong_action"
    MISSING_ACTION = "missing_action"
    FORBIDDEN_ACTION = "forbidden_action"
    LOGIN_LOST = "login_lost"
    SITE_ERROR = "site_error"
    NAVIGATION_BLOCKED = "navigation_blocked"
    UNLISTED_HOST = "unlisted_host"
    WRONG_PAGE = "wrong_page"
    SITE_SLOW = "site_slow"
    UNCLASSIFIED = "unclassified"


class SuspectCause(Word):
    """Why a score may be the environment's doing although the benchmark's own rule scores it."""

    LOGIN_LOST = "login_lost"
    SITE_ERROR = "site_error"
    NAVIGATION_BLOCKED = "navigation_blocked"
    UNLISTED_HOST = "unlisted_host"
    WRONG_PAGE = "wrong_page"
    SITE_SLOW = "site_slow"
    ENVIRONMENT_FAULT = "environment_fault"
    SETUP_INCOMPLETE = "setup_incomplete"
    REQUEST_REFUSED = "request_refused"


MEANINGS: Mapping[FailureMode | SuspectCause, str] = MappingProxyType(
    {
        FailureMode.ENVIRONMENT_ERROR: "a VM, site, browser, recorder or provider failed; no score",
        FailureMode.EVALUATION_ERROR: "the evaluator could not decide; no score",
        FailureMode.BUDGET_EXCEEDED: "the run's budget was spent; no score",
        FailureMode.CANCELLED: "the user stopped the run; no score",
        FailureMode.STEP_LIMIT: "the agent used all its steps",
        FailureMode.TIME_LIMIT: "the agent used all its time",
        FailureMode.AGENT_ERROR: "the agent's own code failed",
        FailureMode.CONTEXT_WINDOW: "the agent filled its model's context",
        FailureMode.PICTURE_LIMIT: "its pictures were larger or more than the model takes",
        FailureMode.MODEL_REFUSAL: "the model, or its provider's policy, declined",
        FailureMode.REQUEST_REFUSED: "the provider refused a conversation that it had answered before",
        FailureMode.NOT_ATTEMPTED: "the agent did nothing",
        FailureMode.MALFORMED_ANSWER: "it answered, but not in the format asked for",
        FailureMode.GAVE_UP: "it declared that it cannot be done where it can",
        FailureMode.MISSED_IMPOSSIBLE: "it declared success where the task cannot be done",
        FailureMode.WRONG_DECLARATION: "all it did is right, what it declared of it is not",
        FailureMode.WRONG_ANSWER: "the answer is wrong",
        FailureMode.WRONG_END_STATE: "the state it left is not the one asked for",
        FailureMode.WRONG_ACTION: "the expected request was made, with other content",
        FailureMode.MISSING_ACTION: "the expected request was never made",
        FailureMode.FORBIDDEN_ACTION: "it did something the task must not lead to",
        FailureMode.LOGIN_LOST: "a site sent the agent to its login page",
        FailureMode.SITE_ERROR: "a site answered with a server error",
        FailureMode.NAVIGATION_BLOCKED: "a page could not be opened",
        FailureMode.UNLISTED_HOST: "a page of a site is at a host that the configuration does not list",
        FailureMode.WRONG_PAGE: "a site answered with a page that is not its own",
        FailureMode.SITE_SLOW: "pages of a site took long",
        FailureMode.UNCLASSIFIED: "nothing more is known",
        SuspectCause.LOGIN_LOST: "what the task needs was answered with the login page",
        SuspectCause.SITE_ERROR: "what the task needs was answered with a server error",
        SuspectCause.NAVIGATION_BLOCKED: "what the task needs could not be opened",
        SuspectCause.UNLISTED_HOST: "what the task needs is at a host that the configuration does not list",
        SuspectCause.WRONG_PAGE: "what the task needs was answered with a page that is not the site's",
        SuspectCause.SITE_SLOW: "pages took long, and the agent ran out of steps or time",
        SuspectCause.ENVIRONMENT_FAULT: "the environment failed while the agent worked",
        SuspectCause.SETUP_INCOMPLETE: "cleaning up or a step of the set-up failed, and the trial went on",
        SuspectCause.REQUEST_REFUSED: "the provider refused a conversation for a reason that is not known",
    }
)
"""The meaning of each word."""

FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "harness_error": "a defect of the harness or the benchmark ended it; it is not tried again",
        "process_ended": "the process that ran it ended again and again while it ran; it is given up",
        "rerun": "it had a lasting result and was run again on request; that one is kept beside",
        "not_retried": "the fault came after the agent's paid work; another try would pay again",
        "suspended": "the run, its machine or a process of the trial's was stopped meanwhile, so that it is tried again",
        "not_closed": "the environment could not be closed; all that is scored was captured before",
        "not_released": "the environment could not be taken from the agent, which had ended by then",
        "usage_reported": "the agent's model calls were not metered; its own report is recorded",
        "usage_unknown": "the agent made model calls that could not be counted, or may have",
        "usage_upper_bound": "a model call was cut off, and the most that it can have used is counted",
        "agent_claims_fault": "the agent says that something else failed, which nothing else shows",
        "agent-*": "what the agent itself says under this name; it changes nothing",
        "gave_up": "the agent declared that the task cannot be done",
        "actions_left_out": "it asked for several actions at once, of which some were not carried out",
        "ended_by_text": "the model ended with text instead of a call, which is its answer",
        "safety_check_acknowledged": "the provider asked to have an action confirmed, and it was",
        "malformed_ending": "the agent ended in another form than the benchmark asks for, although that had been refused before",
        "context_compacted": "old pictures or turns were left out of what the model was sent, as its context was full",
        "truncated_reply": "a reply of the model was cut off at its length limit",
        "model_mismatch": "the API answered with another model than the one asked for",
        "closed_browser": "the agent closed its browser, and the state of its apps with it",
        "guarded_path": "the agent tried a path that is the harness's alone; it was refused",
        "left_the_apps": "the agent visited other sites than those of its task",
        "incomplete_state": "an app gave no end state; no score",
        "suspect_state": "the end state does not look like what this trial left",
        "defective_queries": "a query that decided the score is known to be defective",
        "disagree": "queries and judge disagree",
        "judge_abstained": "the judge could not decide",
        "judge_error": "the judge could not be asked",
        "regex-answer": "the answer is a pattern, which the official evaluator would match",
        "alternatives-answer": "the answer holds alternatives, any of which may match",
        "partial-date-answer": "the evaluator completes the answer's date from the day of scoring",
        "answer-extracted-by-*": "an ending in another form was restated in the format asked for, by this means",
        "recording_full": "it made more requests than are kept; a zero stands, a success does not",
        "contact-probe-restored": "a script that current images of a site lack was put back",
        "unneeded-deletion": "a file of the user's folders is gone, which no right solution needs, see `unneeded_acts`",
        "unneeded-act": "it did what no right solution needs and its checker does not see, see `unneeded_acts`",
        "task-*": "what is known of the task's own definition, such as that doing nothing passes",
        "setup_incomplete": "a step of the task's set-up failed, and the trial went on as vanilla's do",
        "windows_not_closed": "windows of an earlier trial could not be closed",
        "downloads_not_cleared": "downloads of an earlier trial could not be removed",
        "satisfied_before": "its check was already met before the agent began",
        "program_missing": "its set-up starts a program that the VM does not have, which WAA's server does not say",
        "vm_not_restored": "a further attempt began on the VM as the one before had left it",
        "tree_unknown": "the controls on the screen could not be read",
        "block_goes_on": "a block of code did not end in time, and may go on in the VM in later trials",
        "block_ended_server": "the VM's server ended while a block of the agent's code ran in it",
        "window_unknown": "the desktop did not say which window is in front",
        "corner_moved": "a click in the corner that stops the mouse was moved aside",
        "text_changed": "what the agent typed was changed to what the desktop can type",
        "failsafe_tripped": "the mouse was in the corner that stops it",
        "evaluated_again": "the VM was away during its evaluation, and evaluated again as the agent left it",
        "vm_errors": "the VM answered its evaluation with errors that tell nothing of its state",
        "nothing_runs": "every action failed, and so did one that does nothing",
        "demo": "the agent was shown how the task is done",
        "imported": "another harness ran it",
        "reported_only": "another harness wrote its score; nothing to score it again was kept",
        "vanilla_unreadable": "the result that vanilla left cannot be read",
        "vanilla_no_result": "vanilla left no result",
    }
)
"""The meaning of the flags of all packages; `name-*` stands for all that begin with `name-`.

A benchmark of a third party may set others.
"""

FLAGS_OF_AGENTS = frozenset(
    {
        "usage_reported", "usage_unknown", "gave_up", "actions_left_out", "ended_by_text",
        "safety_check_acknowledged", "malformed_ending", "context_compacted", "truncated_reply",
    }
)  # fmt: skip
"""Flags an agent may set on its own part; every other flag is the run's or the benchmark's."""
_OWN_FLAGS, _LONGEST_FLAG = 32, 80


def flags_from_agent(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the flags that an agent reports, so that none of them can be taken for the run's.

    >>> flags_from_agent(["gave_up", "closed_browser"])
    ('gave_up', 'agent-closed_browser')
    """
    named = (each if each in FLAGS_OF_AGENTS else f"agent-{each[:_LONGEST_FLAG]}" for each in flags)
    return tuple(islice(dict.fromkeys(named), _OWN_FLAGS))


STATUSES: Mapping[str, str] = MappingProxyType(
    {
        "completed": "the agent reported that it was done",
        "step_limit": "it ran out of steps",
        "time_limit": "it ran out of time",
        "agent_error": "its code failed, or its answer was malformed",
        "environment_error": "a VM, site, browser, recorder or model provider failed",
        "evaluation_error": "the evaluator could not decide",
        "budget_exceeded": "the run's dollars, tokens or minutes were spent",
        "cancelled": "the user stopped the run",
    }
)
"""The meaning of each `bench_core.records.Status`."""


def meaning_of_flag(flag: str) -> str | None:
    """Return the meaning of a flag, None for one that is not in the vocabulary.

    >>> meaning_of_flag("gave_up")
    'the agent declared that the task cannot be done'
    """
    if flag in FLAGS:
        return FLAGS[flag]
    stem = next((each for each in FLAGS if each.endswith("*") and flag.startswith(each[:-1])), None)
    return FLAGS[stem] if stem else None
