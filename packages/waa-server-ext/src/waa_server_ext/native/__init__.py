"""Evaluators of our own for all Windows Agent Arena tasks; they need neither a checkout nor a container."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
