"""A request as the page shows it: everything that the model would be sent, pictures by name."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from bench_core.models.records import ImagePart, ToolResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.models.records import ModelRequest

__all__ = ["picture_of", "shown"]

_ELSEWHERE = frozenset({"messages", "system", "tools", "native_tools", "trial", "output_schema"})


def shown(request: ModelRequest) -> dict[str, Any]:
    """Return a request as the page's script reads it."""
    whole = request.model_dump(mode="json", exclude={"messages": {"__all__": {"native"}}})
    for message in whole["messages"]:
        message["parts"] = [_named(part) for part in message["parts"]]
    rest = {name: value for name, value in whole.items() if value and name not in _ELSEWHERE}
    return {**{name: whole[name] for name in _ELSEWHERE}, "rest": rest}


def _named(part: dict[str, Any]) -> dict[str, Any]:
    """Replace a picture's bytes by its name."""
    if part["type"] == "image":
        return {"type": "image", "picture": ImagePart.model_validate(part).sha256}
    if part["type"] == "tool_result":
        return {**part, "content": [_named(each) for each in part["content"]]}
    return part


def picture_of(request: ModelRequest, digest: str) -> tuple[bytes, str] | None:
    """Return the bytes and the type of one of a request's pictures."""
    for picture in _pictures(request):
        if picture.sha256 == digest:
            return base64.b64decode(picture.data), picture.media_type
    return None


def _pictures(request: ModelRequest) -> Iterator[ImagePart]:
    for message in request.messages:
        for part in message.parts:
            inside = part.content if isinstance(part, ToolResult) else (part,)
            yield from (each for each in inside if isinstance(each, ImagePart))
