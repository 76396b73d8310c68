"""Google's Gemini API, on every google-genai line from 1.50 to 3.x."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any, NamedTuple, get_args

from bench_core.models.adapter import Adapter, Parsed, tool_call
from bench_core.models.records import (
    ImagePart,
    Message,
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

_STOPS: dict[str, StopReason] = {"STOP": "end", "MAX_TOKENS": "length"}
_REFUSALS = frozenset(
    {
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "MODEL_ARMOR",
    }
)  # fmt: skip
_MADE_UP = re.compile(r"call_\d+")
_CHOICES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}


class _Clients(NamedTuple):
    """The SDK's client, and the HTTP client that was given to it, which it leaves open."""

    sdk: Any
    http: Any


class GoogleAdapter(Adapter):
    """`google:<model>`, generateContent."""

    provider = "google"

    def _connect(self) -> _Clients:
        from google import genai  # 1 s and more; only when used
        from google.genai import types

        # httpx's before 3.0, since then httpx2's, or either where both are installed. With a client of its
        # own the SDK leaves out aiohttp, with which it sends a request twice before 2.0 and whose replies
        # have no limit.
        kind, *_ = get_args(types.HttpOptions.model_fields["httpx_async_client"].annotation)
        http = kind(follow_redirects=True)
        limit_replies(http, self.provider)
        client = genai.Client(
            api_key=self._api_key,
            # Otherwise GOOGLE_GENAI_USE_VERTEXAI of the environment decides.
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=self.base_url,
                # `*-latest` names exist on v1beta only, and the default moved to v1 in 3.x.
                api_version="v1beta",
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=http,
            ),
        )
        return _Clients(client, http)

    async def _disconnect(self, client: _Clients) -> None:
        # 1.50 has no close(); later lines have both.
        for owner, name in ((client.sdk.aio, "aclose"), (client.sdk, "close")):
            close = getattr(owner, name, None)
            done = close() if close else None
            if asyncio.iscoroutine(done):
                await done
        await client.http.aclose()

    async def _look_up(self, client: _Clients) -> Any:
        return await client.sdk.aio.models.get(model=self.model)

    async def _call(self, client: _Clients, request: ModelRequest, timeout_s: float) -> Any:
        return await client.sdk.aio.models.generate_content(
            model=self.model,
            contents=[self._content(message) for message in request.messages],
            config=_config(request, timeout_s),
        )

    def _content(self, message: Message) -> Any:
        from google.genai import types  # loaded by _connect already

        native = self._native_turn(message)
        role = "model" if message.role == "assistant" else "user"
        content = native or {"role": role, "parts": [p for m in message.parts for p in _parts(m)]}
        # By way of JSON, so that base64 text becomes bytes again.
        return types.Content.model_validate_json(json.dumps(content))

    def _parse(self, data: dict[str, Any]) -> Parsed:
        feedback = data.get("promptFeedback") or {}
        candidate = (data.get("candidates") or [{}])[0]
        if not candidate and not feedback:
            raise ValueError("the reply has neither candidates nor prompt feedback")
        content = candidate.get("content") or {}
        raw_parts = content.get("parts") or []
        parts = [_part(index, part) for index, part in enumerate(raw_parts)]
        finish = candidate.get("finishReason") or feedback.get("blockReason")
        stop = _STOPS.get(finish or "", "other")
        if feedback.get("blockReason") or finish in _REFUSALS:
            stop = "refusal"
        elif finish == "STOP" and any(isinstance(part, ToolCall) for part in parts):
            stop = "tool_use"
        return Parsed(
            parts=parts,
            native={"role": "model", "parts": raw_parts},
            stop=stop,
            stop_native=finish,
            usage=read_usage(data.get("usageMetadata")),
            model_reported=data.get("modelVersion"),
            request_id=data.get("responseId"),
            refusal=candidate.get("finishMessage") or feedback.get("blockReasonMessage"),
        )


def _config(request: ModelRequest, timeout_s: float) -> Any:
    from google.genai import types  # loaded by _connect already

    options: dict[str, Any] = {"max_output_tokens": request.max_output_tokens}
    if request.system is not None:
        options["system_instruction"] = request.system
    if request.output_schema is not None:
        options["response_mime_type"] = "application/json"
        options["response_json_schema"] = request.output_schema
    declared = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters_json_schema": tool.parameters or {"type": "object", "properties": {}},
        }
        for tool in request.tools
    ]
    own = [{"function_declarations": declared}] if declared else []
    body = dict(request.body)
    if request.native_tools:
        # past the SDK's types, which lack tools newer than themselves
        body["tools"] = [_wired(tool) for tool in (*own, *request.native_tools)]
    elif own:
        options["tools"] = own
        options["automatic_function_calling"] = {"disable": True}
    if declared:
        options["tool_config"] = {
            "function_calling_config": {"mode": _CHOICES[request.tool_choice]}
        }
    options["http_options"] = types.HttpOptions(
        timeout=max(1, round(timeout_s * 1000)),  # milliseconds
        headers=dict(request.headers) or None,
        extra_body=body or None,
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return types.GenerateContentConfig(**options)


def _wired(value: Any, *, schema: bool = False) -> Any:
    """Return a tool with names as they are on the wire; a JSON Schema has names of its own."""
    if schema or not isinstance(value, dict | list | tuple):
        return value
    if not isinstance(value, dict):
        return [_wired(each) for each in value]
    wired = {}
    for key, each in value.items():
        first, *rest = key.split("_")
        camel = first + "".join(word.capitalize() for word in rest)
        wired[camel] = _wired(each, schema=key == "parameters_json_schema")
    return wired


def _parts(part: Part) -> list[dict[str, Any]]:
    if isinstance(part, TextPart):
        return [{"text": part.text}]
    if isinstance(part, ImagePart):
        return [{"inlineData": {"mimeType": part.media_type, "data": part.data}}]
    if isinstance(part, ToolCall):
        call = {"name": part.name, "args": part.arguments or {}, **_id_of(part.id)}
        return [{"functionCall": call}]
    if isinstance(part, ToolResult):
        texts = [each.text for each in part.content if isinstance(each, TextPart)]
        images = [each for each in part.content if isinstance(each, ImagePart)]
        key = "error" if part.is_error else "output"
        message = part.extra.get("response", {key: "\n".join(texts)})
        response: dict[str, Any] = {"name": part.name, "response": message, **_id_of(part.call_id)}
        pictures = [piece for image in images for piece in _parts(image)]
        if "response" in part.extra:  # Google's own tool: its pictures are inside
            return [{"functionResponse": {**response, "parts": pictures} if pictures else response}]
        return [{"functionResponse": response}, *pictures]
    return [dict(part.data)]


def _id_of(call_id: str) -> dict[str, str]:
    """Return the id of a call; one that was made up here is not sent back."""
    return {} if _MADE_UP.fullmatch(call_id) else {"id": call_id}


def _part(index: int, part: dict[str, Any]) -> Part:
    if "functionCall" in part:
        call = part["functionCall"]
        # Gemini may leave the id out; the position names the call within its turn.
        return tool_call(call.get("id") or f"call_{index}", call["name"], call.get("args"))
    if part.get("text") is not None and not part.get("thought"):
        return TextPart(text=part["text"])
    return OpaquePart(provider="google", data=part)


def read_usage(usage: dict[str, Any] | None) -> Usage | None:
    """Return the tokens of an answer, None if it does not report them."""
    if not usage:
        return None
    thoughts = usage.get("thoughtsTokenCount") or 0
    details = usage.get("promptTokensDetails") or []
    return Usage(
        requests=1,
        input_tokens=(usage.get("promptTokenCount") or 0)
        + (usage.get("toolUsePromptTokenCount") or 0),
        cached_input_tokens=usage.get("cachedContentTokenCount") or 0,
        image_tokens=sum(d.get("tokenCount") or 0 for d in details if d.get("modality") == "IMAGE"),
        output_tokens=(usage.get("candidatesTokenCount") or 0) + thoughts,
        reasoning_tokens=thoughts,
    )
