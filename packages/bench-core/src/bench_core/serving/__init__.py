"""What every server of Proctor has in common: limits, deadlines, and who may ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.serving.hosts import check_token, foreign_origin, host_name, is_loopback
    from bench_core.serving.requests import MOST_HEAD, RefusedRequestError
    from bench_core.serving.streams import Head, read_head, refusal
    from bench_core.serving.threads import BoundedHandler, BoundedServer

__all__ = [
    "MOST_HEAD",
    "BoundedHandler",
    "BoundedServer",
    "Head",
    "RefusedRequestError",
    "check_token",
    "foreign_origin",
    "host_name",
    "is_loopback",
    "read_head",
    "refusal",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "hosts": ("check_token", "foreign_origin", "host_name", "is_loopback"),
        "requests": ("MOST_HEAD", "RefusedRequestError"),
        "streams": ("Head", "read_head", "refusal"),
        "threads": ("BoundedHandler", "BoundedServer"),
    },
)
