"""Read model calls that other people's code makes, from their HTTP requests and answers.

Such code has no meter to report its calls to, and may hide that a provider was down.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from bench_core.faults import FAULTS, ErrorKind, error_kind
from bench_core.models.errors import ModelError, classify
from bench_core.models.stream_usage import usage_of
from bench_core.records import Usage

_ENDPOINT = re.compile(
    r"/(?:(?:chat/)?completions|responses|messages|embeddings)(?:\?|$)"
    r"|:(?:stream)?generatecontent(?:\?|$)",
    re.IGNORECASE,
)
_STREAM = "text/event-stream"
_OK = range(200, 300)
_LIBRARIES = frozenset({"aiohttp", "anthropic", "google", "httpx", "httpx2", "openai", "requests", "urllib3"})  # fmt: skip


@dataclass(frozen=True)
class WireCall:
    """One call of a model API.

    Attributes:
        outcome: `unread` was answered but reports no usage, as streams do; `refused` is the
            caller's own doing, such as a prompt that is too long; with `failed` the provider was.
        reason: The reason why it failed or was refused; None otherwise.
        kind: The kind of the error; None otherwise.
    """

    outcome: Literal["answered", "unread", "refused", "failed"]
    usage: Usage | None = None
    provider: str = "unknown"
    model: str | None = None
    reason: str | None = None
    kind: ErrorKind | None = None

    def error(self, *, answered: bool) -> ModelError | None:
        """Return the call's error, if any; `answered` says whether the model had answered before."""
        if self.kind is None:
            return None
        return ModelError(self.kind, self.reason or "", provider="model", answered=answered)


def is_model_call(method: str, url: str) -> bool:
    """Whether a request calls a model, by the paths of the providers' APIs.

    >>> is_model_call("POST", "https://api.openai.com/v1/chat/completions")
    True
    >>> is_model_call("POST", "http://20.20.20.21:5000/execute")
    False
    """
    return method.upper() == "POST" and _ENDPOINT.search(url) is not None


def read_answer(status: int, body: bytes | None, content_type: str = "") -> WireCall:
    """Return the outcome that an answer reports; `body` is None if it could not be read."""
    if status not in _OK:
        return _not_served(error_kind(status, body or b""), f"HTTP {status}")
    if body is None or content_type.startswith(_STREAM):
        return WireCall("unread")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return _not_served("malformed", "no JSON object, but a proxy's page or nothing at all")
    provider, usage = _usage(answer)
    if usage is None and answer.get("error"):  # a gateway whose own call failed says so with 200
        return _not_served(error_kind(None, answer), "an error in place of an answer")
    if usage is None:
        return WireCall("unread")
    model = answer.get("model") or answer.get("modelVersion")
    return WireCall("answered", usage, provider, str(model) if model else None)


def _not_served(kind: ErrorKind, reason: str) -> WireCall:
    refused = FAULTS[kind].owner == "agent" or kind == "bad_request"
    return WireCall("refused" if refused else "failed", reason=reason, kind=kind)


def provider_error(error: BaseException) -> ModelError | None:
    """Return the provider's error behind an exception of an SDK or HTTP library or its causes, if any."""
    current: BaseException | None = error
    while current is not None:
        library = type(current).__module__.partition(".")[0] in _LIBRARIES
        if library and not isinstance(current, ValueError):
            known = classify(current, "model")
            if known.status is not None or known.kind in {"timeout", "connection"}:
                return known
        current = current.__cause__ or current.__context__
    return None


def _usage(answer: dict[str, Any]) -> tuple[str, Usage | None]:
    google, usage = answer.get("usageMetadata"), answer.get("usage")
    if isinstance(google, dict):
        return "google", usage_of("google", google)
    if not isinstance(usage, dict):
        return "unknown", None
    chat = "openai-chat" if "prompt_tokens" in usage else "openai"
    provider = "anthropic" if answer.get("type") == "message" else chat
    return provider, usage_of(provider, usage)
