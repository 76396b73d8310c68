"""One JSON Schema for every provider, and JSON out of a model's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bench_core.records.codec import decode_json

if TYPE_CHECKING:
    from pydantic import BaseModel

    from bench_core.models.records import ModelRequest

_DROPPED = frozenset(
    {
        "$defs", "default", "discriminator", "examples", "exclusiveMaximum", "exclusiveMinimum",
        "format", "maxItems", "maxLength", "maximum", "minItems", "minLength", "minimum",
        "multipleOf", "pattern", "title", "uniqueItems",
    }
)  # fmt: skip
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


def portable_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a pydantic model in the subset all three providers enforce.

    References are inlined, bounds and titles dropped, every object is closed and all its
    properties required. Property order is kept: put the reason before the verdict.

    Raises:
        ValueError: The model refers to itself, which the subset cannot say.

    >>> from pydantic import BaseModel
    >>> class Verdict(BaseModel):
    ...     reason: str
    ...     passed: bool
    >>> portable_schema(Verdict)["required"]
    ['reason', 'passed']
    """
    schema = model.model_json_schema()
    result: dict[str, Any] = _portable(schema, schema.get("$defs", {}), ())
    return result


def _portable(node: Any, defs: dict[str, Any], trail: tuple[str, ...]) -> Any:
    if isinstance(node, list):
        return [_portable(each, defs, trail) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        if name in trail:
            raise ValueError(f"{name} refers to itself: no provider takes recursive schemas")
        return _portable(defs[name], defs, (*trail, name))
    kept = {key: value for key, value in node.items() if key not in _DROPPED}
    # `const` and `oneOf` are not in every provider's subset.
    if "const" in kept:
        kept["enum"] = [kept.pop("const")]
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")
    properties = kept.pop("properties", None)
    portable = {key: _portable(value, defs, trail) for key, value in kept.items()}
    if properties is not None:
        portable["properties"] = {k: _portable(v, defs, trail) for k, v in properties.items()}
        portable["required"] = list(properties)
        portable["additionalProperties"] = False
    return portable


def parse_json(text: str) -> Any:
    """Parse the JSON a model wrote, with or without a fence of backticks around it.

    Raises:
        ValueError: It is not JSON.

    >>> parse_json('{"passed": true}')
    {'passed': True}
    """
    fenced = _FENCE.match(text)
    return decode_json(fenced.group(1) if fenced else text)


def structured(request: ModelRequest, stop: str, text: str) -> tuple[Any, str | None]:
    """Return the JSON of a reply if a schema was asked for, and the error if it is not JSON."""
    if request.output_schema is None or stop == "tool_use":
        return None, None
    try:
        return parse_json(text), None
    except ValueError as error:
        return None, f"{stop}: {error}"
