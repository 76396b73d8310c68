"""Failures of model calls, classified without importing any SDK or HTTP library.

The two lines of each SDK raise different classes for the same thing and moved from one HTTP library
to another, so errors are classified by the provider's words (`bench_core.faults.error_kind`) and, if it said nothing,
by the names of their classes. The consequences of a kind are its row of `bench_core.faults.FAULTS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench_core.errors import EnvironmentFaultError, InputError, causes
from bench_core.faults import FAULTS, ErrorKind, error_kind

_TIMEOUTS = frozenset({"TimeoutError", "APITimeoutError", "TimeoutException"})
_NOT_SENT = frozenset({"ConnectError", "ConnectTimeout", "PoolTimeout"})
_CONNECTIONS = frozenset(
    {"APIConnectionError", "TransportError", "ClientConnectionError", "ConnectionError", "OSError"}
)
_MALFORMED = frozenset(
    {
        "APIResponseValidationError", "ClientPayloadError", "JSONDecodeError",
        "UnknownApiResponseError", "ValidationError",
    }
)  # fmt: skip
_BODY_LIMIT = 500


class MissingKeyError(InputError):
    """The model's provider needs a key that is not there."""

    def __init__(self, provider: str, variable: str, *, own_server: bool = False) -> None:
        self.provider = provider
        self.variable = variable
        or_server = (
            " name a server of your own (`--agent-option base_url=http://...`),"
            if own_server
            else ""
        )
        super().__init__(
            f"{provider} needs a key: set the environment variable {variable},{or_server} leave out --model for an agent that finds its "
            f"key elsewhere, or use a `scripted:` or `replay:` model, which need none"
        )


class ModelError(EnvironmentFaultError):
    """The provider gave no usable reply.

    Attributes:
        status: HTTP status, None if none came.
        retry_after_s: Seconds that the provider asked to wait.
        attempts: The number of requests made.
        answered: Whether the model had answered in the same conversation before.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        provider: str,
        status: int | None = None,
        retry_after_s: float | None = None,
        attempts: int = 1,
        answered: bool = False,
    ) -> None:
        self.kind: ErrorKind = kind
        self.fault: str = kind
        self.answered = answered
        self.message = message
        self.provider = provider
        self.status = status
        self.retry_after_s = retry_after_s
        self.attempts = attempts
        code = f" (HTTP {status})" if status else ""
        tries = f" after {attempts} requests" if attempts > 1 else ""
        lost = (
            "; the request was not sent again because it may have been paid for"
            if self.maybe_paid
            else ""
        )
        super().__init__(f"{provider}: {kind.replace('_', ' ')}{code}{tries}: {message}{lost}")

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a moment later."""
        return FAULTS[self.kind].ask_again

    @property
    def maybe_paid(self) -> bool:
        """Whether a model may have answered, and its answer was lost on the way."""
        return FAULTS[self.kind].maybe_paid

    def after(self, attempts: int) -> ModelError:
        """Return the same error, saying how many requests were made."""
        return ModelError(
            self.kind,
            self.message,
            provider=self.provider,
            status=self.status,
            retry_after_s=self.retry_after_s,
            attempts=attempts,
            answered=self.answered,
        )


def classify(error: BaseException, provider: str, redact: Callable[[str], str] = str) -> ModelError:
    """Turn an SDK's exception into a `ModelError`, its message passed through `redact`."""
    for each in causes(error):  # an SDK may have wrapped one of ours in its own
        if isinstance(each, ModelError):
            return each
    status = _status(error)
    return ModelError(
        _kind(error, status),
        redact(_message(error)),
        provider=provider,
        status=status,
        retry_after_s=_retry_after(error),
    )


def was_sent(error: BaseException) -> bool:
    """Whether a request that failed may have reached the provider."""
    return not {type(error).__name__, type(error.__cause__).__name__} & _NOT_SENT


def answer_was_lost(error: BaseException) -> bool:
    """Whether an SDK or HTTP library gave up waiting for an answer that may have been paid for."""
    return bool({cls.__name__ for cls in type(error).__mro__} & _TIMEOUTS) and was_sent(error)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)  # httpx has it there alone
    for holder, name in ((error, "status_code"), (error, "code"), (response, "status_code")):
        value = getattr(holder, name, None)
        if isinstance(value, int) and value >= 100:  # the smallest HTTP status
            return value
    return None


def _kind(error: BaseException, status: int | None) -> ErrorKind:
    names = {cls.__name__ for cls in type(error).__mro__}
    said = _body(error)
    unread = status is not None and status < 300  # a success that could not be read
    if names & _MALFORMED or (unread and not said):
        return "malformed"
    if status is not None or said:
        return error_kind(status, said, text=str(error))
    if names & _TIMEOUTS:
        return "timeout" if was_sent(error) else "connection"
    if names & _CONNECTIONS:
        return "connection"
    # The SDKs fail with these when a proxy answers 200 with something that is not theirs.
    if isinstance(error, AttributeError | KeyError | TypeError | ValueError):
        return "malformed"
    return "unknown"


def _body(error: BaseException) -> object:
    """Return the answer's body as far as the SDK's error has it."""
    return getattr(error, "body", None) or getattr(error, "details", None)


def _message(error: BaseException) -> str:
    body = _body(error)
    text = body if isinstance(body, str) and body.strip() else ""
    if isinstance(body, dict):
        inner = body.get("error", body)
        found = inner.get("message") if isinstance(inner, dict) else inner
        text = str(found) if found else json.dumps(body)[:_BODY_LIMIT]
    text = text or str(error) or type(error).__name__
    return text if len(text) <= _BODY_LIMIT else f"{text[:_BODY_LIMIT]}..."


def _retry_after(error: BaseException) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    if headers is None:
        return None
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value and value.replace(".", "", 1).isdigit():
            return float(value) * scale
    return None  # absent, or an HTTP date: our own back-off then decides
