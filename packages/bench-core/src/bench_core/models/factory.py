"""Opens a model by its name, `provider:model`."""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from bench_core.errors import InputError, UnknownPluginError, pip_install
from bench_core.models.cassettes import Cassette
from bench_core.models.client import Model
from bench_core.models.errors import MissingKeyError
from bench_core.models.kept_calls import KeptCalls
from bench_core.models.prices import published_prices
from bench_core.models.proxy_apis import APIS
from bench_core.models.scripted_model import ScriptedAdapter, load_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from bench_core.models.cache import ReplyCache
    from bench_core.models.limits import AdaptiveConcurrency, RateLimit, TokenLimit
    from bench_core.models.prices import Prices
    from bench_core.models.retries import RetryPolicy
    from bench_core.protocols import TrialContext


class ModelOptions(TypedDict, total=False):
    """Options of `Model` besides its transport."""

    policy: RetryPolicy | None
    rate: RateLimit | None
    tokens: TokenLimit | None
    concurrency: AdaptiveConcurrency | None
    cache: ReplyCache | None
    cassette: Cassette | None
    prices: Prices | None
    seed: int
    calls: KeptCalls | None


_NO_KEY = "no-key"
_CALLS_FILE = "model_calls.jsonl"


class _Provider(NamedTuple):
    """The class of the adapter, in the module that is called as the extra, and the SDK that it needs."""

    extra: str
    adapter: str
    sdk: str

    @property
    def keys(self) -> tuple[str, ...]:
        return APIS[self.extra].key_names


PROVIDERS: Mapping[str, _Provider] = {
    "anthropic": _Provider("anthropic", "AnthropicAdapter", "anthropic"),
    "openai": _Provider("openai", "OpenAIAdapter", "openai"),
    "openai-chat": _Provider("openai", "OpenAIChatAdapter", "openai"),
    "google": _Provider("google", "GoogleAdapter", "google.genai"),
}
"""The APIs that can be called, by the name before the colon."""


def open_model(
    name: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    **options: Unpack[ModelOptions],
) -> Model:
    """Open the model `name`.

    Args:
        name: `anthropic:…`, `openai:…` (Responses), `openai-chat:…` (Chat Completions and servers
            compatible with it), `google:…`, `scripted:FILE`, `replay:CASSETTE`, or `by-hand`: a person.
        api_key: Instead of the provider's environment variable.
        base_url: Instead of the provider's own, and of its variable such as `OPENAI_BASE_URL`; with `/v1` for
            the OpenAI APIs. With either no key is needed.
        options: Other options of `Model`.

    Raises:
        UnknownPluginError: The provider is unknown.
        MissingKeyError: Neither `api_key` nor the environment has a key, and the user's own server is not named.
        InputError: The provider's SDK is not installed, or a script or cassette is missing.

    >>> from bench_core.models import Message, ModelRequest, SyncModel, open_model
    >>> open_model("openai:gpt-5.2", api_key="a key").name
    'openai:gpt-5.2'
    """
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise InputError(
            f"{base_url!r} is not a URL of a model's API: it begins with http:// or https://"
        )
    if name == "by-hand":
        from bench_core.models.by_hand import PATIENCE, ByHandAdapter  # brings a server

        options["policy"] = PATIENCE
        return Model(ByHandAdapter(), **options)
    provider, separator, model = name.partition(":")
    if not separator or not model:
        raise InputError(f"{name!r} is not a model's name: write `provider:model`, or `by-hand`")
    if provider == "scripted":
        return Model(load_script(model), **options)
    if provider == "replay":
        return _replayed(options.get("cassette") or Cassette(model), options)
    return Model(_adapter(provider, model, api_key, base_url), **options)


def model_of(context: TrialContext, **options: Unpack[ModelOptions]) -> Model:
    """Open the model of a trial: as the run specifies, or by its name, at published prices.

    The agent's option `base_url` names a server instead of the provider's own.

    Args:
        context: The trial; its agent is named in errors if there is no model.
        options: Other options of `Model`, used unless the run opens the model itself.

    Its calls are counted by the trial's meter. Requests and replies are kept in the trial's folder
    (`conversation.jsonl`).

    Raises:
        InputError: The run names no model, or it cannot be opened.
    """
    model = _opened(context, options)
    if isinstance(model, Model):  # programs bring models of their own
        model.meter = context.meter
    return model


def _opened(context: TrialContext, options: ModelOptions) -> Model:
    calls = KeptCalls(context.folder)
    cassette = options.pop("cassette") if "cassette" in options else cassette_of(context)
    if cassette is not None and cassette.mode == "replay":
        return open_model(f"replay:{cassette.path}", cassette=cassette, calls=calls)
    if context.model_opener is not None:
        model: Model = context.model_opener(context)
        if isinstance(model, Model):
            model.calls, model.cassette = calls, cassette
        return model
    if context.model is None:
        raise InputError(f"the agent {context.agent!r} needs a model: `--model provider:name`")
    chosen: ModelOptions = {
        "seed": context.seed, "prices": published_prices(), "calls": calls, "cassette": cassette,
        **options,
    }  # fmt: skip
    base_url = context.agent_option("base_url")
    return open_model(context.model, base_url=str(base_url) if base_url else None, **chosen)


def cassette_of(context: TrialContext) -> Cassette | None:
    """Return the cassette that records a trial's calls (`record_calls`) or replays them (`replay_calls`).

    Replayed calls are taken in their order: prompts with a date or pixels are never asked twice in the same words.
    """
    if replayed := context.agent_option("replay_calls"):
        folder = Path(str(replayed)) / Path(*context.folder.parts[-3:])
        return Cassette(folder / _CALLS_FILE, "replay", "sequence")
    if context.agent_option("record_calls"):
        return Cassette(context.folder / _CALLS_FILE, "record", "sequence")
    return None


def _replayed(cassette: Cassette, options: ModelOptions) -> Model:
    """Open the one model of a cassette, under the name it was recorded with."""
    if len(cassette.models) != 1:
        found = ", ".join(cassette.models) or "none"
        raise InputError(
            f"{cassette.path}: `replay:` needs the calls of one model, found {found}; open the model "
            f"you want by its own name, with this cassette"
        )
    provider, _, model = cassette.models[0].partition(":")
    options["cassette"] = cassette
    return Model(ScriptedAdapter([], model=model, provider=provider), **options)


def _adapter(provider: str, model: str, api_key: str | None, base_url: str | None) -> Any:
    known = PROVIDERS.get(provider)
    if known is None:
        raise UnknownPluginError("provider", provider, [*PROVIDERS, "scripted", "replay"])
    base_url = base_url or _own_server(provider)
    key = api_key or _key_of(provider, base_url)
    try:
        installed = importlib.util.find_spec(known.sdk) is not None
    except ModuleNotFoundError:  # the parent package (`google`) is missing
        installed = False
    if not installed:
        raise InputError(f"{provider} needs its SDK: `{pip_install(f'bench-core[{known.extra}]')}`")
    home = importlib.import_module(f"bench_core.models.{known.extra}")
    return getattr(home, known.adapter)(model, api_key=key, base_url=base_url)


def refuse_missing_key_of(context: TrialContext) -> None:
    """Refuse a run's model if the key of its provider is missing, for every caller.

    Providers that are not known here, scripts, cassettes and the user's own servers need none.

    Raises:
        MissingKeyError: It names the variable.
    """
    provider = str(context.model).partition(":")[0]
    if context.model_opener is not None:
        try:
            context.model_opener(context)
        except MissingKeyError:
            raise
        except InputError:  # such as an SDK that the agent may not need
            return
    elif provider in PROVIDERS:
        _key_of(provider, context.agent_option("base_url") or _own_server(provider))


def _own_server(provider: str) -> str | None:
    """Return the server that the variables of the provider's SDK name, if they do."""
    names = APIS[PROVIDERS[provider].extra].url_names
    return next((os.environ[each] for each in names if os.environ.get(each)), None)


def _key_of(provider: str, base_url: str | None) -> str:
    names = PROVIDERS[provider].keys
    key = next((os.environ[each] for each in names if os.environ.get(each)), None)
    if key is None and base_url is not None:  # own servers mostly require no key; SDKs do
        return _NO_KEY
    if key is None:
        raise MissingKeyError(provider, names[0], own_server=True)
    return key
