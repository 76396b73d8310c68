"""Distinguish a failing model server from a model that answered badly.

browser-use wraps both in `ModelProviderError`, usually with status 502, so the difference has to
be read from the cause and the words. Whose fault a failing call is, `bench_core.faults` says.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pydantic import ValidationError

from bench_core.errors import BenchError, causes
from bench_core.faults import ErrorKind, error_kind
from bench_core.models.errors import ModelError, answer_was_lost, was_sent
from bench_core.models.wire import provider_error

# Messages of browser-use's chat classes when the server's answer was unusable.
_BAD_ANSWER = re.compile(
    r"^(Failed to parse|No response from model|Expected tool use|Model does not support JSON mode"
    r"|Model output was truncated)"
)


class CallFault(NamedTuple):
    """The kind of a failed model call: `error` is None if only the model's answer was unusable."""

    error: Exception | None
    retry: bool
    message: str


def judge_failure(error: Exception, model: str) -> CallFault:
    """Classify a failed call of `model`, `provider:name`."""
    if isinstance(error, BenchError):
        return CallFault(error, retry=False, message=str(error))
    status = getattr(error, "status_code", None)
    chain = list(causes(error))
    provider = model.partition(":")[0]
    if any(map(answer_was_lost, chain)) and all(map(was_sent, chain)):
        message = (
            f"the model server of {model} hangs: no answer in time, and the request was not sent again "
            "because it may have been paid for"
        )
        return CallFault(ModelError("timeout", message, provider=provider), False, message)
    if any(isinstance(each, ValidationError) for each in chain):
        return CallFault(None, retry=False, message=_short(error))
    if not isinstance(status, int):
        return CallFault(error, retry=False, message=_short(error))
    if _BAD_ANSWER.match(str(error)):
        return CallFault(None, retry=False, message=_short(error))
    if isinstance(error.__cause__, (AttributeError, ValueError, TypeError)):
        kind: ErrorKind = "malformed"
        message = (
            f"the model server of {model} did not answer in its API's format "
            f"(a proxy's page or nothing at all?): {_short(error)}"
        )
    else:
        said = provider_error(error)
        kind = said.kind if said is not None else error_kind(status, str(error))
        refuses = kind == "auth"
        how = "refuses the key" if refuses else "failed"
        message = f"the model server of {model} {how} (status {status}): {_short(error)}"
    known = ModelError(kind, message, provider=provider, status=status)
    return CallFault(known, known.retryable, message)


def _short(error: BaseException, limit: int = 300) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."
