"""Read model calls that other people's code makes, from their HTTP requests and answers.

Such code has no meter to report its calls to, and may hide that a provider was down.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bench_core.models.errors import classify, is_outage
from bench_core.models.stream_usage import usage_of

if TYPE_CHECKING:
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
        outcome: `unread` was answered and says nothing of its usage, as streams do; `refused` is the
            caller's own doing, such as a prompt that is too long; with `failed` the provider was.
        reason: Why it failed or was refused; None otherwise.
    """

    outcome: Literal["answered", "unread", "refused", "failed"]
    usage: Usage | None = None
    provider: str = "unknown"
    model: str | None = None
    reason: str | None = None


def is_model_call(method: str, url: str) -> bool:
    """Whether a request calls a model, by the paths of the providers' APIs.

    >>> is_model_call("POST", "https://api.openai.com/v1/chat/completions")
    True
    >>> is_model_call("POST", "http://20.20.20.21:5000/execute")
    False
    """
    return method.upper() == "POST" and _ENDPOINT.search(url) is not None


def read_answer(status: int, body: bytes | None, content_type: str = "") -> WireCall:
    """Return what an answer reports; `body` is None where it could not be read."""
    if status not in _OK:
        reason = f"HTTP {status}"
        return WireCall("failed" if is_outage(status) else "refused", reason=reason)
    if body is None or content_type.startswith(_STREAM):
        return WireCall("unread")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return WireCall("failed", reason="no JSON object, but a proxy's page or nothing at all")
    provider, usage = _usage(answer)
    if usage is None:
        return WireCall("unread")
    model = answer.get("model") or answer.get("modelVersion")
    return WireCall("answered", usage, provider, str(model) if model else None)


def provider_failed(error: BaseException) -> bool:
    """Whether what an SDK or HTTP library raised, or its cause, says that a provider failed."""
    current: BaseException | None = error
    while current is not None:
        if _failed(current):
            return True
        current = current.__cause__ or current.__context__
    return False


def _failed(error: BaseException) -> bool:
    if type(error).__module__.partition(".")[0] not in _LIBRARIES or isinstance(error, ValueError):
        return False
    fault = classify(error, "model")
    status = fault.status or getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return is_outage(status)
    return fault.kind in {"timeout", "connection"}


def _usage(answer: dict[str, Any]) -> tuple[str, Usage | None]:
    google, usage = answer.get("usageMetadata"), answer.get("usage")
    if isinstance(google, dict):
        return "google", usage_of("google", google)
    if not isinstance(usage, dict):
        return "unknown", None
    chat = "openai-chat" if "prompt_tokens" in usage else "openai"
    provider = "anthropic" if answer.get("type") == "message" else chat
    return provider, usage_of(provider, usage)
