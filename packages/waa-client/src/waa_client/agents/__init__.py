"""Agents for a Windows desktop; `bench_core.discovery.load_agent` finds them by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_client.agents.checkout import CheckoutAgent
    from waa_client.agents.simple import HttpAgent, ReplayAgent
    from waa_client.agents.vision import VisionAgent

__all__ = ["CheckoutAgent", "HttpAgent", "ReplayAgent", "VisionAgent"]

__getattr__ = lazy_exports(
    __name__,
    {
        "checkout": ("CheckoutAgent",),
        "simple": ("HttpAgent", "ReplayAgent"),
        "vision": ("VisionAgent",),
    },
)
