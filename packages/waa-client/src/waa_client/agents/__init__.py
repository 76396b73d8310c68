"""Agents for a Windows desktop; `bench_core.discovery.load_agent` finds them by name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
