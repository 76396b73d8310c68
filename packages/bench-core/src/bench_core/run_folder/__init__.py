"""Run folders: written by one process, read by any, checked, sealed and repaired."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
