"""Calls to models: Anthropic, OpenAI and compatible servers, Google; scripted or replayed.

Names load lazily; an SDK is imported when its first client is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.models.cache import ReplyCache
    from bench_core.models.cassettes import Cassette, CassetteMissError
    from bench_core.models.checking import (
        PaidCheck,
        UnusableModelError,
        check_model,
        check_model_of,
        pay_for_one_token,
    )
    from bench_core.models.client import Model, SyncModel, Transport
    from bench_core.models.errors import MissingKeyError, ModelError
    from bench_core.models.factory import PROVIDERS, ModelOptions, model_of, open_model
    from bench_core.models.limits import AdaptiveConcurrency, RateLimit, TokenLimit
    from bench_core.models.paid_check import paid_checks, price_checks
    from bench_core.models.prices import (
        PriceList,
        PriceRow,
        Prices,
        PublishedPrices,
        load_prices,
        price_row,
        published_prices,
    )
    from bench_core.models.proxy import LoopbackModelProxy, TrialProxy, open_model_proxy
    from bench_core.models.records import (
        ImagePart,
        Message,
        ModelRequest,
        OpaquePart,
        Part,
        Reply,
        TextPart,
        Tool,
        ToolCall,
        ToolResult,
    )
    from bench_core.models.retries import RetryPolicy
    from bench_core.models.schema import parse_json, portable_schema
    from bench_core.models.scripted_model import ScriptedAdapter, load_script
    from bench_core.models.wire import WireCall, is_model_call, provider_failed, read_answer
    from bench_core.models.yaml_text import parse_yaml

__all__ = [
    "PROVIDERS",
    "AdaptiveConcurrency",
    "Cassette",
    "CassetteMissError",
    "ImagePart",
    "LoopbackModelProxy",
    "Message",
    "MissingKeyError",
    "Model",
    "ModelError",
    "ModelOptions",
    "ModelRequest",
    "OpaquePart",
    "PaidCheck",
    "Part",
    "PriceList",
    "PriceRow",
    "Prices",
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
    "TrialProxy",
    "UnusableModelError",
    "WireCall",
    "check_model",
    "check_model_of",
    "is_model_call",
    "load_prices",
    "load_script",
    "model_of",
    "open_model",
    "open_model_proxy",
    "paid_checks",
    "parse_json",
    "parse_yaml",
    "pay_for_one_token",
    "portable_schema",
    "price_checks",
    "price_row",
    "provider_failed",
    "published_prices",
    "read_answer",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "cache": ("ReplyCache",),
        "cassettes": ("Cassette", "CassetteMissError"),
        "client": ("Model", "SyncModel", "Transport"),
        "errors": ("MissingKeyError", "ModelError"),
        "checking": (
            "PaidCheck",
            "UnusableModelError",
            "check_model",
            "check_model_of",
            "pay_for_one_token",
        ),
        "paid_check": ("paid_checks", "price_checks"),
        "factory": ("ModelOptions", "PROVIDERS", "model_of", "open_model"),
        "limits": ("AdaptiveConcurrency", "RateLimit", "TokenLimit"),
        "prices": (
            "PriceList",
            "PriceRow",
            "Prices",
            "PublishedPrices",
            "load_prices",
            "price_row",
            "published_prices",
        ),
        "proxy": ("LoopbackModelProxy", "TrialProxy", "open_model_proxy"),
        "records": (
            "ImagePart",
            "Message",
            "ModelRequest",
            "OpaquePart",
            "Part",
            "Reply",
            "TextPart",
            "Tool",
            "ToolCall",
            "ToolResult",
        ),
        "retries": ("RetryPolicy",),
        "schema": ("parse_json", "portable_schema"),
        "scripted_model": ("ScriptedAdapter", "load_script"),
        "wire": ("WireCall", "is_model_call", "provider_failed", "read_answer"),
        "yaml_text": ("parse_yaml",),
    },
)
