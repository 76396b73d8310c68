"""Calls to models: Anthropic, OpenAI and compatible servers, Google; scripted or replayed.

Names load lazily; an SDK is imported when its first client is made.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.models.cache import ReplyCache
    from bench_core.models.cassettes import Cassette, CassetteMissError
    from bench_core.models.client import Model, SyncModel, Transport
    from bench_core.models.errors import MissingKeyError, ModelError
    from bench_core.models.limits import AdaptiveConcurrency, RateLimit, TokenLimit
    from bench_core.models.opening import model_of, open_model
    from bench_core.models.prices import (
        PriceList,
        PublishedPrices,
        load_prices,
        price_row,
        published_prices,
    )
    from bench_core.models.records import (
        ImagePart,
        Message,
        ModelRequest,
        OpaquePart,
        Reply,
        TextPart,
        Tool,
        ToolCall,
        ToolResult,
    )
    from bench_core.models.retrying import RetryPolicy
    from bench_core.models.schema import parse_json, portable_schema
    from bench_core.models.scripted import ScriptedAdapter, load_script

__all__ = [
    "AdaptiveConcurrency",
    "Cassette",
    "CassetteMissError",
    "ImagePart",
    "Message",
    "MissingKeyError",
    "Model",
    "ModelError",
    "ModelRequest",
    "OpaquePart",
    "PriceList",
    "PublishedPrices",
    "RateLimit",
    "Reply",
    "ReplyCache",
    "RetryPolicy",
    "ScriptedAdapter",
    "SyncModel",
    "TextPart",
    "TokenLimit",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Transport",
    "load_prices",
    "load_script",
    "model_of",
    "open_model",
    "parse_json",
    "portable_schema",
    "price_row",
    "published_prices",
]

_HOMES = {
    "cache": ("ReplyCache",),
    "cassettes": ("Cassette", "CassetteMissError"),
    "client": ("Model", "SyncModel", "Transport"),
    "errors": ("MissingKeyError", "ModelError"),
    "limits": ("AdaptiveConcurrency", "RateLimit", "TokenLimit"),
    "opening": ("model_of", "open_model"),
    "prices": ("PriceList", "PublishedPrices", "load_prices", "price_row", "published_prices"),
    "records": (
        "ImagePart", "Message", "ModelRequest", "OpaquePart", "Reply", "TextPart", "Tool",
        "ToolCall", "ToolResult",
    ),
    "retrying": ("RetryPolicy",),
    "schema": ("parse_json", "portable_schema"),
    "scripted": ("ScriptedAdapter", "load_script"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
