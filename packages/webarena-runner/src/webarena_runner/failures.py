"""The failure mode of a trial without success, and the evidence for it.

It is derived from the statuses, the evaluator's details and the agent's own declaration; the modes::

    environment_error, evaluation_error, budget_exceeded, cancelled    no score, not the agent
    step_limit, time_limit, agent_error    the agent stopped before it answered
    malformed_answer        it answered, but not in the response format
    gave_up                 it declared an error although the task can be done
    missed_impossible       it declared success, or another error, although the task cannot be done
    wrong_declaration       everything recorded is right, the declared type or status is not
    wrong_answer            the retrieved data is wrong
    forbidden_action        it made a request that the task must not lead to
    wrong_action            the expected request was made, with other content
    missing_action          the expected request was never made
    not_attempted           the agent reported no step, and left none in its trajectory
    login_lost              a site sent the agent to its login page
    site_error              a site answered with a server error
    navigation_blocked      a page could not be opened
    unlisted_host           a page of a site is at a host that the configuration does not list
    wrong_page              a page is not the site's: about maintenance, a captcha, another language
    site_slow               pages took long, and the agent ran out of steps or time

The last six are faults in the traffic, and go with the suspect cause of the same name. On a request
that the task expects they take precedence over mistakes of the agent that they may have caused; on
another page they take precedence if the agent made no other mistake. A malformed answer, a wrong
declaration and a forbidden request are the agent's own acts in any case.
"""

from __future__ import annotations

from typing import Any

from bench_core.records import Check, Status
from webarena_runner.evaluation import Evaluation
from webarena_runner.traffic_faults import TrafficFault

_STOPPED = {
    Status.STEP_LIMIT: "the agent used all its steps without an answer",
    Status.TIME_LIMIT: "the agent used all its time without an answer",
    Status.AGENT_ERROR: "the agent stopped without an answer",
}


_MAY_BE_FAULT = frozenset(
    {"step_limit", "time_limit", "agent_error", "gave_up", "wrong_answer", "missing_action"}
)
_MAY_BE_IDLE = frozenset(
    {"wrong_answer", "missing_action", "missed_impossible", "wrong_declaration"}
)


def classify_failure(
    status: Status, evaluation: Evaluation, *, steps: int | None = None
) -> tuple[str, str] | None:
    """Return the failure mode of a trial and the evidence for it; None for a success.

    With `steps` 0 an agent that did nothing is distinguished from one that did the wrong thing.
    """
    found = _failure(status, evaluation)
    if found is None or evaluation.score is None:
        return found
    fault = evaluation.traffic_fault
    if fault is not None and _explains(fault, found[0], evaluation):
        return fault.kind, fault.evidence
    if steps == 0 and found[0] in _MAY_BE_IDLE:
        return "not_attempted", f"the agent reported no step; {found[1]}"
    return found


def suspect_cause(status: Status, evaluation: Evaluation) -> str | None:
    """Return why the score may not be the agent's own doing; None if nothing shows that.

    A failure is suspect if its mode is a fault of the traffic. A success is suspect if there was a
    fault on the request it depends on, or if the task cannot be done and a page that might have shown
    that did not open.
    """
    fault = evaluation.traffic_fault
    if fault is None or evaluation.score is None:
        return None
    failure = classify_failure(status, evaluation)
    if failure is not None:
        return fault.kind if failure[0] == fault.kind else None
    is_suspect = fault.on == "expected" or (fault.on == "page" and _is_impossible(evaluation))
    return fault.kind if is_suspect else None


def _explains(fault: TrafficFault, mode: str, evaluation: Evaluation) -> bool:
    """Return whether a fault may be the cause of a failure; a wrong type fails the trial in any case."""
    expected, actual = (
        _fields(evaluation.checks[0].expected),
        _fields(evaluation.checks[0].actual),
    )
    wrong_type = _word(actual, "task_type") != _word(expected, "task_type")
    if fault.on == "other" or (wrong_type and not evaluation.malformed):
        return False
    if fault.kind == "site_slow":
        return mode in {"step_limit", "time_limit", "gave_up"}
    return mode in _MAY_BE_FAULT or (fault.on == "expected" and mode == "wrong_action")


def _is_impossible(evaluation: Evaluation) -> bool:
    return _word(_fields(evaluation.checks[0].expected), "status") != "success"


def _failure(status: Status, evaluation: Evaluation) -> tuple[str, str] | None:
    if evaluation.score is None:
        return Status.EVALUATION_ERROR.value, evaluation.problem or ""
    if evaluation.score >= 1.0:
        return None
    if evaluation.malformed:
        if status in _STOPPED and evaluation.answer.value is None:
            return status.value, _STOPPED[status]
        return "malformed_answer", evaluation.problem or ""
    # the check of the answer is the first one in all 812 tasks
    answer, *requests = evaluation.checks
    return _declaration(answer, requests) or _request(requests) or ("wrong_answer", _why(answer))


def _declaration(answer: Check, requests: list[Check]) -> tuple[str, str] | None:
    """Return the failure mode of a wrong status or type, which are scored in every answer."""
    expected, actual = _fields(answer.expected), _fields(answer.actual)
    wanted, declared = _word(expected, "status"), _word(actual, "status")
    if declared != wanted:
        mode = "gave_up" if wanted == "success" else "missed_impossible"
        return mode, f"declared status {declared}, expected {wanted}"
    wanted, declared = _word(expected, "task_type"), _word(actual, "task_type")
    if declared != wanted:
        evidence = f"declared type {declared}, expected {wanted}"
        if all(check.passed for check in requests):
            return "wrong_declaration", evidence
    return None


def _request(requests: list[Check]) -> tuple[str, str] | None:
    for check in requests:
        if check.passed:
            continue
        if check.criterion.startswith("no "):
            return "forbidden_action", f"{check.criterion}: {_why(check)}"
        mode = "wrong_action" if check.actual else "missing_action"
        return mode, f"{check.criterion}: {_why(check)}"
    return None


def _why(check: Check) -> str:
    return check.reason or "no reason given"


def _word(fields: dict[str, Any], name: str) -> str:
    """Return a field in lower case: the evaluator lowers the words of readable answers only."""
    return str(fields.get(name)).strip().lower()


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
