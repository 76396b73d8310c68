"""Whether a model can be used, before anything is paid for: its key, its name, and one token of it."""

from __future__ import annotations

import asyncio
import re

from bench_core.errors import InputError
from bench_core.faults import FAULTS, error_kind
from bench_core.models.client import Model
from bench_core.models.errors import ModelError
from bench_core.models.factory import PROVIDERS, model_of, refuse_missing_key_of
from bench_core.models.records import Message, ModelRequest, Reply, TextPart
from bench_core.protocols import TrialContext

_LOOK_UP_S = 20.0
_PAID_S = 90.0
_LEAST_TOKENS = {"openai": 16}
"""The Responses API takes no fewer; the others take one."""
_SHORT = 200
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND = 400, 403, 404
_ABOUT_LOOKING_UP = re.compile(
    r"scope|model\.read|(?:list|read|retrieve|describe|view)(?:ing)? (?:the )?models?\b|getmodel|models\.(?:get|list)",
    re.IGNORECASE,
)
"""providers' words on a key that may call models but not look them up."""


class UnusableModelError(InputError):
    """The provider refuses the key, does not know the model or wants money first."""


def check_model_of(context: TrialContext) -> None:
    """Refuse a trial's model that cannot be used; see `check_model`. Needs no running event loop.

    Raises:
        InputError: It cannot be opened: no name, no key, no SDK.
        UnusableModelError: Its provider refuses the key or does not know it.
    """
    if not context.agent_option("replay_calls"):
        check_opened(model_of(context, cassette=None))


def refuse_key_of(context: TrialContext) -> None:
    """Refuse a run's model if its key is missing or refused, for an agent with its own client.

    Such an agent may know names of models that its provider has not listed, so only the key is checked.

    Raises:
        MissingKeyError: The key is missing.
        UnusableModelError: The provider refuses it.
    """
    refuse_missing_key_of(context)
    provider = str(context.model).partition(":")[0]
    if context.model_opener is None and provider not in PROVIDERS:
        return
    try:
        model = model_of(context, cassette=None)
    except InputError:  # such as an SDK that the agent may not need
        return
    check_opened(model, key_only=True)


def check_opened(model: Model, *, key_only: bool = False) -> None:
    """Run `check_model` and close the connections; needs no running event loop."""

    async def check() -> None:
        async with model:
            await check_model(model, key_only=key_only)

    if hasattr(model, "verify"):  # programs bring models of their own
        asyncio.run(check())


async def check_model(model: Model, *, key_only: bool = False) -> None:
    """Ask the provider whether it takes the key and knows the model; that costs nothing.

    Only a certain refusal counts. If nothing answers, if one's own server has no list of models, or if the
    key may not look models up, the run itself finds out.

    Raises:
        UnusableModelError: The provider refuses the key or does not know the model.
    """
    try:
        await model.verify(_LOOK_UP_S)
    except ModelError as error:
        # other failures prove nothing: a restricted key may call a model that it may not look up
        if _refuses_key(error) or (not key_only and _refuses_model(error, model.name)):
            raise UnusableModelError(_in_words(error, model.name)) from error


async def pay_for_one_token(model: Model) -> Reply:
    """Make the cheapest possible call and return its reply, with its usage and cost.

    Raises:
        UnusableModelError: The provider refuses the key, does not know the model or demands payment first.
        ModelError: It gave no usable reply for another reason.
    """
    fewest = _LEAST_TOKENS.get(model.name.partition(":")[0], 1)
    request = ModelRequest(
        messages=(Message(role="user", parts=(TextPart(text="Say: 1"),)),), max_output_tokens=fewest
    )
    try:
        return await model.complete(request, deadline_s=_PAID_S)
    except ModelError as error:
        if FAULTS[error.kind].owner == "user":
            raise UnusableModelError(_in_words(error, model.name)) from error
        raise


def _refuses_key(error: ModelError) -> bool:
    """Return whether the key is certainly useless.

    A 403 may concern this one page, as permissions of restricted keys are per page: its words must say so.
    """
    words = " ".join(error.message.split())
    if error.kind != "auth" or _ABOUT_LOOKING_UP.search(words):
        return False
    return error.status != _FORBIDDEN or error_kind(_BAD_REQUEST, None, text=words) == "auth"


def _refuses_model(error: ModelError, name: str) -> bool:
    # a server that has no such page names the page, a provider the model
    model = name.partition(":")[2]
    return (
        error.status in {_FORBIDDEN, _NOT_FOUND}
        and model in error.message
        and f"/models/{model}" not in error.message
        and not _ABOUT_LOOKING_UP.search(error.message)
    )


def _in_words(error: ModelError, name: str) -> str:
    provider, _, model = name.partition(":")
    status = f"HTTP {error.status}: " if error.status else ""
    reason = f"{status}{' '.join(error.message.split())[:_SHORT]}"
    if error.kind == "no_money":
        return f"the account at {provider} has no money left ({reason})"
    if error.kind != "not_found" and not _refuses_model(error, name):
        known = PROVIDERS.get(provider)
        where = f" in {' or '.join(known.keys)}" if known else ""
        return f"{provider} refuses the key{where} ({reason})"
    return f"{provider} has no model {model!r} for this key ({reason})"
