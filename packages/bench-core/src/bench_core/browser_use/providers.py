"""browser-use's own chat classes by `provider:model`."""

from __future__ import annotations

import dataclasses
import importlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench_core.browser_use.settings import import_browser_use
from bench_core.errors import InputError, pip_install


class _ChatProvider(NamedTuple):
    """The module and name of a chat class, and the variables that hold its key and base URL."""

    module: str
    chat: str
    keys: tuple[str, ...] = ()
    base_urls: tuple[str, ...] = ()


_PROVIDERS = {
    "anthropic": _ChatProvider(
        "anthropic.chat", "ChatAnthropic", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",)
    ),
    "deepseek": _ChatProvider("deepseek.chat", "ChatDeepSeek", ("DEEPSEEK_API_KEY",)),
    "google": _ChatProvider("google.chat", "ChatGoogle", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "groq": _ChatProvider("groq.chat", "ChatGroq", ("GROQ_API_KEY",)),
    "mistral": _ChatProvider("mistral.chat", "ChatMistral", ("MISTRAL_API_KEY",)),
    "ollama": _ChatProvider("ollama.chat", "ChatOllama"),
    "openai": _ChatProvider(
        "openai.chat", "ChatOpenAI", ("OPENAI_API_KEY",), ("OPENAI_BASE_URL", "OPENAI_API_BASE")
    ),
    "openrouter": _ChatProvider("openrouter.chat", "ChatOpenRouter", ("OPENROUTER_API_KEY",)),
}
_NO_KEY = "none"  # sent to servers that check no key; clients insist on some text


def known_providers() -> tuple[str, ...]:
    """Return the names that may stand before the colon."""
    return tuple(sorted(_PROVIDERS))


def chat_for(
    model: str,
    *,
    base_url: str | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """Return browser-use's chat model for `provider:model`, e.g. `openai:gpt-4.1-mini`.

    Any server that speaks OpenAI's API is `openai:<its model>` with `base_url` (or
    `OPENAI_BASE_URL`); it may go without a key. `options` go to the chat class, e.g.
    `temperature=0`. The clients' own retries are off: `ModelWatch` retries.

    Raises:
        InputError: The name has no known provider or no model, or the key is not set.
    """
    environment = os.environ if environment is None else environment
    name, provider = _parsed(model)
    url = base_url or _first(environment, provider.base_urls)
    known = {each.name for each in dataclasses.fields(_chat_class(provider))}
    chosen = {"max_retries": _fewest_retries(provider), **options, "model": name}
    if url is not None:
        # Ollama's class calls it `host`.
        chosen["host" if "base_url" not in known else "base_url"] = url
    if provider.keys:
        chosen["api_key"] = _key(model, provider, environment, has_url=url is not None)
    return _chat_class(provider)(**{k: v for k, v in chosen.items() if k in known})


def _parsed(model: str) -> tuple[str, _ChatProvider]:
    prefix, colon, name = model.partition(":")
    if prefix not in _PROVIDERS or not colon or not name:
        raise InputError(
            f"unknown model {model!r}: write provider:model, e.g. 'openai:gpt-4.1-mini'; "
            f"providers are {', '.join(known_providers())}"
        )
    return name, _PROVIDERS[prefix]


def _key(
    model: str, provider: _ChatProvider, environment: Mapping[str, str], *, has_url: bool
) -> str:
    key = _first(environment, provider.keys)
    if key is None and not (has_url and provider.base_urls):
        raise InputError(f"{model} needs a key: set {' or '.join(provider.keys)}")
    return key or _NO_KEY


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)


def _chat_class(provider: _ChatProvider) -> Any:
    import_browser_use()
    try:
        module = importlib.import_module(f"browser_use.llm.{provider.module}")
    except ImportError as error:
        raise InputError(
            f"browser-use's {provider.chat} does not import: {error}; "
            f"`{pip_install('bench-core[browser-use]')}` adds what it needs"
        ) from error
    return getattr(module, provider.chat)


def _fewest_retries(provider: _ChatProvider) -> int:
    """Return the least `max_retries` the class takes: Google's counts the first try as well."""
    return 1 if provider.chat == "ChatGoogle" else 0
