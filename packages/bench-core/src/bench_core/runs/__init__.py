"""Whole runs: from typed options to a run folder, scored again, or shown beforehand."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
