"""Anthropic's Messages API, on every SDK line from 0.77 to 2.x."""

from __future__ import annotations

from typing import Any

from bench_core.models.adapter import Adapter, Parsed, tool_call
from bench_core.models.records import (
    ImagePart,
    ModelRequest,
    OpaquePart,
    Part,
    StopReason,
    TextPart,
    ToolCall,
    ToolResult,
)
from bench_core.models.reply_limit import limit_replies
from bench_core.records import Usage

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_window",
}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}


class AnthropicAdapter(Adapter):
    """`anthropic:<model>`."""

    provider = "anthropic"

    def _connect(self) -> Any:
        import anthropic  # 0.4 s and more; only when used

        # No retries of the SDK's: they would not count as requests, and one may wait an hour.
        client = anthropic.AsyncAnthropic(
            api_key=self._api_key, base_url=self.base_url, max_retries=0, timeout=600.0
        )
        limit_replies(client._client, self.provider)  # the SDK's own, with its settings
        return client

    async def _disconnect(self, client: Any) -> None:
        await client.close()

    async def _call(self, client: Any, request: ModelRequest, timeout_s: float) -> Any:
        # Sampling parameters left the SDK's signature in 1.0: everything optional goes in the body.
        options: dict[str, Any] = {}
        if request.system is not None:
            options["system"] = request.system
        if request.output_schema is not None:
            options["output_config"] = {
                "format": {"type": "json_schema", "schema": request.output_schema}
            }
        own = [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.parameters or {"type": "object", "properties": {}},
            }
            for tool in request.tools
        ]
        tools = [*own, *request.native_tools]
        if tools:
            options["tools"] = tools
            options["tool_choice"] = {"type": _CHOICES[request.tool_choice]}
        turns = []
        for message in request.messages:
            native = self._native_turn(message)
            content = native["content"] if native else [_block(part) for part in message.parts]
            turns.append({"role": message.role, "content": content})
        return await client.messages.create(
            model=self.model,
            max_tokens=request.max_output_tokens,
            messages=turns,
            extra_headers=dict(request.headers) or None,
            extra_body=dict(request.body) or None,
            timeout=timeout_s,
            **options,
        )

    def _parse(self, data: dict[str, Any]) -> Parsed:
        content = data["content"]
        stop = data.get("stop_reason")
        details = data.get("stop_details") or {}
        return Parsed(
            parts=[_part(block) for block in content],
            native={"content": content},
            stop=_STOPS.get(stop or "", "other"),
            stop_native=stop,
            usage=read_usage(data.get("usage")),
            model_reported=data.get("model"),
            request_id=data.get("id"),
            refusal=details.get("explanation") if stop == "refusal" else None,
        )


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        return {"type": "image", "source": source}
    if isinstance(part, ToolCall):
        call = {"type": "tool_use", "id": part.id, "name": part.name, "input": part.arguments or {}}
        return {**call, "toolset_name": part.toolset} if part.toolset else call
    if isinstance(part, ToolResult):
        result = {
            "type": "tool_result",
            "tool_use_id": part.call_id,
            "content": [_block(each) for each in part.content],
            "is_error": part.is_error,
        }
        return {**result, "toolset_name": part.toolset} if part.toolset else result
    return dict(part.data)


def _part(block: dict[str, Any]) -> Part:
    if block["type"] == "text":
        return TextPart(text=block["text"])
    if block["type"] == "tool_use":
        call = tool_call(block["id"], block["name"], block["input"])
        toolset = block.get("toolset_name")
        return call.model_copy(update={"toolset": toolset}) if toolset else call
    return OpaquePart(provider="anthropic", data=block)


def read_usage(usage: dict[str, Any] | None) -> Usage | None:
    """Return the tokens of an answer, None if it does not report them."""
    if not usage:
        return None
    # Their `input_tokens` leave out tokens read from or written to the cache; ours include them.
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    details = usage.get("output_tokens_details") or {}
    return Usage(
        requests=1,
        input_tokens=(usage.get("input_tokens") or 0) + cached + written,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=usage.get("output_tokens") or 0,
        reasoning_tokens=details.get("reasoning_tokens") or details.get("thinking_tokens") or 0,
    )
