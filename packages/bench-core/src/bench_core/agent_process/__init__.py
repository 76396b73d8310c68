"""Isolation of agents: each in a process of its own, so that none can stop a run or another trial."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
