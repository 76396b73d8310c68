"""A chat model for browser-use over `bench_core.models`: our retries, prices and cassettes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench_core.browser_use.settings import import_browser_use
from bench_core.browser_use.watch import Patience, usage_of
from bench_core.errors import InputError
from bench_core.models.cassettes import Cassette
from bench_core.models.checking import check_opened
from bench_core.models.client import Model
from bench_core.models.factory import PROVIDERS, open_model
from bench_core.models.kept_calls import Answered, KeptCalls, sent_by, text_part
from bench_core.models.prices import published_prices
from bench_core.models.records import ImagePart, Message, ModelRequest, Reply, TextPart
from bench_core.models.retries import RetryPolicy
from bench_core.models.schema import portable_schema

_POLICY = RetryPolicy(attempts=8)
"""A provider that restarts within half a minute costs a trial time, not its result."""
_ROOM_S = 10.0
_CACHED: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
"""Anthropic caches the long prompt of every step only when asked to; the others by themselves."""
_MAX_OUTPUT_TOKENS = 8192
_OWN_PROVIDERS = frozenset({*PROVIDERS, "replay", "scripted"})


class ModelChat:
    """The `llm` of a `browser_use.Agent`, answered by a `bench_core.models.Model`.

    `last_reply` is the whole reply of the latest call: the model as the API reports it, its price,
    whether it came from a cassette. If an output format is requested, the model is held to its
    JSON Schema; a reply that does not fit is an unusable answer, which browser-use asks for again.

    Args:
        model: The model that answers.
        trial: Part of each call's identity in a cassette: repeated trials are calls of their own.
    """

    # browser-use may otherwise check the key of a model before its first call.
    _verified_api_keys = True

    def __init__(self, model: Model, *, trial: int = 1) -> None:
        _, call_s = model.policy.seconds_for(_MAX_OUTPUT_TOKENS)
        self.patience = Patience(retries=0, call_timeout_s=call_s + _ROOM_S)
        self.provider, _, self.model = model.name.partition(":")
        self.last_reply: Reply | None = None
        self._model = model
        self._trial = trial

    @property
    def name(self) -> str:
        """The model's name, as browser-use asks for it."""
        return self.model

    @property
    def model_name(self) -> str:
        """The model's name under browser-use's older spelling."""
        return self.model

    async def ainvoke(self, messages: Any, output_format: Any = None, **options: Any) -> Any:
        """Answer one call of browser-use.

        Raises:
            ModelError: The provider gave no usable reply in time.
            ModelProviderError: browser-use's; the reply does not fit `output_format`.
        """
        del options  # browser-use's own book-keeping, such as the session's id
        request = request_of(messages, output_format, self._trial)
        if self.provider == "anthropic":
            request = request.model_copy(update={"body": _CACHED})
        reply = await self._model.complete(request)
        self.last_reply = reply
        from browser_use.llm.views import ChatInvokeCompletion

        content = reply.text if output_format is None else _parsed(reply, output_format)
        return ChatInvokeCompletion(
            completion=content, usage=_usage(reply), stop_reason=reply.stop_native or reply.stop
        )

    def check(self) -> None:
        """Refuse a model that cannot be used; needs no running event loop.

        Raises:
            UnusableModelError: The provider refuses the key or does not know the model.
        """
        check_opened(self._model)

    def keep_in(self, folder: Path) -> None:
        """Write requests and replies to a trial's folder."""
        self._model.calls = KeptCalls(folder)

    async def aclose(self) -> None:
        """Close the connections to the provider."""
        await self._model.aclose()


def model_chat(
    name: str,
    *,
    base_url: str | None = None,
    seed: int = 0,
    trial: int = 1,
    cassette: Cassette | None = None,
) -> ModelChat:
    """Return a chat for `provider:model` of `bench_core.models`, e.g. `openai:gpt-5.2`.

    Servers that are compatible with OpenAI's Chat Completions are `openai-chat:<their model>` with
    `base_url` or `OPENAI_BASE_URL`. Also `replay:CASSETTE`.

    Raises:
        UnknownPluginError: The provider is unknown.
        MissingKeyError: Its key is not set.
        InputError: browser-use, the provider's SDK or the cassette is missing.
    """
    import_browser_use()
    model = open_model(
        name,
        base_url=base_url,
        policy=_POLICY,
        prices=published_prices(),
        seed=seed,
        cassette=cassette,
    )
    return ModelChat(model, trial=trial)


def keep_calls(chat: Any, folder: Path) -> None:
    """Write the requests and replies of a chat of browser-use's own classes to a trial's folder."""
    calls, ask = KeptCalls(folder), chat.ainvoke

    async def kept(messages: Any, output_format: Any = None, **options: Any) -> Any:
        sent = sent_by(request_of(messages), f"{chat.provider}:{chat.model}")
        answered = Answered(error="there was no answer")
        try:
            completion = await ask(messages, output_format, **options)
            made = completion.completion
            text = made if isinstance(made, str) else made.model_dump_json(exclude_none=True)
            answered = Answered([text_part(text)], usage=usage_of(completion))
        except Exception as error:  # foreign code: every provider raises its own
            answered.error = str(error)
            raise
        finally:
            calls.add(sent, answered)
        return completion

    chat.ainvoke = kept


def is_known_model(name: str) -> bool:
    """Return whether `bench_core.models` has the provider of `provider:model`."""
    return name.partition(":")[0] in _OWN_PROVIDERS


def request_of(messages: Sequence[Any], output_format: Any = None, trial: int = 1) -> ModelRequest:
    """Return browser-use's messages as one request of ours.

    Raises:
        InputError: A picture is a link; browser-use sends them inline.
    """
    system = [_text(each.content) for each in messages if each.role == "system"]
    turns = [_turn(each) for each in messages if each.role != "system"]
    return ModelRequest(
        messages=tuple(turns) or (Message.user("Go on."),),
        system="\n\n".join(system) or None,
        max_output_tokens=_MAX_OUTPUT_TOKENS,
        output_schema=None if output_format is None else portable_schema(output_format),
        output_name="agent_output",
        trial=trial,
    )


def _turn(message: Any) -> Message:
    if message.role == "assistant":
        return Message.assistant(_text(message.content) or _calls(message))
    content = message.content
    parts = content if isinstance(content, list) else [content]
    return Message.user(*(_part(each) for each in parts))


def _part(part: Any) -> TextPart | ImagePart:
    if isinstance(part, str):
        return TextPart(text=part)
    if part.type == "image_url":
        return _picture(part.image_url.url)
    return TextPart(text=_words(part))


def _picture(url: str) -> ImagePart:
    head, comma, data = url.partition(",")
    media_type = head.removeprefix("data:").partition(";")[0]
    if not comma or not head.startswith("data:"):
        raise InputError(
            f"browser-use sent a picture as a link: {url[:80]!r}; only inline ones work"
        )
    return ImagePart.model_validate({"media_type": media_type, "data": data})


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_words(each) for each in content)


def _words(part: Any) -> str:
    return str(part.refusal if part.type == "refusal" else part.text)


def _calls(message: Any) -> str:
    """Spell earlier tool calls out: browser-use keeps its examples in this form."""
    called = [
        {"name": each.function.name, "arguments": each.function.arguments}
        for each in message.tool_calls or ()
    ]
    return json.dumps(called)


def _parsed(reply: Reply, output_format: Any) -> Any:
    from browser_use.llm.exceptions import ModelProviderError

    if reply.refusal is not None or reply.data_error is not None:
        why = reply.refusal or reply.data_error
        raise ModelProviderError(message=f"Failed to parse the model's output: {why}")
    # browser-use's own classes let pydantic's ValidationError reach browser-use, too.
    return output_format.model_validate(reply.data)


def _usage(reply: Reply) -> Any:
    from browser_use.llm.views import ChatInvokeUsage

    usage = reply.usage
    return ChatInvokeUsage(
        prompt_tokens=usage.input_tokens,
        prompt_cached_tokens=usage.cached_input_tokens,
        prompt_cache_creation_tokens=usage.cache_write_tokens,
        prompt_image_tokens=usage.image_tokens,
        completion_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
    )
