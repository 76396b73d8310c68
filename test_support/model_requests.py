"""A request as a test server got it, and what a model reads in it, whatever API it came by."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ReadPart", "ReadRequest", "Seen"]


_GOOGLE_SCHEMAS = ("parametersJsonSchema", "parameters_json_schema", "parameters")


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    time: float


@dataclass(frozen=True)
class ReadPart:
    """A piece of a turn.

    Attributes:
        kind: `text`, `picture`, `call` or `result`; other blocks of a provider are `text` of their JSON.
        text: The words; of a call its arguments as JSON.
        name: Of a call, its tool.
        picture: The bytes.
        inside: Of a result, what it holds.
        error: Whether a result says that it is an error.
    """

    kind: str
    text: str = ""
    name: str = ""
    picture: bytes = b""
    inside: tuple[ReadPart, ...] = ()
    error: bool = False

    def flat(self) -> Iterator[ReadPart]:
        """Yield the part and what it holds."""
        yield self
        for each in self.inside:
            yield from each.flat()


@dataclass(frozen=True)
class ReadRequest:
    """What a model is sent.

    Attributes:
        tools: Functions by name, as `{"description": ..., "parameters": JSON Schema}`.
        native: The provider's own tools as they are declared.
        turns: Role and parts of each; `assistant` for the model's own.

    >>> body = {"model": "m", "messages": [{"role": "user", "content": "Task: Save."}]}
    >>> ReadRequest.of(Seen("/v1/chat/completions", {}, body, 0.0)).text
    'Task: Save.'
    """

    system: str = ""
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    native: tuple[dict[str, Any], ...] = ()
    turns: tuple[tuple[str, tuple[ReadPart, ...]], ...] = ()

    @classmethod
    def of(cls, seen: Seen) -> ReadRequest:
        """Read a request of any of the four APIs."""
        body = seen.body
        if "contents" in body:
            system = _words(_google(body.get("systemInstruction", {}).get("parts", ())))
            turns = [(each["role"], _google(each["parts"])) for each in body["contents"]]
        elif "input" in body:
            system = body.get("instructions") or ""
            turns = [_responses(each) for each in body["input"]]
        elif seen.path.endswith("/messages"):
            system = _words(_blocks(body.get("system") or ""))
            turns = [(each["role"], _blocks(each["content"])) for each in body["messages"]]
        else:
            listed = [_chat(each) for each in body["messages"]]
            system = "\n".join(_words(parts) for role, parts in listed if role == "system")
            turns = [each for each in listed if each[0] != "system"]
        tools: dict[str, dict[str, Any]] = {}
        native: list[dict[str, Any]] = []
        for tool in body.get("tools") or ():
            made = _tools(tool)
            tools |= made
            native += [] if made else [tool]
        named = [("assistant" if role == "model" else role, parts) for role, parts in turns]
        return cls(system, tools, tuple(native), tuple(named))

    @property
    def text(self) -> str:
        """All words of all turns, results included."""
        return "\n".join(
            each.text for each in self.parts() if each.kind in {"text", "result"} and each.text
        )

    @property
    def replies(self) -> int:
        """How often the model has answered: its turns, however many items each has."""
        roles = ["user", *(role for role, _ in self.turns)]
        return sum(a != "assistant" and b == "assistant" for a, b in pairwise(roles))

    @property
    def pictures(self) -> list[bytes]:
        """The pictures of all turns, in order."""
        return [each.picture for each in self.parts() if each.kind == "picture"]

    def parts(self) -> Iterator[ReadPart]:
        """Yield every part of every turn, those inside results after them."""
        for _, parts in self.turns:
            for part in parts:
                yield from part.flat()


def _words(parts: tuple[ReadPart, ...]) -> str:
    return "\n".join(part.text for part in parts if part.kind == "text")


def _tools(tool: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the functions that an entry of `tools` declares, none of a provider's own tool."""
    if "functionDeclarations" in tool:
        return {
            each["name"]: {
                "description": each.get("description", ""),
                "parameters": next((each[key] for key in _GOOGLE_SCHEMAS if key in each), {}),
            }
            for each in tool["functionDeclarations"]
        }
    about = tool.get("function", tool)
    parameters = about.get("parameters", about.get("input_schema"))
    if parameters is None:
        return {}
    return {about["name"]: {"description": about.get("description", ""), "parameters": parameters}}


def _blocks(content: Any) -> tuple[ReadPart, ...]:
    """Read the content of Anthropic's turns and results."""
    parts: list[ReadPart] = []
    pieces: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for each in pieces:
        if each["type"] == "text":
            parts.append(ReadPart("text", each["text"]))
        elif each["type"] == "image":
            parts.append(ReadPart("picture", picture=base64.b64decode(each["source"]["data"])))
        elif each["type"] == "tool_use":
            parts.append(ReadPart("call", json.dumps(each["input"]), each["name"]))
        elif each["type"] == "tool_result":
            inside = _blocks(each.get("content") or ())
            parts.append(ReadPart("result", inside=inside, error=bool(each.get("is_error"))))
        else:
            parts.append(ReadPart("text", json.dumps(each)))
    return tuple(parts)


def _chat(message: dict[str, Any]) -> tuple[str, tuple[ReadPart, ...]]:
    content = message.get("content") or ()
    parts: list[ReadPart] = []
    pieces: Any = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for each in pieces:
        url = (each.get("image_url") or {}).get("url")
        parts.append(_picture(url) if url else ReadPart("text", each["text"]))
    calls = [each["function"] for each in message.get("tool_calls") or ()]
    parts += [ReadPart("call", each["arguments"], each["name"]) for each in calls]
    role = {"developer": "system"}.get(message["role"], message["role"])
    if role == "tool":
        return "user", (ReadPart("result", inside=tuple(parts)),)
    return role, tuple(parts)


def _responses(item: dict[str, Any]) -> tuple[str, tuple[ReadPart, ...]]:
    if "role" in item:
        return item["role"], _inputs(item["content"])
    kind = item["type"]
    if kind == "function_call":
        return "assistant", (ReadPart("call", item["arguments"], item["name"]),)
    if kind == "computer_call":
        made = {key: item[key] for key in ("action", "actions") if key in item}
        return "assistant", (ReadPart("call", json.dumps(made), "computer"),)
    if kind == "computer_call_output":
        return "user", (ReadPart("result", inside=(_picture(item["output"]["image_url"]),)),)
    if kind == "function_call_output":
        return "user", (ReadPart("result", inside=_inputs(item["output"])),)
    return "assistant", (ReadPart("text", json.dumps(item)),)


def _inputs(content: Any) -> tuple[ReadPart, ...]:
    if isinstance(content, str):
        return (ReadPart("text", content),)
    return tuple(
        _picture(each["image_url"]) if "image_url" in each else ReadPart("text", each["text"])
        for each in content
    )


def _picture(url: str) -> ReadPart:
    return ReadPart("picture", picture=base64.b64decode(url.partition(",")[2]))


def _google(content: Any) -> tuple[ReadPart, ...]:
    parts: list[ReadPart] = []
    for each in content:
        if "text" in each:
            parts.append(ReadPart("text", each["text"]))
        elif "inlineData" in each or "inline_data" in each:
            blob = each.get("inlineData") or each["inline_data"]
            data = blob["data"].replace("-", "+").replace("_", "/")
            parts.append(ReadPart("picture", picture=base64.b64decode(data)))
        elif "functionCall" in each:
            call = each["functionCall"]
            parts.append(ReadPart("call", json.dumps(call.get("args") or {}), call["name"]))
        elif "functionResponse" in each:
            response = each["functionResponse"]
            said = (response.get("response") or {}).values()
            words = ReadPart(
                "text",
                "\n".join(each if isinstance(each, str) else json.dumps(each) for each in said),
            )
            inside = (words, *_google(response.get("parts") or ()))
            error = "error" in (response.get("response") or {})
            parts.append(ReadPart("result", inside=inside, error=error))
        else:
            parts.append(ReadPart("text", json.dumps(each)))
    return tuple(parts)
