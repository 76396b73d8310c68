"""Evaluators of our own for all Windows Agent Arena tasks: no checkout and no container needed."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
