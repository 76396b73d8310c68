"""The four APIs that the model proxy passes on: paths, keys, variables and the shape of their errors."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode

Refusal = Literal["budget", "secret", "provider", "route", "request", "too_large", "upstream"]
"""Why the proxy itself answers a call."""

_REFUSALS: Mapping[Refusal, tuple[int, str, str, str]] = {
    # status, Anthropic's type, OpenAI's type and code, Google's status; 403 and no 429, which many clients try again
    "budget": (403, "permission_error", "insufficient_quota", "PERMISSION_DENIED"),
    "secret": (401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
    "provider": (403, "permission_error", "model_provider_refused", "PERMISSION_DENIED"),
    "route": (404, "not_found_error", "unknown_url", "NOT_FOUND"),
    "request": (400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    "too_large": (413, "request_too_large", "request_too_large", "INVALID_ARGUMENT"),
    "upstream": (502, "api_error", "server_error", "UNAVAILABLE"),
}


@dataclass(frozen=True)
class Api:
    """One provider's API as programs call it.

    Attributes:
        vendor: `anthropic`, `openai` or `google`.
        home: Its default address.
        root: The part of its paths that its base URLs contain.
        key_names: Variables that SDKs read its key from.
        url_names: Variables that SDKs read its base URL from.
        key_header: The header with the key.
    """

    vendor: str
    home: str
    root: str
    key_names: tuple[str, ...]
    url_names: tuple[str, ...]
    key_header: str

    def headers(self, key: str) -> dict[str, str]:
        """Return the header that carries the key."""
        return {self.key_header: f"Bearer {key}" if self.key_header == "authorization" else key}


APIS: Mapping[str, Api] = {
    "anthropic": Api(
        "anthropic", "https://api.anthropic.com", "",
        ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), "x-api-key",
    ),
    "openai": Api(
        "openai", "https://api.openai.com/v1", "/v1",
        ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "authorization",
    ),
    "google": Api(
        "google", "https://generativelanguage.googleapis.com", "",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"), ("GOOGLE_GEMINI_BASE_URL",), "x-goog-api-key",
    ),
}  # fmt: skip
"""By vendor; OpenAI's key and address serve two APIs."""

_ROUTES = (
    # path, provider as in prices, whether it costs anything
    (re.compile(r"/v1/messages"), "anthropic", True),
    (re.compile(r"/v1/messages/count_tokens"), "anthropic", False),
    (re.compile(r"/v1/responses"), "openai", True),
    (re.compile(r"/v1/chat/completions"), "openai-chat", True),
    (re.compile(r"/v1(?:alpha|beta)?/models/([\w.-]+):(?:g|streamG)enerateContent"), "google", True),
    (re.compile(r"/v1(?:alpha|beta)?/models/([\w.-]+):countTokens"), "google", False),
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A request's target: the API and the model.

    Attributes:
        provider: `anthropic`, `openai`, `openai-chat` or `google`.
        path: The path and the kept part of the query; without the root of the API's base URLs.
        model: The model that the path names, if any.
        paid: Whether it costs anything.
    """

    provider: str
    path: str
    model: str | None
    paid: bool

    @property
    def api(self) -> Api:
        """The API it is for."""
        return APIS[self.provider.partition("-")[0]]


def find_call(method: str, target: str) -> Call | None:
    """Return which call of a model a request is; None for anything else.

    >>> find_call("POST", "/v1/chat/completions").provider
    'openai-chat'
    >>> find_call("GET", "/v1/models") is None
    True
    """
    path, _, query = target.partition("?")
    for pattern, provider, paid in _ROUTES:
        found = pattern.fullmatch(path)
        if found is None or method != "POST":
            continue
        kept = [(name, value) for name, value in parse_qsl(query) if name != "key"]
        api = APIS[provider.partition("-")[0]]
        rest = path.removeprefix(api.root) + (f"?{urlencode(kept)}" if kept else "")
        return Call(provider, rest, found[1] if pattern.groups else None, paid)
    return None


def secret_of(headers: Mapping[str, str], target: str) -> str:
    """Return the key that a request brings, in any supported way; empty if it has none."""
    for name in ("x-api-key", "x-goog-api-key"):
        if value := headers.get(name):
            return value
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    return dict(parse_qsl(target.partition("?")[2])).get("key", "")


def variables_for(vendors: frozenset[str], root: str, secret: str) -> dict[str, str]:
    """Return variables that make the SDKs of `vendors` call the proxy at `root` with a trial's secret."""
    made: dict[str, str] = {}
    for vendor in sorted(vendors):
        api = APIS[vendor]
        made |= dict.fromkeys(api.key_names, secret)
        made |= dict.fromkeys(api.url_names, root + api.root)
    return made


def error_body(vendor: str | None, why: Refusal, message: str) -> tuple[int, bytes]:
    """Return status and body of a refusal, as the provider's own errors look."""
    status, claude, gpt, gemini = _REFUSALS[why]
    body: dict[str, Any]
    if vendor == "anthropic":
        body = {"type": "error", "error": {"type": claude, "message": message}}
    elif vendor == "google":
        body = {"error": {"code": status, "message": message, "status": gemini}}
    else:
        body = {"error": {"message": message, "type": gpt, "param": None, "code": gpt}}
    return status, json.dumps(body).encode()
