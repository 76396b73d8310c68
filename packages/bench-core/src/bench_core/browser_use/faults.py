"""Distinguish a failing model server from a model that answered badly.

browser-use wraps both in `ModelProviderError`, usually with status 502, so the difference has to
be read from the cause and the words.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ValidationError

from bench_core.errors import BenchError
from bench_core.models.errors import ModelError, answer_was_lost, was_sent

if TYPE_CHECKING:
    from collections.abc import Iterator

# What browser-use's chat classes say when the server answered but the answer was no use.
_BAD_ANSWER = re.compile(
    r"^(Failed to parse|No response from model|Expected tool use|Model does not support JSON mode"
    r"|Model output was truncated)"
)
# Requests that are too long or not wanted are the doing of the agent, not of the server.
_BAD_REQUEST = re.compile(
    r"context.{0,10}(length|window)|maximum context|too many tokens|prompt is too long"
    r"|content.{0,3}(policy|filter)",
    re.IGNORECASE,
)
_WORTH_A_RETRY = frozenset({408, 409, 425, 429, 500, 502, 503, 529})
_GATEWAY_GAVE_UP = frozenset({504, 524})
_REFUSES_KEY = frozenset({401, 403})


class CallFault(NamedTuple):
    """Whose fault a failed model call is, whether to try again, and the message for the user.

    `own` is an error of ours passing through; `answer` the model's answer was unusable;
    `server` the provider failed; `code` something unforeseen in the chat class.
    """

    whose: Literal["own", "answer", "server", "code"]
    retry: bool
    message: str


def judge_failure(error: BaseException, model: str) -> CallFault:
    """Say whose fault a failed call of `model` is."""
    if isinstance(error, BenchError):
        too_long = isinstance(error, ModelError) and _is_too_long(error)
        return CallFault("answer" if too_long else "own", retry=False, message=str(error))
    status = getattr(error, "status_code", None)
    causes = list(_causes(error))
    lost = any(map(answer_was_lost, causes)) and all(map(was_sent, causes))
    if lost or status in _GATEWAY_GAVE_UP:
        message = (
            f"the model server of {model} hangs: no answer in time, and the request was not sent again "
            "because it may have been paid for"
        )
        return CallFault("server", retry=False, message=message)
    if any(isinstance(each, ValidationError) for each in causes):
        return CallFault("answer", retry=False, message=_short(error))
    if not isinstance(status, int):
        return CallFault("code", retry=False, message=_short(error))
    refused = status < HTTPStatus.INTERNAL_SERVER_ERROR and _BAD_REQUEST.search(str(error))
    if _BAD_ANSWER.match(str(error)) or refused:
        return CallFault("answer", retry=False, message=_short(error))
    return CallFault("server", status in _WORTH_A_RETRY, _server_message(error, status, model))


def _is_too_long(error: ModelError) -> bool:
    if error.kind == "bad_request":
        return _BAD_REQUEST.search(str(error)) is not None
    return error.kind == "too_large"


def _causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__


def _server_message(error: BaseException, status: int, model: str) -> str:
    if status in _REFUSES_KEY:
        return f"the model server of {model} refuses the key (status {status}): {_short(error)}"
    if isinstance(error.__cause__, (AttributeError, ValueError, TypeError)):
        return (
            f"the model server of {model} did not answer in its API's format "
            f"(a proxy's page or nothing at all?): {_short(error)}"
        )
    return f"the model server of {model} failed (status {status}): {_short(error)}"


def _short(error: BaseException, limit: int = 300) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."
