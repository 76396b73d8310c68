"""WAA's VM from outside: its HTTP API, its state as a file, and how a stand-in identifies itself."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
