"""Reading clients' requests: bounded, checked, never trusted."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from bench_core.records.problems import problems_of
from waa_server_ext.evaluation.tasks import BadTaskError, TaskFolder, check_task
from waa_server_ext.server.journal import ANONYMOUS
from waa_server_ext.vm.exchanges import VmExchange
from waa_server_ext.vm.json_limits import check_size

MAX_BODY = 8 * 1024 * 1024
"""Bytes; the largest task has 20 kB, histories of code blocks may have more."""

MAX_TRANSCRIPT = 128 * 1024 * 1024
"""The most bytes of a request that contains the bodies of a transcript."""

_MAX_KEY = 200
_MAX_ACTIONS = 10_000
_OURS = frozenset({"transcript", "action_history", "agent_last_action", "idempotency_key"})


@dataclass(frozen=True)
class EvaluationRequest:
    """One evaluation or setup that a client requests."""

    task: dict[str, Any]
    action_history: list[str]
    key: str | None
    digest: str


def read_request(body: bytes, tasks: TaskFolder | None) -> EvaluationRequest:
    """Parse the body of `POST /evaluate` or `/setup`.

    `{"task": {...} | "domain/stem", "action_history": [...], "idempotency_key": "..."}`, or a bare
    task with `agent_last_action` among its own fields.

    Raises:
        BadTaskError: Says which field does not fit.
        UnknownTaskError: A task of that name does not exist.
    """
    return _request(_object(body), tasks)


def read_rescoring(
    body: bytes, tasks: TaskFolder | None
) -> tuple[EvaluationRequest, tuple[VmExchange, ...]]:
    """Parse the body of `POST /rescore` into the request and its transcript.

    Raises:
        BadTaskError: Says which field does not fit.
        UnknownTaskError: A task of that name does not exist.
    """
    value = _object(body)
    return _request(value, tasks), _transcript(value.get("transcript"))


def _request(value: dict[str, Any], tasks: TaskFolder | None) -> EvaluationRequest:
    key = _key(value)
    history = value.get("action_history")
    if history is None:
        last = value.get("agent_last_action")
        history = [] if last is None else [last]
    if (
        not isinstance(history, list)
        or len(history) > _MAX_ACTIONS
        or not all(isinstance(each, str) for each in history)
    ):
        raise BadTaskError(f"action_history must be a list of at most {_MAX_ACTIONS} strings")
    named = value.get("task") if "task" in value else _bare(value)
    if isinstance(named, dict):
        task = named
    else:
        if not isinstance(named, str):
            raise BadTaskError(f"task is {type(named).__name__}: send the object or 'domain/stem'")
        if tasks is None:
            raise BadTaskError(
                f"task is the name {named[:100]!r}, and this server has no tasks: start it with --tasks-dir"
            )
        task = tasks.load(named)
    check_task(task)
    whole = json.dumps([named, history], sort_keys=True).encode()
    return EvaluationRequest(task, history, key, hashlib.sha256(whole).hexdigest())


def _transcript(found: Any) -> tuple[VmExchange, ...]:
    if not isinstance(found, list):
        raise BadTaskError("there is no transcript: send the one of the verdict, a list")
    try:
        return tuple(VmExchange.model_validate(each) for each in found)
    except ValidationError as error:
        raise BadTaskError(f"transcript: {problems_of(error, VmExchange)}") from error


def _object(body: bytes) -> dict[str, Any]:
    value = _json(body)
    if not isinstance(value, dict):
        raise BadTaskError(f"the body is {type(value).__name__}, not an object")
    return value


def _json(body: bytes) -> Any:
    try:
        check_size(body)
        # Python reads NaN and Infinity, which JSON does not have
        value = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails on a lone surrogate
    except UnicodeEncodeError as error:
        raise BadTaskError("the body holds an escape that is half a character") from error
    except UnicodeDecodeError as error:
        raise BadTaskError(f"the body is not UTF-8: {error.reason}") from error
    except (ValueError, RecursionError) as error:
        raise BadTaskError(f"the body is not JSON: {error}") from error
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _key(value: dict[str, Any]) -> str | None:
    key = value.get("idempotency_key")
    if key is None:
        return None
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY or not key.isprintable():
        raise BadTaskError(f"idempotency_key must be printable text of 1 to {_MAX_KEY} characters")
    if key.startswith(ANONYMOUS):
        raise BadTaskError(
            f"idempotency_key must not begin with {ANONYMOUS!r}: the server makes those itself"
        )
    return key


def _bare(value: dict[str, Any]) -> dict[str, Any]:
    task = {name: each for name, each in value.items() if name not in _OURS}
    if not task:
        raise BadTaskError('there is no task: send {"task": {...}} or {"task": "domain/stem"}')
    return task
