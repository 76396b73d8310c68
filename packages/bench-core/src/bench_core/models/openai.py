"""OpenAI's Responses and Chat Completions APIs, and APIs compatible with the latter.

Works on every SDK line from 2.7 to 3.x.
"""

from __future__ import annotations

import json
from typing import Any

from bench_core.models.adapter import Adapter, Parsed, tool_call
from bench_core.models.records import (
    ImagePart,
    Message,
    ModelRequest,
    OpaquePart,
    Part,
    StopReason,
    TextPart,
    Tool,
    ToolCall,
    ToolResult,
)
from bench_core.models.reply_limit import limit_replies
from bench_core.records import Usage

_CHAT_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "length",
    "content_filter": "refusal",
    "model_length": "context_window",  # Mistral's
}


class _OpenAIBase(Adapter):
    def _connect(self) -> Any:
        import openai  # 0.5 s and more; only when used

        # no retries of the SDK's: they would not count as requests, and one may wait an hour
        client = openai.AsyncOpenAI(
            api_key=self._api_key, base_url=self.base_url, max_retries=0, timeout=600.0
        )
        limit_replies(client._client, self.provider)  # the SDK's own, with its settings
        return client

    async def _disconnect(self, client: Any) -> None:
        await client.close()


class OpenAIAdapter(_OpenAIBase):
    """`openai:<model>`, the Responses API."""

    provider = "openai"

    async def _call(self, client: Any, request: ModelRequest, timeout_s: float) -> Any:
        options: dict[str, Any] = {}
        if request.system is not None:
            options["instructions"] = request.system
        if request.output_schema is not None:
            form = {"type": "json_object"} if _any_object(request) else None
            options["text"] = {"format": form or {"type": "json_schema", **_schema(request)}}
        # Strict is this API's default, and refuses tools with optional arguments.
        own = [{"type": "function", **_function(tool), "strict": False} for tool in request.tools]
        tools = [*own, *request.native_tools]
        if tools:
            options["tools"] = tools
            options["tool_choice"] = request.tool_choice
        # `high` makes pictures smaller from some 1920x1200 on, and with them the places that a model points to;
        # models of the earlier tool do not know `original`
        computer = any(tool.get("type") == "computer" for tool in request.native_tools)
        detail = "original" if computer else "high"
        # models before those that reason refuse the question for it
        plain = self.model.removeprefix("ft:").startswith(("gpt-3.5", "gpt-4", "chatgpt-4o"))
        return await client.responses.create(
            model=self.model,
            input=[item for message in request.messages for item in self._items(message, detail)],
            max_output_tokens=request.max_output_tokens,
            # Every request has the whole conversation: nothing is left on the provider's servers,
            # so that reasoning must come back encrypted for the next turn to go on from it.
            store=False,
            include=[] if plain else ["reasoning.encrypted_content"],
            extra_headers=dict(request.headers) or None,
            extra_body=dict(request.body) or None,
            timeout=timeout_s,
            **options,
        )

    def _items(self, message: Message, detail: str) -> list[dict[str, Any]]:
        native = self._native_turn(message)
        if native:
            return list(native["output"])
        items: list[dict[str, Any]] = []
        content: list[dict[str, Any]] = []
        for part in message.parts:
            if isinstance(part, TextPart | ImagePart):
                content.append(_response_content(part, message.role, detail))
            else:
                items.append(_response_item(part, detail))
        if content:
            items.append({"role": message.role, "content": content})
        return items

    def _parse(self, data: dict[str, Any]) -> Parsed:
        output = data["output"]
        parts: list[Part] = []
        refusals: list[str] = []
        for item in output:
            found, refused = _response_parts(item)
            parts += found
            refusals += refused
        reason = (data.get("incomplete_details") or {}).get("reason")
        stop: StopReason = "other"
        if refusals or reason == "content_filter":
            stop = "refusal"
        elif reason == "max_output_tokens":
            stop = "length"
        elif data.get("status") == "completed":
            stop = "tool_use" if any(isinstance(part, ToolCall) for part in parts) else "end"
        return Parsed(
            parts=parts,
            native={"output": output},
            stop=stop,
            stop_native=reason or data.get("status"),
            usage=read_usage(data.get("usage"), took="input", gave="output"),
            model_reported=data.get("model"),
            request_id=data.get("id"),
            refusal="".join(refusals) or None,
        )


class OpenAIChatAdapter(_OpenAIBase):
    """`openai-chat:<model>`, Chat Completions: the API of compatible servers."""

    provider = "openai-chat"

    async def _call(self, client: Any, request: ModelRequest, timeout_s: float) -> Any:
        options: dict[str, Any] = {}
        if request.output_schema is not None:
            form = {"type": "json_object"} if _any_object(request) else None
            options["response_format"] = form or {
                "type": "json_schema",
                "json_schema": _schema(request),
            }
        own = [{"type": "function", "function": _function(tool)} for tool in request.tools]
        tools = [*own, *request.native_tools]
        if tools:
            options["tools"] = tools
            options["tool_choice"] = request.tool_choice
        system = [{"role": "system", "content": request.system}] if request.system else []
        turns = [turn for message in request.messages for turn in self._turns(message)]
        return await client.chat.completions.create(
            model=self.model,
            messages=system + turns,
            # Reasoning models refuse `max_tokens`, its older name.
            max_completion_tokens=request.max_output_tokens,
            extra_headers=dict(request.headers) or None,
            extra_body=dict(request.body) or None,
            timeout=timeout_s,
            **options,
        )

    def _turns(self, message: Message) -> list[dict[str, Any]]:
        native = self._native_turn(message)
        if native:
            return [_sendable(native["message"])]
        turns: list[dict[str, Any]] = []
        turn: dict[str, Any] = {"role": message.role}
        for part in message.parts:
            if isinstance(part, ToolResult):
                turns += _chat_results(part)
            elif isinstance(part, ToolCall):
                function = {"name": part.name, "arguments": json.dumps(part.arguments or {})}
                call = {"id": part.id, "type": "function", "function": function}
                turn.setdefault("tool_calls", []).append(call)
            else:
                turn.setdefault("content", []).append(_chat_content(part))
        return turns + ([turn] if len(turn) > 1 else [])

    def _parse(self, data: dict[str, Any]) -> Parsed:
        choice = data["choices"][0]
        message = choice["message"]
        parts: list[Part] = []
        if text := _chat_text(message.get("content")):
            parts.append(TextPart(text=text))
        for call in message.get("tool_calls") or []:
            function = call["function"]
            parts.append(tool_call(call["id"], function["name"], function["arguments"]))
        stop = choice.get("finish_reason")
        refusal = message.get("refusal")
        return Parsed(
            parts=parts,
            native={"message": {key: value for key, value in message.items() if value is not None}},
            stop="refusal" if refusal else _CHAT_STOPS.get(stop or "", "other"),
            stop_native=stop,
            usage=read_usage(data.get("usage"), took="prompt", gave="completion"),
            model_reported=data.get("model"),
            request_id=data.get("id"),
            refusal=refusal,
        )


def _any_object(request: ModelRequest) -> bool:
    """Whether any JSON object will do: servers that know no schema take that."""
    return request.output_schema == {"type": "object"}


def _schema(request: ModelRequest) -> dict[str, Any]:
    return {"name": request.output_name, "schema": request.output_schema, "strict": True}


def _function(tool: Tool) -> dict[str, Any]:
    parameters = tool.parameters or {"type": "object", "properties": {}}
    return {"name": tool.name, "description": tool.description, "parameters": parameters}


def _data_url(part: ImagePart) -> str:
    return f"data:{part.media_type};base64,{part.data}"


def _response_content(part: TextPart | ImagePart, role: str, detail: str) -> dict[str, Any]:
    if isinstance(part, TextPart):
        kind = "input_text" if role == "user" else "output_text"
        return {"type": kind, "text": part.text}
    return {"type": "input_image", "detail": detail, "image_url": _data_url(part)}


def _response_item(part: ToolCall | ToolResult | OpaquePart, detail: str) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        arguments = part.raw if part.arguments is None else json.dumps(part.arguments)
        return {
            "type": "function_call", "call_id": part.id, "name": part.name,
            "arguments": arguments or "{}",
        }  # fmt: skip
    if isinstance(part, ToolResult):
        if part.extra.get("type") == "computer_call_output":
            picture = next(each for each in part.content if isinstance(each, ImagePart))
            shot = {"type": "computer_screenshot", "image_url": _data_url(picture)}
            return {
                "type": "computer_call_output", "call_id": part.call_id,
                "acknowledged_safety_checks": part.extra.get("acknowledged_safety_checks") or [],
                "output": {**shot, "detail": detail} if detail == "original" else shot,
            }  # fmt: skip
        shown = [each for each in part.content if isinstance(each, TextPart | ImagePart)]
        output = [_response_content(each, "user", detail) for each in shown]
        return {"type": "function_call_output", "call_id": part.call_id, "output": output}
    return dict(part.data)


def _response_parts(item: dict[str, Any]) -> tuple[list[Part], list[str]]:
    unfinished = {"unfinished": item.get("status", "completed") != "completed"}
    if item["type"] == "function_call":
        call = tool_call(item["call_id"], item["name"], item["arguments"])
        return [call.model_copy(update=unfinished)], []
    if item["type"] == "computer_call":
        # the preview has one action, later versions several
        actions = item.get("actions") or ([item["action"]] if item.get("action") else [])
        checks = item.get("pending_safety_checks") or []
        arguments = {"actions": actions, "pending_safety_checks": checks}
        call = tool_call(item["call_id"], "computer", arguments)
        return [call.model_copy(update={"toolset": "computer", **unfinished})], []
    # commentary between calls is not an answer
    if item["type"] != "message" or item.get("phase") == "commentary":
        return [OpaquePart(provider="openai", data=item)], []
    texts: list[Part] = [
        TextPart(text=each["text"]) for each in item["content"] if each["type"] == "output_text"
    ]
    return texts, [each["refusal"] for each in item["content"] if each["type"] == "refusal"]


def read_usage(usage: dict[str, Any] | None, *, took: str, gave: str) -> Usage | None:
    """Read usage of either API, which name input and output tokens differently."""
    if not usage:
        return None
    inputs = usage.get(f"{took}_tokens_details") or {}
    outputs = usage.get(f"{gave}_tokens_details") or {}
    return Usage(
        requests=1,
        input_tokens=usage.get(f"{took}_tokens") or 0,
        cached_input_tokens=inputs.get("cached_tokens") or 0,
        cache_write_tokens=inputs.get("cache_write_tokens") or 0,
        image_tokens=inputs.get("image_tokens") or 0,
        output_tokens=usage.get(f"{gave}_tokens") or 0,
        reasoning_tokens=outputs.get("reasoning_tokens") or 0,
    )


def _chat_text(content: Any) -> str:
    """Return the text of a turn, which some servers send in parts, thoughts among them.

    Raises:
        TypeError: It is something else.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list) or not all(isinstance(each, str | dict) for each in content):
        raise TypeError("the content is neither a text nor parts")
    kinds = (None, "text", "output_text")
    texts = (
        each if isinstance(each, str) else each.get("text") if each.get("type") in kinds else ""
        for each in content
    )
    return "".join(text for text in texts if isinstance(text, str))


def _sendable(message: dict[str, Any]) -> dict[str, Any]:
    """Return a turn that templates of open models can read: they refuse arguments that are not JSON."""
    calls = message.get("tool_calls") or []
    whole = [
        {**call, "function": {**function, "arguments": "{}"}}
        if tool_call("", function["name"], function["arguments"]).arguments is None
        else call
        for call in calls
        for function in [call["function"]]
    ]
    return message if whole == calls else {**message, "tool_calls": whole}


def _chat_results(part: ToolResult) -> list[dict[str, Any]]:
    """A tool's text goes in a tool turn; its pictures, which tool turns cannot hold, follow it."""
    texts = [{"type": "text", "text": p.text} for p in part.content if isinstance(p, TextPart)]
    images = [_chat_content(p) for p in part.content if isinstance(p, ImagePart)]
    turn = {"role": "tool", "tool_call_id": part.call_id, "content": texts or "(see the picture)"}
    return [turn, *([{"role": "user", "content": images}] if images else [])]


def _chat_content(part: TextPart | ImagePart | OpaquePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": _data_url(part), "detail": "high"}}
    return dict(part.data)
